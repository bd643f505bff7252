/** Opens the log: recovers it, starts a new epoch in a new segment, and returns the writer. */
import { assert } from "../../engine/assert.ts";
import { type DiskFault, LogCorrupt, type StoreFault } from "../disk/faults.ts";
import { makeFoldersNow, TEMPORARY_SUFFIX } from "../disk/transfer.ts";
import { Batch } from "./batch.ts";
import { FrameFlag, SECTOR_BYTES } from "./frame.ts";
import { LogWriter, type LogWriterOptions } from "./log-writer.ts";
import { findSegments } from "./read-log.ts";
import { recover, type Recovered, type RecoverOptions, type RecoveryReport } from "./recover.ts";
import type { LogScan } from "./scan.ts";
import {
  LOG_FOLDER,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
  encodeSegmentHeader,
  segmentName,
} from "./segment-header.ts";
import { type LogEnd, SEGMENT_BYTES, type Spare, activate, makeSpare, roomIn } from "./segments.ts";

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
