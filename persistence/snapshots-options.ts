/** What `Snapshots` is given: its log, its ports, and where recovery ended. */
import type { Clock, Journal } from "../engine/ports.ts";
import type { State } from "../engine/state.ts";
import type { LogStats } from "./log-writer.ts";
import type { ChainMark } from "./scan.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SnapshotReport, SnapshotWriter } from "./snapshots.ts";

/** The log as snapshots see it. */
export interface SnapshotLog extends Journal {
  readonly mark: ChainMark | null;
  readonly stats: LogStats;
  /** Whether a write failed: nothing becomes durable any more. */
  readonly hasFailed: boolean;
}

export interface SnapshotsOptions {
  readonly state: State;
  readonly log: SnapshotLog;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** Whether memory is what the log says; a state of which that is not known is not copied. */
  readonly isSound: () => boolean;
  /**
   * Begins one; `base` as in `BuildOptions`. May throw when no thread can be had.
   * @param onWritten - Called in some later turn whenever there is one image less in the queue.
   */
  readonly open: (base: string | null, onWritten: () => void) => SnapshotWriter;
  /** A snapshot is made each time the log has grown by so much. */
  readonly everyBytes: number;
  /** How long a turn of copying may be before it takes its last step: `TURN_MS`. */
  readonly turnMs: number;
  readonly start: SnapshotsStart;
  readonly onReport: (report: SnapshotReport) => void;
}

/** What recovery began with. */
export interface SnapshotsStart {
  /** The last record. */
  readonly sequence: number;
  /** Name of the snapshot that was used; null for none, and then all partitions are copied. */
  readonly base: string | null;
  /** The last record of the catalog of the base; 0 without one. */
  readonly baseSequence: number;
  /** Partitions that changed behind the base. */
  readonly changed: Iterable<number>;
  /** Bytes of the log behind the base, about. */
  readonly bytes: number;
}
