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

/** Those of an organization who have their turn now, and those who wait for one. */
interface Line {
  running: number;
  readonly waiting: (() => void)[];
}

/**
 * Work that takes memory: each organization has so much of it under way at a time. Somebody who
 * takes long loses the turn, though not the work.
 */
export class Turns {
  readonly #max: number;
  readonly #turnMs: number;
  /** By organization. */
  readonly #lines = new Map<number, Line>();

  constructor(max: number, turnMs: number) {
    this.#max = max;
    this.#turnMs = turnMs;
  }

  async run<Value>(organizationId: number, work: () => Promise<Value>): Promise<Value> {
    const line = this.#lineOf(organizationId);
    if (line.running < this.#max) line.running += 1;
    else {
      await new Promise<void>((resolve) => {
        line.waiting.push(resolve);
      });
    }
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      this.#next(organizationId, line);
    };
    const timer = setTimeout(end, this.#turnMs).unref();
    try {
      return await work();
    } finally {
      end();
    }
  }

  #lineOf(organizationId: number): Line {
    let line = this.#lines.get(organizationId);
    if (line === undefined) this.#lines.set(organizationId, (line = { running: 0, waiting: [] }));
    return line;
  }

  #next(organizationId: number, line: Line): void {
    const next = line.waiting.shift();
    if (next !== undefined) {
      next();
      return;
    }
    line.running -= 1;
    if (line.running === 0) this.#lines.delete(organizationId);
  }
}
