/**
 * Decides for a write on the engine's own thread. On a fast disk, handing a batch to another thread
 * and back takes longer than the write. But the engine does nothing else meanwhile, so it is for
 * small batches on a fast disk only.
 */

/** Above it, handing a batch over is a small part of the time. */
export const FAST_MS = 0.5;
/** More records in one turn come from many clients, whose next requests need the engine. */
export const RECORDS_MAX = 8;
/** A write of this length was a stall of the disk. */
export const STALL_MS = 5;
/** For so many times a stall the engine is not held again: stalls take a twentieth of its time. */
export const REST_FACTOR = 20;
/** A batch waits for others at most for this share of the usual time of a write. */
const WAIT_SHARE = 1 / 2;
/** And for fewer turns, on a stopped clock. */
const TURNS_MAX = 32;
/** The weight of the last write in the usual time. */
const WEIGHT = 1 / 4;
/** A longer write counts as one of this length: a single stall is not usual. */
const COUNTED_MS_MAX = 2 * FAST_MS;

export class DirectWrites {
  /** Usual time of a write, on any thread; unknown before the first. */
  #usualMs = COUNTED_MS_MAX;
  #restUntilMs = 0;
  /** Records of the last two batches. */
  #last = 0;
  #lastButOne = 0;
  /** Turns waited by the open batch. */
  #turns = 0;

  /** @param nowMs - As all times here, on a monotonic clock. */
  allows(recordCount: number, nowMs: number): boolean {
    if (Math.max(recordCount, this.#recent) > RECORDS_MAX) return false;
    return this.#usualMs <= FAST_MS && nowMs >= this.#restUntilMs;
  }

  /** The larger one of the last two batches. */
  get #recent(): number {
    return Math.max(this.#last, this.#lastButOne);
  }

  /**
   * A batch waits for another turn: for the next requests of clients answered a
   * moment ago. They share a write then, and save most of the time of another.
   */
  expectsMore(recordCount: number, waitedMs: number): boolean {
    const isWorthIt = recordCount < this.#recent && waitedMs < this.#usualMs * WAIT_SHARE;
    this.#turns = isWorthIt ? this.#turns + 1 : 0;
    if (this.#turns < TURNS_MAX) return isWorthIt;
    this.#turns = 0;
    return false;
  }

  /** A batch is durable, and those who waited for it are answered. */
  answered(recordCount: number): void {
    this.#lastButOne = this.#last;
    this.#last = recordCount;
  }

  /** A write has ended. @param isDirect - True when the engine waited for it. */
  note(tookMs: number, nowMs: number, isDirect: boolean): void {
    this.#usualMs += (Math.min(tookMs, COUNTED_MS_MAX) - this.#usualMs) * WEIGHT;
    if (isDirect && tookMs > STALL_MS) this.#restUntilMs = nowMs + REST_FACTOR * tookMs;
  }
}
