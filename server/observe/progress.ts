/**
 * Progress of long work on standard error: a bar on a terminal, plain lines elsewhere. Work of
 * less than a second shows nothing. No colours.
 */
import type { Logger } from "pino";

/** Shorter work shows no progress. */
const PATIENCE_MS = 1_000;
/** Minimum time between two lines, and between two drawings of a bar. */
const LINE_INTERVAL_MS = 1_000;
const DRAW_INTERVAL_MS = 100;
const BAR_COLUMNS = 40;
const ERASE_TO_END_OF_LINE = "\u001B[K";

export interface ProgressStream extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
}

/** Uses no timer, so it also works within one long turn of the event loop. */
export class Progress {
  readonly #stream: ProgressStream;
  readonly #nowMs: () => number;
  readonly #isTerminal: boolean;
  readonly #startMs: number;
  /** The work on the bar; null without a bar. */
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

  /** Ends the bar with a new line. */
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

// Reports of the store: written to the log, and counted for the metrics.

/** Result of a snapshot. The log has the other members as well. */
export type SnapshotReport =
  | {
      readonly failure: null;
      readonly seconds: number;
      readonly bytes: number;
      readonly pauseMsMax: number;
    }
  | { readonly failure: Error };

/** Result of a recovery. The log has the other members as well. */
export interface RecoveryReport {
  readonly records: number;
  readonly seconds: number;
  readonly passedOver: readonly string[];
}

/** Rights of other users to the data folder, as persistence reports them: paths. */
interface FolderRights {
  readonly madePrivate: readonly string[];
  readonly shared: readonly string[];
}

/** Event of the audit trail, as persistence reports it. */
export type AuditReport =
  | { readonly kind: "rebuilt"; readonly reason: string }
  | { readonly kind: "incomplete" | "expired"; readonly firstSequence: number }
  | { readonly kind: "damaged"; readonly part: string }
  | { readonly kind: "failed"; readonly failure: string };

const MS_PER_SECOND = 1_000;

export class StoreReports {
  snapshotsMade = 0;
  snapshotsFailed = 0;
  /** Longest pause of the engine for a snapshot since the start. */
  snapshotPauseSecondsMax = 0;
  /** Duration of the last snapshot; 0 before the first. */
  snapshotSeconds = 0;
  /** Size of the last snapshot; 0 before the first. */
  snapshotBytes = 0;
  /** Time of the last snapshot, in seconds since 1970; 0 before the first. */
  snapshotAtSeconds = 0;
  recoverySeconds = 0;
  recoveryRecords = 0;
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  recovered(report: RecoveryReport): void {
    this.recoverySeconds = report.seconds;
    this.recoveryRecords = report.records;
    this.#log.info(report, "recovered");
    for (const reason of report.passedOver) {
      this.#log.warn({ reason }, "skipped a damaged snapshot; nothing is lost");
    }
  }

  rights({ madePrivate, shared }: FolderRights): void {
    if (madePrivate.length > 0) {
      const message = "other users could read the data folder; it is private now";
      this.#log.warn({ paths: madePrivate }, `${message}: rotate the keys if one of them may have`);
    }
    if (shared.length > 0) {
      const message =
        "other users have rights to the data folder, which this user cannot take away";
      this.#log.warn({ paths: shared }, `${message}: new files are private; see /docs/kubernetes`);
    }
  }

  snapshot(report: SnapshotReport): void {
    if (report.failure !== null) {
      this.snapshotsFailed += 1;
      const reason = report.failure.message;
      this.#log.error({ reason }, "snapshot failed; the log keeps everything");
      return;
    }
    this.snapshotsMade += 1;
    this.snapshotSeconds = report.seconds;
    this.snapshotBytes = report.bytes;
    this.snapshotAtSeconds = Date.now() / MS_PER_SECOND;
    const pauseSeconds = report.pauseMsMax / MS_PER_SECOND;
    this.snapshotPauseSecondsMax = Math.max(this.snapshotPauseSecondsMax, pauseSeconds);
    const { failure: _, ...facts } = report;
    this.#log.info(facts, "snapshot made");
  }

  webhooks(message: string): void {
    this.#log.error({ reason: message }, "webhooks: something went wrong; what waits is kept");
  }

  audit(report: AuditReport): void {
    if (report.kind === "expired")
      this.#log.info(report, "audit trail: removed transitions past their retention");
    else if (report.kind === "failed")
      this.#log.error(report, "audit trail: cannot be updated; trying again");
    else if (report.kind === "damaged")
      this.#log.error(report, "audit trail: a part is damaged and gone; the rest is kept");
    else this.#log.warn(report, "audit trail: rebuilt or incomplete");
  }
}
