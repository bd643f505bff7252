/**
 * How far long work is, on standard error: a bar on a terminal, else plain lines. Nothing for work
 * that is done within a second. No colours.
 */
import { SingleBar } from "cli-progress";

/** Work that takes less is not shown. */
const PATIENCE_MS = 1_000;
/** Lines come at most so often. */
const LINE_INTERVAL_MS = 1_000;

/** Where it is shown. */
export interface ProgressStream extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
}

/** Works within one long turn of the event loop too: no timer takes part. */
export class Progress {
  readonly #stream: ProgressStream;
  readonly #nowMs: () => number;
  readonly #isTerminal: boolean;
  readonly #startMs: number;
  #bar: SingleBar | null = null;
  #what = "";
  #lineMs = -Infinity;

  /** @param nowMs - A clock that only runs forward. */
  constructor(stream: ProgressStream, nowMs: () => number = () => performance.now()) {
    this.#stream = stream;
    this.#nowMs = nowMs;
    this.#isTerminal = stream.isTTY === true && process.env["TERM"] !== "dumb";
    this.#startMs = nowMs();
  }

  /** @param what - The work, and what is counted: "reading segments of the log". */
  tell(what: string, done: number, total: number): void {
    const nowMs = this.#nowMs();
    if (nowMs - this.#startMs < PATIENCE_MS) return;
    if (this.#isTerminal) this.#draw(what, done, total);
    else if (nowMs - this.#lineMs >= LINE_INTERVAL_MS) {
      this.#lineMs = nowMs;
      this.#stream.write(`${what}: ${done} of ${total}\n`);
    }
  }

  /** Leaves the bar as it is; what is written next begins a line of its own. */
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
