/** Slows down guessing: after five wrong passwords within a minute, a minute of refusals. */

const FAILURES_MAX = 5;
const WINDOW_MS = 60_000;
/** Names that are remembered; the one that failed longest ago goes first. */
const NAMES_MAX = 100_000;

export class Throttle {
  /** Times of the latest failures by name, the oldest first. */
  readonly #failures = new Map<string, number[]>();

  admits(name: string, nowMs: number): boolean {
    const failures = this.#failures.get(name);
    if (failures === undefined || failures.length < FAILURES_MAX) return true;
    return failures.at(-1)! + WINDOW_MS <= nowMs;
  }

  failed(name: string, nowMs: number): void {
    const recent = (this.#failures.get(name) ?? []).filter((timeMs) => timeMs > nowMs - WINDOW_MS);
    this.#failures.delete(name);
    this.#failures.set(name, [...recent, nowMs].slice(-FAILURES_MAX));
    if (this.#failures.size <= NAMES_MAX) return;
    const oldest = this.#failures.keys().next().value;
    if (oldest !== undefined) this.#failures.delete(oldest);
  }

  /** The name has shown who it is: its failures are forgotten. */
  forgive(name: string): void {
    this.#failures.delete(name);
  }
}
