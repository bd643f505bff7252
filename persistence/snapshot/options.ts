/** The options and reports of `Snapshots`. */
import type { CatalogPut } from "../../engine/catalog.ts";
import type { Clock } from "../../engine/ports.ts";
import type { State } from "../../engine/state.ts";
import type { Scheduler } from "../disk/scheduler.ts";
import type { LogWriter } from "../log/log-writer.ts";
import type { BuildEnd, Built, ImageAt } from "./build.ts";

/** Writes one snapshot in another thread. */
export interface SnapshotWriter {
  /** Adds catalog rows: before the images, and only when the catalog is not read from disk. */
  put(nextId: number, puts: readonly CatalogPut[]): void;
  add(image: ImageAt): void;
  /** How many added images are not written yet. */
  readonly queued: number;
  /** To be called after the last image. */
  finish(end: BuildEnd): void;
  /** Rejects as soon as the snapshot has failed, for whatever reason. */
  readonly built: Promise<Built>;
  /** Stops at once. Settles when nothing is being written any more. */
  abandon(): Promise<void>;
}

export interface SnapshotsOptions {
  readonly state: State;
  readonly log: Pick<LogWriter, "mark" | "hasFailed" | "whenWritten"> & {
    readonly stats: Pick<LogWriter["stats"], "bytes">;
  };
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** Whether memory agrees with the log. If not, the state is not copied. */
  readonly isSound: () => boolean;
  /**
   * Begins a snapshot; `base` as in `BuildOptions`. Throws when no thread can be started.
   * @param onWritten - Called in a later turn whenever an image was written.
   */
  readonly open: (base: string | null, onWritten: () => void) => SnapshotWriter;
  /** A snapshot is taken each time the log has grown by this many bytes. */
  readonly everyBytes: number;
  /** A snapshot is taken when the last one is this old and the log has new records. */
  readonly everyMs: number;
  /** How long a turn copies before its last step, in milliseconds: usually `TURN_MS`. */
  readonly turnMs: number;
  readonly start: SnapshotsStart;
  readonly onReport: (report: SnapshotReport) => void;
}

/** The result of recovery, as `Snapshots` needs it. */
export interface SnapshotsStart {
  /** The last record. */
  readonly sequence: number;
  /** Name of the snapshot that was used; null for none: then all partitions are copied. */
  readonly base: string | null;
  /** The last record in the catalog of the base; 0 without a base. */
  readonly baseSequence: number;
  /** When the base was begun; the time of the start without a base. */
  readonly baseMs: number;
  /** Partitions that have changed since the base. */
  readonly changed: Iterable<number>;
  /** Approximate bytes of the log since the base. */
  readonly bytes: number;
}

/** The outcome of a snapshot. */
export type SnapshotReport =
  | (Built & {
      readonly failure: null;
      /** Partitions that were copied. */
      readonly copied: number;
      readonly seconds: number;
      /** The longest time for which the engine was paused, in milliseconds. */
      readonly pauseMsMax: number;
    })
  | { readonly failure: Error };
