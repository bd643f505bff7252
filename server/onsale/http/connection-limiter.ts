/** Limits the requests in flight. Further requests wait in a queue: first in, first out. */

/** Started entries are removed from the queue in batches of this size. */
const STARTED_MAX = 1_024;

export class ConnectionLimiter {
  #freeCount: number;
  #queue: (() => void)[] = [];
  /** The number of entries at the head of the queue that have been started. */
  #startedCount = 0;
  #isStarting = false;

  constructor(connectionCount: number) {
    this.#freeCount = connectionCount;
  }

  /** Calls `start` when a connection is free, possibly at once. Each start needs one `release`. */
  acquire(start: () => void): void {
    this.#queue.push(start);
    this.#startNext();
  }

  /** Gives the connection to the next request. Cost: constant on average for any queue length. */
  release(): void {
    this.#freeCount += 1;
    this.#startNext();
  }

  /**
   * A request on a lost connection is released before its start returns. The loop that started it
   * then continues, because nested calls for thousands of buyers would overflow the stack.
   */
  #startNext(): void {
    if (this.#isStarting) return;
    this.#isStarting = true;
    while (this.#freeCount > 0 && this.#startedCount < this.#queue.length) {
      const start = this.#queue[this.#startedCount]!;
      this.#freeCount -= 1;
      this.#startedCount += 1;
      if (this.#startedCount === STARTED_MAX || this.#startedCount === this.#queue.length) {
        this.#queue = this.#queue.slice(this.#startedCount);
        this.#startedCount = 0;
      }
      start();
    }
    this.#isStarting = false;
  }
}
