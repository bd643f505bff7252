/**
 * Start: reads the log, whole or from where a snapshot ends, checks it, replays its records, and
 * makes its end safe to go on from. When something is damaged it halts before anything on disk is
 * changed.
 */
import type { Clock } from "../../engine/ports.ts";
import { type Disk, namesIn } from "../disk/disk.ts";
import { writeFileNow } from "../disk/transfer.ts";
import { type ReadSegment, type ReadOptions, readLog, SEGMENT_SUFFIX } from "./read-log.ts";
import type { ChainMark } from "./scan.ts";
import { TEMPORARY_SUFFIX } from "./segments.ts";

export const BROKEN_SUFFIX = ".broken";

export interface RecoveryReport {
  readonly records: number;
  readonly segments: number;
  /** Bytes of good frames and headers. */
  readonly bytes: number;
  readonly seconds: number;
  /** Bytes of a frame that was not wholly written, cut off. */
  readonly tornBytes: number;
  /** Name of the segment that ended torn; its original is kept as `….broken`. */
  readonly tornSegment: string | null;
  /** The process before ended in order; true of an empty log. */
  readonly cleanShutdown: boolean;
  /** The last epoch in the log; this process writes the next one. */
  readonly epoch: number;
  /** Sequence number of the last record; 0 when there is none. */
  readonly sequence: number;
  /** Time of the last record; 0 when there is none. */
  readonly timeMs: number;
}

/** What to go on from. */
export interface Recovered {
  readonly report: RecoveryReport;
  readonly chain: Uint8Array;
  /** The last record; null when there is none. */
  readonly mark: ChainMark | null;
  /** Number of the last segment; 0 when there is none. */
  readonly segmentNumber: number;
}

export interface RecoverOptions extends ReadOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  /** Called when all records were replayed, before anything on disk is changed; may throw. */
  readonly check?: (() => void) | undefined;
}

/**
 * Ordering: all is checked and replayed before the first change. Each change leaves a log from
 * which the same records are recovered, so a start that is interrupted anywhere can be repeated.
 *
 * Cost: O(bytes of the log); memory O(bytes of the longest segment).
 * @throws LogCorrupt on damage, DiskFault when the disk fails; a read error is no end of file.
 */
export function recover(options: RecoverOptions): Recovered {
  const { disk, folder, clock } = options;
  const startMs = clock.nowMs();
  const { scan, segments, goodBytes, newest } = readLog(options);
  options.check?.();
  const names = namesIn(disk, folder);
  removeTemporary(disk, folder, names);
  if (newest !== null) secureNewest(disk, folder, newest);
  const tornBytes = newest?.tornBytes ?? 0;
  const report = {
    records: scan.recordCount,
    segments,
    bytes: goodBytes,
    seconds: Math.max(0, clock.nowMs() - startMs) / 1_000,
    tornBytes,
    tornSegment: newest !== null && tornBytes > 0 ? newest.name : null,
    cleanShutdown: scan.clean,
    epoch: scan.epoch,
    sequence: scan.sequence,
    timeMs: scan.timeMs,
  };
  return { report, chain: scan.chain, mark: scan.lastMark, segmentNumber: scan.number };
}

export function hasSegments(disk: Disk, folder: string): boolean {
  return namesIn(disk, folder).some((name) => name.endsWith(SEGMENT_SUFFIX));
}

function removeTemporary(disk: Disk, folder: string, names: readonly string[]): void {
  for (const name of names) {
    if (name.endsWith(TEMPORARY_SUFFIX)) disk.removeNow(`${folder}/${name}`);
  }
}

/**
 * Puts a copy in the place of the newest segment, without its torn end, which is kept beside it.
 *
 * Always a copy: after a failed sync, what is read here may be in memory only, and syncing the old
 * file again would report success without writing it. A new file has no such past.
 */
function secureNewest(disk: Disk, folder: string, newest: ReadSegment): void {
  const { name, bytes, validBytes, tornBytes } = newest;
  if (tornBytes > 0) {
    const original = bytes.subarray(0, validBytes + tornBytes);
    writeFileNow(disk, folder, `${name}${BROKEN_SUFFIX}`, original);
  }
  writeFileNow(disk, folder, name, bytes.subarray(0, validBytes));
}
