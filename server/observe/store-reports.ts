/** What the store says of itself while it serves: to the log, and counted for the metrics. */
import type { Logger } from "pino";

/** How a snapshot went, as persistence says it. */
export type SnapshotReport =
  | {
      readonly failure: null;
      readonly name: string;
      readonly partitions: number;
      readonly copied: number;
      readonly bytes: number;
      readonly seconds: number;
      readonly pauseMsMax: number;
      readonly removedSegments: number;
      readonly removedSnapshots: number;
    }
  | { readonly failure: Error };

/** What recovery found, as far as it is told here. */
export interface RecoveryReport {
  readonly records: number;
  readonly seconds: number;
  readonly passedOver: readonly string[];
}

/** What is to be known of the audit trail, as persistence says it. */
export type AuditReport =
  | { readonly kind: "anew"; readonly reason: string }
  | { readonly kind: "late" | "forgot"; readonly firstSequence: number }
  | { readonly kind: "failed"; readonly failure: string };

const MS_PER_SECOND = 1_000;

export class StoreReports {
  snapshotsMade = 0;
  snapshotsFailed = 0;
  /** The longest that the engine stood still for a snapshot, since the start. */
  snapshotPauseSecondsMax = 0;
  /** How long the last snapshot took; 0 before the first. */
  snapshotSeconds = 0;
  /** Seconds since 1970 when the last snapshot was made; 0 before the first. */
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
      this.#log.warn({ reason }, "a snapshot is damaged and was passed over; nothing is lost");
    }
  }

  snapshot(report: SnapshotReport): void {
    if (report.failure !== null) {
      this.snapshotsFailed += 1;
      const reason = report.failure.message;
      this.#log.error({ reason }, "no snapshot could be made; the log keeps everything");
      return;
    }
    this.snapshotsMade += 1;
    this.snapshotSeconds = report.seconds;
    this.snapshotAtSeconds = Date.now() / MS_PER_SECOND;
    const pauseSeconds = report.pauseMsMax / MS_PER_SECOND;
    this.snapshotPauseSecondsMax = Math.max(this.snapshotPauseSecondsMax, pauseSeconds);
    const { failure: _, ...facts } = report;
    this.#log.info(facts, "snapshot made");
  }

  /** What of the trail is not as it was is not to be overlooked. */
  audit(report: AuditReport): void {
    if (report.kind === "forgot") this.#log.info(report, "audit trail: what is too old has gone");
    else if (report.kind === "failed") this.#log.error(report, "audit trail: behind, tried again");
    else this.#log.warn(report, "audit trail: it does not go on where it was");
  }
}
