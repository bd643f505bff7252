/** Slows down guessing: after so many failures within a minute, a minute of refusals. */

const WINDOW_MS = 60_000;
/** Names that are remembered; the one that failed longest ago goes first. */
const NAMES_MAX = 100_000;

export class Throttle {
  readonly #failuresMax: number;
  /** Times of the latest failures by name; the name that failed longest ago comes first. */
  readonly #failures = new Map<string, number[]>();

  /** @param failuresMax - Failures of one name within a minute that are let through. */
  constructor(failuresMax: number) {
    this.#failuresMax = failuresMax;
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

  /** The name has shown who it is: its failures are forgotten. */
  forgive(name: string): void {
    this.#failures.delete(name);
  }
}
