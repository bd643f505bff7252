/**
 * When a batch is written on the engine's own thread. Where the disk is fast, handing a batch to
 * another thread and back takes longer than the write. But the engine does nothing else meanwhile,
 * so it is for small batches on a fast disk only.
 */

/** Above that, handing a batch over is a small part of the time. */
export const FAST_MS = 0.5;
/** More records in one turn come from many clients, whose next requests need the engine. */
export const RECORDS_MAX = 8;
/** A write that held the engine so long was a stall of the disk. */
export const STALL_MS = 5;
/** For so many times a stall the engine is not held again: stalls take a twentieth of its time at most. */
export const REST_FACTOR = 20;
/** The weight of the last write in the usual time. */
const WEIGHT = 1 / 4;
/** A longer write counts as one of this length: a single stall does not say what is usual. */
const COUNTED_MS_MAX = 2 * FAST_MS;

export class DirectWrites {
  /** The time that a write takes usually, on any thread; before the first it may be anything. */
  #usualMs = COUNTED_MS_MAX;
  #restUntilMs = 0;

  /** @param nowMs - As all times here, on a monotonic clock. */
  allows(recordCount: number, nowMs: number): boolean {
    return recordCount <= RECORDS_MAX && this.#usualMs <= FAST_MS && nowMs >= this.#restUntilMs;
  }

  /** A write has ended. @param isDirect - Whether the engine waited for it. */
  note(tookMs: number, nowMs: number, isDirect: boolean): void {
    this.#usualMs += (Math.min(tookMs, COUNTED_MS_MAX) - this.#usualMs) * WEIGHT;
    if (isDirect && tookMs > STALL_MS) this.#restUntilMs = nowMs + REST_FACTOR * tookMs;
  }
}
