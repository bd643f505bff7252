/** Slows down guessing: after so many failures within a minute, a minute of refusals. */

const WINDOW_MS = 60_000;
/** Names that are remembered; the one that failed longest ago goes first. */
const NAMES_MAX = 100_000;

interface Failures {
  /** When the minute of the first of them began. */
  readonly sinceMs: number;
  readonly lastMs: number;
  readonly count: number;
}

export class Throttle {
  readonly #failuresMax: number;
  /** By name, the one that failed longest ago first. */
  readonly #failures = new Map<string, Failures>();

  /** @param failuresMax - Failures of one name within a minute that are let through. */
  constructor(failuresMax: number) {
    this.#failuresMax = failuresMax;
  }

  admits(name: string, nowMs: number): boolean {
    const failures = this.#failures.get(name);
    if (failures === undefined || failures.count < this.#failuresMax) return true;
    return failures.lastMs + WINDOW_MS <= nowMs;
  }

  failed(name: string, nowMs: number): void {
    const known = this.#failures.get(name);
    const isOver = known === undefined || known.sinceMs + WINDOW_MS <= nowMs;
    const { sinceMs, count } = isOver ? { sinceMs: nowMs, count: 0 } : known;
    this.#failures.delete(name);
    this.#failures.set(name, { sinceMs, lastMs: nowMs, count: count + 1 });
    if (this.#failures.size <= NAMES_MAX) return;
    const oldest = this.#failures.keys().next().value;
    if (oldest !== undefined) this.#failures.delete(oldest);
  }

  /** The name has shown who it is: its failures are forgotten. */
  forgive(name: string): void {
    this.#failures.delete(name);
  }
}
