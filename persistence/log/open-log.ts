/**
 * Opens the log: recovers what is there, starts a new epoch in a new segment, hands out a journal.
 */
import { assert } from "../../engine/assert.ts";
import type { Clock } from "../../engine/ports.ts";
import type { Disk } from "../disk/disk.ts";
import { type DiskFault, LogCorrupt, type LogFailed } from "../disk/faults.ts";
import type { Scheduler } from "../disk/scheduler.ts";
import { makeFoldersNow } from "../disk/transfer.ts";
import { Batch } from "./batch.ts";
import type { Replay } from "./codec.ts";
import { FrameFlag, SECTOR_BYTES } from "./frame.ts";
import { LogWriter, type LogEnd } from "./log-writer.ts";
import type { OnProgress } from "./read-log.ts";
import { hasSegments, recover, type Recovered, type RecoveryReport } from "./recover.ts";
import type { ChainMark, LogStart } from "./scan.ts";
import {
  SEGMENT_HEADER_BYTES,
  encodeSegmentHeader,
  segmentName,
  LOG_FOLDER,
} from "./segment-header.ts";
import {
  SEGMENT_BYTES,
  type Spare,
  TEMPORARY_SUFFIX,
  activate,
  makeSpare,
  roomIn,
} from "./segments.ts";

const ROOM_BYTES_MIN = 4 * SECTOR_BYTES;

export interface LogOptions {
  readonly disk: Disk;
  /** The data folder; the segments are in its folder `wal`. */
  readonly folder: string;
  readonly storeId: string;
  /** The store has had a log: that there is none now is damage. */
  readonly mustExist?: boolean | undefined;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** Told of every record in the log, in order, before `openLog` settles. */
  readonly replay: Replay;
  /** Called at most once, when a write or sync failed: the process has to end. */
  readonly onFailure: (failure: LogFailed) => void;
  readonly segmentBytes?: number | undefined;
  /** Where a snapshot ends; without one the log is read from its first record on. */
  readonly start?: LogStart | null | undefined;
  readonly onProgress?: OnProgress | undefined;
  /** As in `RecoverOptions`. */
  readonly check?: (() => void) | undefined;
}

export interface OpenLog {
  /** Its first record has the sequence number after `report.sequence`. */
  readonly journal: LogWriter;
  readonly report: RecoveryReport;
}

/**
 * Ordering: the new epoch is on disk before this settles, so no record of this process can be taken
 * for one of an earlier process.
 * @throws LogCorrupt, DiskFault.
 */
export async function openLog(options: LogOptions): Promise<OpenLog> {
  const { disk, storeId, clock, scheduler, replay, onFailure } = options;
  const segmentBytes = options.segmentBytes ?? SEGMENT_BYTES;
  const folder = `${options.folder}/${LOG_FOLDER}`;
  assert(segmentBytes % SECTOR_BYTES === 0, "a segment has whole sectors");
  assert(roomIn(segmentBytes) >= ROOM_BYTES_MIN, "a segment has room for records");
  if (options.mustExist === true && !hasSegments(disk, folder)) {
    throw new LogCorrupt(folder, 0, "the segments of the log", "none");
  }
  makeFoldersNow(disk, folder);
  const { start = null, onProgress, check } = options;
  const reading = { disk, folder, storeId, replay, start, onProgress };
  const recovered = recover({ ...reading, clock, check });
  const end = await startEpoch({ disk, folder, storeId, clock, segmentBytes, recovered });
  const parts = { disk, folder, storeId, clock, scheduler, onFailure };
  const journal = new LogWriter({ ...parts, segmentBytes, end });
  return { journal, report: recovered.report };
}

interface EpochStart {
  readonly disk: Disk;
  readonly folder: string;
  readonly storeId: string;
  readonly clock: Clock;
  readonly segmentBytes: number;
  readonly recovered: Recovered;
}

async function startEpoch(start: EpochStart): Promise<LogEnd> {
  const { disk, folder, segmentBytes, recovered } = start;
  const { sequence } = recovered.report;
  const epoch = recovered.report.epoch + 1;
  const number = recovered.segmentNumber + 1;
  const { head, chain } = epochHead({
    storeId: start.storeId,
    number,
    epoch,
    mark: { sequence, chain: recovered.chain },
    createdAtMs: start.clock.nowMs(),
  });
  const spare = await newSpare(disk, `${folder}/epoch-${epoch}${TEMPORARY_SUFFIX}`, segmentBytes);
  const name = segmentName({ number, firstSequence: sequence + 1 });
  await new Promise<void>((resolve, reject) => {
    activate(disk, spare, { folder, name, head }, (fault) => {
      if (fault === null) resolve();
      else reject(fault);
    });
  });
  const segment = { file: spare.file, number, bytes: spare.bytes, position: head.length };
  return { epoch, sequence, chain, mark: recovered.mark, segment };
}

export interface EpochHead {
  readonly storeId: string;
  /** Of the segment. */
  readonly number: number;
  readonly epoch: number;
  /** The last record before the epoch, and the chain of the last frame. */
  readonly mark: ChainMark;
  readonly createdAtMs: number;
}

/** The header block of the epoch's first segment, its first frame behind it. */
export function epochHead({ storeId, number, epoch, mark, createdAtMs }: EpochHead): {
  head: Buffer;
  chain: Buffer;
} {
  const { sequence, chain: before } = mark;
  const firstSequence = sequence + 1;
  const header = { storeId, number, firstSequence, epoch, chain: before, createdAtMs };
  const facts = {
    flags: FrameFlag.EPOCH_START,
    firstSequence,
    durableSequence: sequence,
    epoch,
    offset: SEGMENT_HEADER_BYTES,
  };
  const { frame, chain } = new Batch().seal(facts, before);
  return { head: Buffer.concat([encodeSegmentHeader(header), frame]), chain };
}

function newSpare(disk: Disk, path: string, bytes: number): Promise<Spare> {
  return new Promise((resolve, reject: (fault: DiskFault) => void) => {
    makeSpare(disk, path, bytes, (fault, spare) => {
      if (spare !== null) resolve(spare);
      else reject(fault!);
    });
  });
}
