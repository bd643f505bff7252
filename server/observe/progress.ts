/**
 * Progress of long work on standard error: a bar on a terminal, plain lines elsewhere. Work that
 * takes less than a second shows nothing. No colours.
 */
/** Shorter work shows no progress. */
const PATIENCE_MS = 1_000;
/** Minimum time between two lines, and between two drawings of a bar. */
const LINE_INTERVAL_MS = 1_000;
const DRAW_INTERVAL_MS = 100;
const BAR_COLUMNS = 40;
const ERASE_TO_END_OF_LINE = "\u001B[K";

/** The stream that shows the progress. */
export interface ProgressStream extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
}

/** Uses no timer, so it also works within one long turn of the event loop. */
export class Progress {
  readonly #stream: ProgressStream;
  readonly #nowMs: () => number;
  readonly #isTerminal: boolean;
  readonly #startMs: number;
  /** The work that the bar shows; null without a bar. */
  #what: string | null = null;
  /** When the last line or bar was written. */
  #shownMs = -Infinity;

  /** @param nowMs - A monotonic clock. */
  constructor(stream: ProgressStream, nowMs: () => number = () => performance.now()) {
    this.#stream = stream;
    this.#nowMs = nowMs;
    this.#isTerminal = stream.isTTY === true && process.env["TERM"] !== "dumb";
    this.#startMs = nowMs();
  }

  /** @param what - The work and the unit: "reading segments of the log". */
  tell(what: string, done: number, total: number): void {
    const nowMs = this.#nowMs();
    if (nowMs - this.#startMs < PATIENCE_MS) return;
    const elapsedMs = nowMs - this.#shownMs;
    if (this.#isTerminal) {
      if (what === this.#what && elapsedMs < DRAW_INTERVAL_MS) return;
      this.#draw(what, done, total);
    } else {
      if (elapsedMs < LINE_INTERVAL_MS) return;
      this.#stream.write(`${what}: ${done} of ${total}\n`);
    }
    this.#shownMs = nowMs;
  }

  /** Ends the bar, so that the next output starts on a new line. */
  stop(): void {
    if (this.#what !== null) this.#stream.write("\n");
    this.#what = null;
  }

  #draw(what: string, done: number, total: number): void {
    if (what !== this.#what) this.stop();
    this.#what = what;
    const filled = Math.round(Math.min(1, done / (total || 1)) * BAR_COLUMNS);
    const bar = "=".repeat(filled) + "-".repeat(BAR_COLUMNS - filled);
    this.#stream.write(`\r${what} ${bar} ${done}/${total}${ERASE_TO_END_OF_LINE}`);
  }
}
