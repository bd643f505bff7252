/** Limits the requests in flight. Further requests wait in a queue: first in, first out. */
export class ConnectionLimiter {
  #freeCount: number;
  /** The queue in two parts, so that neither end moves the others: the first to start is last. */
  #next: (() => void)[] = [];
  #arrived: (() => void)[] = [];

  constructor(connectionCount: number) {
    this.#freeCount = connectionCount;
  }

  /** Resolves when a connection is free. Each call needs one `release`. */
  acquire(): Promise<void> {
    if (this.#freeCount === 0) return new Promise((resolve) => this.#arrived.push(resolve));
    this.#freeCount -= 1;
    return Promise.resolve();
  }

  /** Gives the connection to the next request. Cost: constant on average for any queue length. */
  release(): void {
    if (this.#next.length === 0) {
      this.#next = this.#arrived.toReversed();
      this.#arrived = [];
    }
    const start = this.#next.pop();
    if (start === undefined) this.#freeCount += 1;
    else start();
  }
}
