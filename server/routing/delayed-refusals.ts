/**
 * Refusals that a busy server sends after a delay. A client that tries again as soon as it is
 * refused would otherwise take the time that the accepted requests need: receiving a request and
 * refusing it takes about half as long as a lock.
 */

/** Each connection then has at most four refusals per second. */
const DELAY_MS = 250;
/** Refusals leave a few at a time, so that they do not delay other answers. */
const STEP_MS = 5;

interface Delayed {
  readonly dueMs: number;
  readonly send: () => void;
}

export class DelayedRefusals {
  readonly #nowMs: () => number;
  /** The oldest comes first. Each connection has one at most. */
  #queue: Delayed[] = [];
  #timer: NodeJS.Timeout | null = null;

  /** @param nowMs - A monotonic clock. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  get count(): number {
    return this.#queue.length;
  }

  add(send: () => void): void {
    this.#queue.push({ dueMs: this.#nowMs() + DELAY_MS, send });
    this.#timer ??= setInterval(() => this.sendDue(), STEP_MS);
  }

  /** Sends the refusals whose delay is over. */
  sendDue(): void {
    const nowMs = this.#nowMs();
    const firstLater = this.#queue.findIndex(({ dueMs }) => dueMs > nowMs);
    const dueCount = firstLater === -1 ? this.#queue.length : firstLater;
    for (const { send } of this.#queue.splice(0, dueCount)) send();
    if (this.#queue.length > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}
