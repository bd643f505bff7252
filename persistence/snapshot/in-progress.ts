/** What is known of the snapshot that is being made. */
import type { ImagePacker } from "../../engine/inventory/image.ts";
import type { Partition } from "../../engine/inventory/partition.ts";
import type { CatalogCopy } from "./catalog-copy.ts";
import type { SnapshotWriter } from "./options.ts";

interface Copy {
  readonly number: number;
  readonly sequence: number;
  readonly packer: ImagePacker;
}

/** A partition that was removed or replaced before it could be copied. */
interface RetainedPartition {
  readonly partition: Partition;
  /** The last record before that. */
  readonly sequence: number;
}

export interface SnapshotInProgress {
  /** The record at which it began. */
  readonly sequence: number;
  /** The last record up to there that may have changed the catalog. */
  readonly catalogSequence: number;
  /** The last record of each event then, as by `packSequences`. */
  readonly sequences: Float64Array;
  readonly startMs: number;
  readonly writer: SnapshotWriter;
  /** Numbers of partitions that remain to be copied. */
  readonly pending: Set<number>;
  /** Those of them that were removed or replaced, by number: nothing changes them any more. */
  readonly retained: Map<number, RetainedPartition>;
  /** Handed over first; null when that is done, or when the writer reads the catalog from disk. */
  catalog: CatalogCopy | null;
  /** Copied, but not handed over yet. */
  readonly copies: Copy[];
  /** How many partitions are copied in total. */
  readonly copied: number;
  /** The newest record in any image. */
  imageSequence: number;
  pauseMsMax: number;
  isFinishing: boolean;
  /** Whether copying waits until the writer has written an image. */
  isWaiting: boolean;
}
