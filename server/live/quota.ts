/** How many of something each organization may have at a time. */
export class Quota {
  readonly #max: number;
  readonly #taken = new Map<number, number>();
  /** Of all organizations. */
  count = 0;
  /** How often there were too many. */
  refused = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** @returns Whether there was room for one more. */
  take(organizationId: number): boolean {
    const taken = this.#taken.get(organizationId) ?? 0;
    if (taken >= this.#max) {
      this.refused += 1;
      return false;
    }
    this.#taken.set(organizationId, taken + 1);
    this.count += 1;
    return true;
  }

  giveBack(organizationId: number): void {
    const left = this.#taken.get(organizationId)! - 1;
    if (left === 0) this.#taken.delete(organizationId);
    else this.#taken.set(organizationId, left);
    this.count -= 1;
  }
}

/** Work that takes memory: so much of it at a time, in turn. */
export class Turns {
  readonly #max: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  async run<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#running < this.#max) this.#running += 1;
    else {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
