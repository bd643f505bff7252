/** What clients may take at a time: so much of something, or turns. */
import type { WaitingClient } from "../../engine/queries/audit-trail.ts";

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

/** Those who have their turn now, and those who wait for one. */
interface Line {
  running: number;
  /** In their order. */
  readonly waiting: Set<() => void>;
}

/**
 * Work that takes memory or time: each organization has so much of it under way at a time, and the
 * rest waits. Work that takes long loses its turn, but goes on.
 */
export class Turns {
  readonly #max: number;
  readonly #turnMs: number | null;
  /** By organization, or by another name of those who share the turns. */
  readonly #lines = new Map<number | string, Line>();

  /** @param turnMs - Null when the work always ends by itself. */
  constructor(max: number, turnMs: number | null) {
    this.#max = max;
    this.#turnMs = turnMs;
  }

  /**
   * @param client - Loses its place in the line when it has gone.
   * @returns What `work` returns; null when the client has gone before its turn.
   */
  async run<Value>(
    name: number | string,
    work: () => Promise<Value>,
    client: WaitingClient = { onGone: null },
  ): Promise<Value | null> {
    const line = this.#lineOf(name);
    if (line.running < this.#max) line.running += 1;
    else if (!(await waitIn(line, client))) return null;
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      this.#next(name, line);
    };
    const timer = this.#turnMs === null ? undefined : setTimeout(end, this.#turnMs).unref();
    try {
      return await work();
    } finally {
      end();
    }
  }

  #lineOf(name: number | string): Line {
    let line = this.#lines.get(name);
    if (line === undefined) this.#lines.set(name, (line = { running: 0, waiting: new Set() }));
    return line;
  }

  #next(name: number | string, line: Line): void {
    const [next] = line.waiting;
    if (next !== undefined) {
      line.waiting.delete(next);
      next();
      return;
    }
    line.running -= 1;
    if (line.running === 0) this.#lines.delete(name);
  }
}

/** @returns Whether it is the client's turn; otherwise it has gone. */
function waitIn({ waiting }: Line, client: WaitingClient): Promise<boolean> {
  return new Promise((resolve) => {
    const begin = () => {
      client.onGone = null;
      resolve(true);
    };
    waiting.add(begin);
    client.onGone = () => {
      client.onGone = null;
      waiting.delete(begin);
      resolve(false);
    };
  });
}
