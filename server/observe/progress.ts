/**
 * Progress of long work on standard error: a bar on a terminal, plain lines elsewhere. Work that
 * takes less than a second shows nothing. No colours.
 */
import { SingleBar } from "cli-progress";

/** Shorter work shows no progress. */
const PATIENCE_MS = 1_000;
/** Minimum time between two lines. */
const LINE_INTERVAL_MS = 1_000;

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
  #bar: SingleBar | null = null;
  #what = "";
  #lineMs = -Infinity;

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
    if (this.#isTerminal) this.#draw(what, done, total);
    else if (nowMs - this.#lineMs >= LINE_INTERVAL_MS) {
      this.#lineMs = nowMs;
      this.#stream.write(`${what}: ${done} of ${total}\n`);
    }
  }

  /** Ends the bar, so that the next output starts on a new line. */
  stop(): void {
    this.#bar?.stop();
    this.#bar = null;
  }

  #draw(what: string, done: number, total: number): void {
    if (what !== this.#what) this.stop();
    this.#what = what;
    if (this.#bar === null) {
      const stream = this.#stream;
      this.#bar = new SingleBar({ format: "{what} {bar} {value}/{total}", stream });
      this.#bar.start(total, done, { what });
    } else {
      this.#bar.setTotal(total);
      this.#bar.update(done);
    }
  }
}
