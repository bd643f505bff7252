/**
 * Recovery of the log: reads it, whole or from the end of a snapshot, checks it, replays its
 * records, and makes its end safe to continue from. It stops at damage before it changes anything
 * on disk.
 */
import { assert } from "../../engine/assert.ts";
import { baseOfCell } from "../../engine/cells.ts";
import type { Clock } from "../../engine/ports.ts";
import type { Disk } from "../disk/disk.ts";
import { type DiskFault, LogCorrupt, type StoreFault } from "../disk/faults.ts";
import {
  makeFoldersNow,
  removeTemporary,
  TEMPORARY_SUFFIX,
  writeFileNow,
} from "../disk/transfer.ts";
import {
  encodeSegmentHeader,
  FrameFlag,
  LOG_FOLDER,
  SECTOR_BYTES,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
  segmentName,
} from "./frame.ts";
import {
  findSegments,
  type LogScan,
  readLog,
  type ReadOptions,
  type ReadSegment,
} from "./log-reader.ts";
import { Batch, LogWriter, type LogWriterOptions } from "./log-writer.ts";
import { activate, type LogEnd, makeSpare, roomIn, SEGMENT_BYTES, type Spare } from "./segments.ts";

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
  /** True after a clean shutdown of the previous process, and for an empty log. */
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

interface RecoverOptions extends Omit<ReadOptions, "until" | "onSegment"> {
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

// Opens the log: recovers it, starts a new epoch in a new segment, and returns the writer.

/**
 * A start waits until its first segment is filled with zeros, so that segment is short. The writer
 * prepares a segment of the usual size meanwhile.
 */
const FIRST_SEGMENT_BYTES_MAX = 8 * 1024 * 1024;
const ROOM_BYTES_MIN = 4 * SECTOR_BYTES;

export interface LogOptions
  extends
    RecoverOptions,
    Pick<
      LogWriterOptions,
      "scheduler" | "runningMs" | "recordBytesMax" | "onBatch" | "commit" | "hasRoom" | "gather"
    > {
  /** The store has had a log before, so a missing one is damage. */
  readonly mustExist?: boolean | undefined;
  /** Called at most once, when the log can no longer be written: the process must end. */
  readonly onFailure: (failure: StoreFault) => void;
  /** Whole sectors; 64 MiB by default. */
  readonly segmentBytes?: number | undefined;
}

export interface OpenLog {
  /** Its first record has the sequence number after `report.sequence`. */
  readonly journal: LogWriter;
  readonly report: RecoveryReport;
}

/**
 * Ordering: the new epoch is on disk before this settles, so no record of this process can be
 * mistaken for one of an earlier process.
 * @throws LogCorrupt, DiskFault.
 */
export async function openLog(options: LogOptions): Promise<OpenLog> {
  const { report, scan } = recoverLog(options);
  return { journal: await beginEpoch(options, scan), report };
}

/** Recovers the log, without a new epoch. @throws LogCorrupt, DiskFault. */
export function recoverLog(
  options: RecoverOptions & Pick<LogOptions, "mustExist" | "segmentBytes">,
): Recovered {
  const { disk, segmentBytes = SEGMENT_BYTES } = options;
  const folder = `${options.folder}/${LOG_FOLDER}`;
  assert(segmentBytes % SECTOR_BYTES === 0, "a segment has whole sectors");
  assert(roomIn(segmentBytes) >= ROOM_BYTES_MIN, "a segment has room for records");
  if (options.mustExist === true && findSegments(disk, options.folder).length === 0) {
    throw new LogCorrupt(folder, 0, "the segments of the log", "none");
  }
  makeFoldersNow(disk, folder);
  return recover(options);
}

/**
 * Starts a new epoch after the log that was read.
 * @returns Its writer. @throws DiskFault.
 */
export async function beginEpoch(
  options: Omit<LogOptions, "replay" | "start">,
  scan: LogScan,
): Promise<LogWriter> {
  const { segmentBytes = SEGMENT_BYTES } = options;
  const folder = `${options.folder}/${LOG_FOLDER}`;
  const parts = { ...options, folder, segmentBytes };
  const end = await startEpoch(parts, scan);
  return new LogWriter({ ...parts, end });
}

/** @param options - `folder` is the folder of the segments. */
async function startEpoch(
  {
    disk,
    folder,
    storeId,
    clock,
    segmentBytes,
    commit,
  }: Omit<LogOptions, "replay" | "start"> & { readonly segmentBytes: number },
  scan: LogScan,
): Promise<LogEnd> {
  const { sequence } = scan;
  const epoch = scan.epoch + 1;
  const place = { number: scan.number + 1, firstSequence: sequence + 1 };
  const header = { ...place, storeId, epoch, chain: scan.chain, createdAtMs: clock.nowMs() };
  const { head, chain } = epochHead(header);
  const firstBytes = Math.min(segmentBytes, FIRST_SEGMENT_BYTES_MAX);
  const path = `${folder}/epoch-${epoch}${TEMPORARY_SUFFIX}`;
  const { file, bytes } = await new Promise<Spare>(
    (resolve, reject: (fault: DiskFault) => void) => {
      makeSpare(disk, path, firstBytes, (fault, spare) => {
        if (spare !== null) resolve(spare);
        else reject(fault!);
      });
    },
  );
  if (commit !== undefined) {
    const frame = head.subarray(SEGMENT_HEADER_BYTES);
    await new Promise<void>((resolve) => {
      commit(frame, { number: place.number, offset: SEGMENT_HEADER_BYTES }, resolve);
    });
  }
  await new Promise<void>((resolve, reject) => {
    activate(disk, { file, bytes }, { folder, name: segmentName(place), head }, (fault) => {
      if (fault === null) resolve();
      else reject(fault);
    });
  });
  const segment = { file, number: place.number, bytes, position: head.length };
  return { epoch, sequence, chain, mark: scan.lastMark, segment };
}

/** The header block of an epoch's first segment, followed by the first frame of the epoch. */
export function epochHead(header: SegmentHeader): { head: Buffer; chain: Buffer } {
  const { firstSequence, epoch } = header;
  const facts = {
    flags: FrameFlag.EPOCH_START,
    firstSequence,
    durableSequence: firstSequence - 1,
    epoch,
    offset: SEGMENT_HEADER_BYTES,
  };
  const { frame, chain } = new Batch().seal(facts, header.chain);
  return { head: Buffer.concat([encodeSegmentHeader(header), frame]), chain };
}
