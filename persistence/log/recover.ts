/**
 * Recovery of the log: reads it, whole or from the end of a snapshot, checks it, replays its
 * records, and makes its end safe to continue from. It stops at damage before it changes anything
 * on disk.
 */
import { baseOfCell } from "../../engine/cells/ranges.ts";
import type { Clock } from "../../engine/ports.ts";
import type { Disk } from "../disk/disk.ts";
import { removeTemporary, writeFileNow } from "../disk/transfer.ts";
import { type ReadSegment, type ReadOptions, readLog } from "./read-log.ts";
import type { LogScan } from "./scan.ts";
import { LOG_FOLDER } from "./segment-header.ts";

export const BROKEN_SUFFIX = ".broken";

export interface RecoveryReport {
  /** Records that were replayed. */
  readonly records: number;
  /** Segments that were read. */
  readonly segments: number;
  /** Bytes of valid frames and headers. */
  readonly bytes: number;
  readonly seconds: number;
  /** Bytes of an incomplete frame that were cut off. */
  readonly tornBytes: number;
  /** Name of the segment that ended with it; its original is kept as `….broken`. */
  readonly tornSegment: string | null;
  /** Whether the previous process shut down cleanly; true for an empty log. */
  readonly cleanShutdown: boolean;
  /** The last epoch in the log; this process writes the next one. */
  readonly epoch: number;
  /** Sequence number of the last record; when there is none, that before the first of the cell. */
  readonly sequence: number;
  /** Milliseconds since 1970: the time of the last record; 0 when there is none. */
  readonly timeMs: number;
}

/** The report, and the scan that reached the end of the log. */
export interface Recovered {
  readonly report: RecoveryReport;
  readonly scan: LogScan;
  /** The newest segment; null when there is none. */
  readonly newest: Pick<ReadSegment, "name" | "validBytes"> | null;
}

export interface RecoverOptions extends Omit<ReadOptions, "until" | "onSegment"> {
  readonly disk: Disk;
  readonly clock: Clock;
  /** The number of the cell, 0 by default. */
  readonly cell?: number | undefined;
  /** Called after all records are replayed, before anything on disk changes; may throw. */
  readonly check?: (() => void) | undefined;
}

/**
 * Ordering: everything is checked and replayed before the first change on disk. After each change
 * the same records can be recovered, so a start that is interrupted anywhere can be repeated.
 *
 * Cost and errors: as `readLog`.
 */
export function recover(options: RecoverOptions): Recovered {
  const { disk, clock } = options;
  const folder = `${options.folder}/${LOG_FOLDER}`;
  const startMs = clock.nowMs();
  const { scan, segments, validBytes, newest } = readLog(options);
  if (segments === 0) scan.sequence = baseOfCell(options.cell ?? 0);
  options.check?.();
  removeTemporary(disk, folder);
  if (newest !== null) secureNewest(disk, folder, newest);
  const tornBytes = newest?.tornBytes ?? 0;
  const report = {
    records: scan.recordCount,
    segments,
    bytes: validBytes,
    seconds: Math.max(0, clock.nowMs() - startMs) / 1_000,
    tornBytes,
    tornSegment: newest !== null && tornBytes > 0 ? newest.name : null,
    cleanShutdown: scan.clean,
    epoch: scan.epoch,
    sequence: scan.sequence,
    timeMs: scan.timeMs,
  };
  const end = newest === null ? null : { name: newest.name, validBytes: newest.validBytes };
  return { report, scan, newest: end };
}

/**
 * Replaces the newest segment with a copy, without its torn end. A torn original is kept beside it.
 *
 * It is always a copy: after a failed sync, the bytes that are read here may be only in memory, and
 * another sync of the same file would report success without writing them.
 */
function secureNewest(disk: Disk, folder: string, newest: ReadSegment): void {
  const { name, bytes, validBytes, tornBytes } = newest;
  if (tornBytes > 0) {
    const original = bytes.subarray(0, validBytes + tornBytes);
    writeFileNow(disk, folder, `${name}${BROKEN_SUFFIX}`, original);
  }
  writeFileNow(disk, folder, name, bytes.subarray(0, validBytes));
}
