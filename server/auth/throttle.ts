/** Slows down guessing: too many failures within a minute lead to a minute of refusals. */

const WINDOW_MS = 60_000;
/** Names that are remembered. The name whose last failure is oldest is dropped first. */
export const NAMES_MAX = 100_000;

export class Throttle {
  readonly #failuresMax: number;
  /** Times of the latest failures by name; the name whose last failure is oldest comes first. */
  readonly #failures = new Map<string, number[]>();

  /** @param failuresMax - How many failures of one name within a minute are allowed. */
  constructor(failuresMax: number) {
    this.#failuresMax = failuresMax;
  }

  /** Names with failures that are remembered. */
  get count(): number {
    return this.#failures.size;
  }

  admits(name: string, nowMs: number): boolean {
    const times = this.#failures.get(name);
    if (times === undefined || times.length < this.#failuresMax) return true;
    return times.at(-1)! + WINDOW_MS <= nowMs;
  }

  failed(name: string, nowMs: number): void {
    const times = this.#failures.get(name) ?? [];
    times.push(nowMs);
    while (times.length > this.#failuresMax || times[0]! <= nowMs - WINDOW_MS) times.shift();
    this.#failures.delete(name);
    this.#failures.set(name, times);
    if (this.#failures.size <= NAMES_MAX) return;
    const oldest = this.#failures.keys().next().value;
    if (oldest !== undefined) this.#failures.delete(oldest);
  }

  /** Takes back the latest failure, which turned out to be none. */
  withdraw(name: string): void {
    const times = this.#failures.get(name);
    times?.pop();
    if (times?.length === 0) this.#failures.delete(name);
  }

  /** Forgets the failures of a name that has identified itself. */
  forgive(name: string): void {
    this.#failures.delete(name);
  }
}
