/** What `Snapshots` is given: its log, its ports, and where recovery ended. */
import type { CatalogPut } from "../../engine/catalog.ts";
import type { Clock, Journal } from "../../engine/ports.ts";
import type { State } from "../../engine/state.ts";
import type { Scheduler } from "../disk/scheduler.ts";
import type { LogStats } from "../log/log-writer.ts";
import type { ChainMark } from "../log/scan.ts";
import type { Built, BuildEnd, ImageAt } from "./build.ts";

/** The log as snapshots see it. */
export interface SnapshotLog extends Journal {
  readonly mark: ChainMark | null;
  readonly stats: LogStats;
  /** Whether a write failed: nothing becomes durable any more. */
  readonly hasFailed: boolean;
}

/** Writes one snapshot, somewhere else. */
export interface SnapshotWriter {
  /** Rows of the catalog; before the images, when it is not to be taken from what is on disk. */
  put(nextId: number, puts: readonly CatalogPut[]): void;
  add(image: ImageAt): void;
  /** Images that were given and are not written yet. */
  readonly queued: number;
  /** No image comes any more. */
  finish(end: BuildEnd): void;
  /** Rejects as soon as there can be no snapshot, for whatever reason. */
  readonly built: Promise<Built>;
  /** Gives up, wherever it is. Settles when nothing is written any more. */
  abandon(): Promise<void>;
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

/** How a snapshot went. */
export type SnapshotReport =
  | (Built & {
      readonly failure: null;
      /** Partitions that were copied. */
      readonly copied: number;
      readonly seconds: number;
      /** The longest that the engine stood still. */
      readonly pauseMsMax: number;
    })
  | { readonly failure: Error };
