/**
 * The journal: group commit to the newest segment. Each batch takes one write and one sync in the
 * thread pool, as a single operation where the disk supports it, while the next batch fills.
 */
import { assert } from "../../engine/assert.ts";
import { Admission, type Clock, type Journal, LogSpace, type TooLong } from "../../engine/ports.ts";
import type { LogRecord } from "../../engine/records.ts";
import { type DiskFault, LogFailed, type StoreFault } from "../disk/faults.ts";
import { ByteWriter } from "./bytes.ts";
import { encodeRecord, RECORD_BYTES_MAX } from "./codec.ts";
import { DirectWrites } from "./direct-writes.ts";
import {
  type CommitFrame,
  FRAME_BYTES_MAX,
  FRAME_HEADER_BYTES,
  FrameFlag,
  type FrameHeader,
  type FramePlace,
  LOG_VERSION,
  padToSector,
  sealFrame,
  SECTOR_BYTES,
  SEGMENT_HEADER_BYTES,
} from "./frame.ts";
import type { ChainMark } from "./log-reader.ts";
import { type LogEnd, NewestSegment, roomIn, Spares, type SparesOptions } from "./segments.ts";

// The records of one group commit, encoded into a frame as they arrive, and counters of them.

const BATCH_BYTES = 64 * 1024;
/** A longer buffer is released after use, because a long record must not occupy memory for good. */
const BATCH_BYTES_KEPT_MAX = 4 * 1024 * 1024;

/** Header fields from the writer. */
type FrameFacts = Omit<FrameHeader, "version" | "recordCount" | "frameBytes">;

export class Batch {
  recordCount = 0;
  #out = emptyFrame();

  /** Bytes of the header and the records. */
  get bytes(): number {
    return this.#out.length;
  }

  /**
   * Adds the record. When it cannot be encoded, this throws and the batch is unchanged.
   * @returns Bytes of the record.
   */
  add(timeMs: number, record: LogRecord): number {
    const lengthBefore = this.#out.length;
    let recordBytes: number;
    try {
      recordBytes = encodeRecord(this.#out, timeMs, record);
    } catch (error) {
      this.#out.length = lengthBefore;
      throw error;
    }
    this.recordCount += 1;
    return recordBytes;
  }

  /** Removes the last records. @param bytes - `bytes` before they were added. */
  removeLast(recordCount: number, bytes: number): void {
    assert(bytes >= FRAME_HEADER_BYTES && bytes < this.bytes, "a record is removed once");
    this.recordCount -= recordCount;
    assert(this.recordCount >= 0, "as many records are removed as were added");
    this.#out.length = bytes;
    // Otherwise the memory for a very long record would stay until the next batch.
    if (this.recordCount === 0) this.clear();
  }

  /** @returns The frame, in memory that `clear` reuses, and the chain after it. */
  seal(facts: FrameFacts, chainBefore: Uint8Array): { frame: Buffer; chain: Buffer } {
    const frameBytes = this.#out.length;
    const paddedBytes = padToSector(frameBytes);
    this.#out.reserve(paddedBytes - frameBytes);
    const frame = this.#out.bytes.subarray(0, paddedBytes);
    const { recordCount } = this;
    const { flags, firstSequence, durableSequence, epoch, offset } = facts;
    // Written out, because the spread of another object costs microseconds here.
    const header = {
      version: LOG_VERSION,
      flags,
      firstSequence,
      durableSequence,
      epoch,
      recordCount,
      offset,
      frameBytes,
    };
    return { frame, chain: sealFrame(frame, header, chainBefore) };
  }

  clear(): void {
    this.recordCount = 0;
    if (this.#out.bytes.length > BATCH_BYTES_KEPT_MAX) this.#out = emptyFrame();
    else this.#out.length = FRAME_HEADER_BYTES;
  }
}

function emptyFrame(): ByteWriter {
  const out = new ByteWriter(BATCH_BYTES);
  out.length = FRAME_HEADER_BYTES;
  return out;
}

/** Counters since the log was opened. */
export class LogStats {
  /** Frames with records. */
  batches = 0;
  /** Bytes of all frames. */
  bytes = 0;
  /** Durable frames. */
  syncs = 0;
  /** Frames written on the engine's own thread. */
  direct = 0;
  /** For each frame, the time until durable. */
  readonly syncTimes = new Durations();
  /** For each batch, the time from its first record until the batch is durable. */
  readonly commitTimes = new Durations();
  readonly #open: () => Batch;

  /** @param open - The open batch. */
  constructor(open: () => Batch) {
    this.#open = open;
  }

  get pendingBytes(): number {
    return this.#open().bytes;
  }

  get pendingRecords(): number {
    return this.#open().recordCount;
  }

  /** @param openedMs - When its first record was appended; null when it has none. */
  count(
    frameBytes: number,
    { sentMs, openedMs }: { readonly sentMs: number; readonly openedMs: number | null },
    nowMs: number,
  ): void {
    this.bytes += frameBytes;
    this.syncs += 1;
    this.syncTimes.add(nowMs - sentMs);
    if (openedMs === null) return;
    this.batches += 1;
    this.commitTimes.add(nowMs - openedMs);
  }
}

// Counts durations by size: a histogram for the metrics.

/** Upper bounds in milliseconds, from a fast disk to a stalling one. */
const BOUNDS_MS = [0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000];

export class Durations {
  readonly boundsMs: readonly number[] = BOUNDS_MS;
  /** Durations up to each bound and above the one before; the last element counts longer ones. */
  readonly counts = new Float64Array(BOUNDS_MS.length + 1);
  count = 0;
  sumMs = 0;

  add(durationMs: number): void {
    let bucket = 0;
    while (bucket < BOUNDS_MS.length && durationMs > BOUNDS_MS[bucket]!) bucket++;
    this.counts[bucket]! += 1;
    this.count += 1;
    this.sumMs += durationMs;
  }
}

/** A larger open batch accepts no more commands: the disk cannot keep up. */
export const PENDING_BYTES_MAX = 16 * 1024 * 1024;
export const PENDING_RECORDS_MAX = 100_000;
/** Room for follow-up records of a turn. Only the reply to a very long call may be longer. */
const RESERVE_BYTES_MAX = 256 * 1024;
/** The reserve is at most this fraction of a segment: a quarter. */
const RESERVE_SHARE = 4;
/** Idle time before the durable mark is written in a frame of its own. */
const IDLE_MARK_DELAY_MS = 10;

assert(
  PENDING_BYTES_MAX + RECORD_BYTES_MAX + RESERVE_BYTES_MAX < FRAME_BYTES_MAX,
  "a full batch with the longest record fits in a frame",
);

export interface LogWriterOptions extends Omit<SparesOptions, "onReady"> {
  readonly storeId: string;
  readonly clock: Clock;
  /** A monotonic clock in milliseconds with fractions, for the durations in the counters. */
  readonly runningMs: () => number;
  readonly end: LogEnd;
  /** Bytes of the longest accepted record; 128 MiB by default. */
  readonly recordBytesMax?: number | undefined;
  readonly onBatch?: OnBatch | undefined;
  /** Called at most once, when the log can no longer be written: the process must end. */
  readonly onFailure: (failure: StoreFault) => void;
  /** Makes a frame durable elsewhere, before it is written here; by default nothing does. */
  readonly commit?: CommitFrame | undefined;
  /** By default, a frame leaves at the end of the turn of its first record. */
  readonly gather?: Gather | undefined;
  /** There is room for more frames elsewhere. */
  readonly hasRoom?: (() => boolean) | undefined;
}

/**
 * Called when a batch is durable, before `durable` is.
 *
 * @param payload - The records of the batch as encoded; valid only during the call.
 */
export type OnBatch = (payload: Buffer, firstSequence: number, recordCount: number) => void;

/** Decides when the next frame leaves. */
export interface Gather {
  /** The answers to the last frame leave next. */
  answered(): void;
  /** Calls `send` once, when more records have had time to come. */
  begin(send: () => void): void;
  /** A record has come since `begin`. */
  added(): void;
}

interface Flight {
  readonly frame: Buffer;
  readonly chain: Buffer;
  readonly flags: number;
  readonly lastSequence: number;
  /** Written on the engine's own thread. */
  readonly isDirect: boolean;
}

/**
 * Ordering: each frame is synced before the next one is written, so at most one frame is unsynced.
 * `durable` is called in order after the sync of a frame, when the write of the next one has
 * already begun. A frame made durable elsewhere by `commit` is written and synced while the
 * pending answers leave. Frames are written at the end of a turn of the event loop, so
 * all records of a turn share one sync without a timer. After a failed write or sync nothing more
 * is written or retried, and `durable` is never called again: reports of the kernel about that
 * file are not to be trusted. A small batch may be written on this thread, but never from within
 * `#synced`: the answers to the batch before it leave first, and `durable` is not nested.
 */
export class LogWriter implements Journal {
  readonly #options: LogWriterOptions;
  readonly #spares: Spares;
  readonly #reserveBytes: number;
  readonly #recordBytesMax: number;
  readonly #stats: LogStats;
  readonly #segment: NewestSegment;
  readonly #direct = new DirectWrites();
  /**
   * Room for the open batch in its segment, after the frame in flight and without the sector of
   * `close` needs; may be negative.
   */
  #roomBytes: number;
  #chain: Uint8Array;
  #mark: ChainMark | null;
  #open = new Batch();
  /** The batch in flight; empty when there is none. */
  #other = new Batch();
  #flight: Flight | null = null;
  /** A frame is in flight, or a segment is being activated. */
  #busy = false;
  #woken = false;
  #appendedSequence: number;
  #durableSequence: number;
  /** The durable mark in the last frame on disk. */
  #markedSequence: number;
  #markDue = false;
  #cancelMark: (() => void) | null = null;
  #sentMs = 0;
  /** Time of the first record in the open batch, and in the batch in flight. */
  #openedMs = 0;
  #flightOpenedMs = 0;
  #failure: StoreFault | null = null;
  /** Callbacks for the disk of this host; null while it has everything durable. */
  #onWritten: (() => void)[] | null = null;
  #closing: { resolve: () => void; reject: (fault: Error) => void } | null = null;

  constructor(options: LogWriterOptions) {
    const { segmentBytes, end } = options;
    this.#options = options;
    this.#stats = new LogStats(() => this.#open);
    this.#segment = new NewestSegment(options, end.segment);
    this.#roomBytes = roomIn(end.segment.bytes) - (end.segment.position - SEGMENT_HEADER_BYTES);
    this.#chain = end.chain;
    this.#mark = end.mark;
    this.#appendedSequence = end.sequence;
    this.#durableSequence = end.sequence;
    this.#markedSequence = end.sequence;
    this.#reserveBytes = Math.min(RESERVE_BYTES_MAX, Math.floor(segmentBytes / RESERVE_SHARE));
    this.#recordBytesMax = options.recordBytesMax ?? RECORD_BYTES_MAX;
    assert(this.#recordBytesMax <= RECORD_BYTES_MAX, "the longest record fits in a frame");
    this.#spares = new Spares({ ...options, onReady: this.#commit });
    this.#spares.request(0);
  }

  /** Set once by the engine, before the first `append`. */
  durable: (sequence: number) => void = () => {
    assert(false, "the engine sets its callback before it appends");
  };

  get stats(): Readonly<LogStats> {
    return this.#stats;
  }

  /** The last record on this disk, for snapshots; null when there is none. */
  get mark(): ChainMark | null {
    return this.#mark;
  }

  /** The end of the log on this disk. */
  get place(): FramePlace {
    return this.#segment.place;
  }

  /** Calls back when this disk has every record durable now. */
  whenWritten(done: () => void): void {
    if (this.#onWritten === null) done();
    else this.#onWritten.push(done);
  }

  /** A write or sync has failed. */
  get hasFailed(): boolean {
    return this.#failure !== null;
  }

  admission(): Admission {
    if (this.#failure !== null || this.#closing !== null) return Admission.UNAVAILABLE;
    if (this.#options.hasRoom?.() === false) return Admission.UNAVAILABLE;
    const { bytes, recordCount } = this.#open;
    if (bytes > PENDING_BYTES_MAX || recordCount >= PENDING_RECORDS_MAX)
      return Admission.OVERLOADED;
    return bytes + this.#reserveBytes <= this.#batchBytesMax() ? Admission.OPEN : this.#noRoom();
  }

  append(
    sequence: number,
    timeMs: number,
    record: LogRecord,
    space: LogSpace,
  ): Admission | TooLong {
    const bytesBefore = this.#open.bytes;
    const admission = this.#add(sequence, timeMs, record, space);
    if (admission === Admission.OPEN) this.#wake();
    else this.#open.removeLast(1, bytesBefore);
    return admission;
  }

  appendAll(
    sequence: number,
    timeMs: number,
    records: readonly LogRecord[],
    space: LogSpace,
  ): Admission | TooLong {
    const bytesBefore = this.#open.bytes;
    for (const [i, record] of records.entries()) {
      const admission = this.#add(sequence + i, timeMs, record, space);
      if (admission === Admission.OPEN) continue;
      this.#open.removeLast(i + 1, bytesBefore);
      this.#appendedSequence = sequence - 1;
      return admission;
    }
    this.#wake();
    return Admission.OPEN;
  }

  /** Adds a record to the batch. The caller removes it again when it is refused. */
  #add(sequence: number, timeMs: number, record: LogRecord, space: LogSpace): Admission | TooLong {
    assert(sequence === this.#appendedSequence + 1, "sequence numbers rise by one");
    assert(this.#closing === null, "nothing is appended after close");
    const recordBytes = this.#open.add(timeMs, record);
    if (recordBytes > this.#recordBytesMax) {
      return { recordBytes, recordBytesMax: this.#recordBytesMax };
    }
    const neededBytes = this.#open.bytes + (space === LogSpace.RESERVE ? 0 : this.#reserveBytes);
    if (neededBytes > this.#batchBytesMax()) {
      this.#spares.request(padToSector(neededBytes));
      return this.#noRoom();
    }
    this.#appendedSequence = sequence;
    if (this.#open.recordCount === 1) this.#openedMs = this.#options.runningMs();
    return Admission.OPEN;
  }

  /**
   * Ends the log with a clean shutdown. To be called once.
   * @returns Settles when all appended records and the clean end are on disk; rejects with
   * `LogFailed` when a write or sync fails.
   */
  close(): Promise<void> {
    assert(this.#closing === null, "a log is closed once");
    return new Promise((resolve, reject) => {
      this.#closing = { resolve, reject };
      if (this.#failure !== null) reject(this.#failure);
      else this.#wake();
    });
  }

  /** Nothing is ever written again, because `#busy` stays set. A second call does nothing. */
  fail(failure: StoreFault): void {
    if (this.#failure !== null) return;
    this.#busy = true;
    this.#failure = failure;
    this.#options.onFailure(failure);
    this.#closing?.reject(failure);
  }

  /** The open batch never outgrows its room, so a record has its place before it is applied. */
  #batchBytesMax(): number {
    return Math.min(Math.max(this.#roomBytes, this.#spares.roomBytes), FRAME_BYTES_MAX);
  }

  #noRoom(): Exclude<Admission, typeof Admission.OPEN> {
    return this.#spares.fault === null ? Admission.OVERLOADED : Admission.UNAVAILABLE;
  }

  #wake(): void {
    const { gather, scheduler } = this.#options;
    if (this.#busy) return;
    if (this.#woken) return gather?.added();
    this.#woken = true;
    if (gather === undefined) scheduler.soon(this.#commit);
    else gather.begin(this.#commit);
  }

  readonly #commit = (): void => {
    const isDirect = this.#mayWriteDirectly();
    if (isDirect && this.#mayExpectMore()) this.#options.scheduler.soon(this.#commit);
    else this.#begin(isDirect);
  };

  /** Just answered clients send their next requests now. */
  #mayExpectMore(): boolean {
    const { recordCount } = this.#open;
    if (this.#busy || recordCount === 0 || this.#closing !== null) return false;
    const waitedMs = this.#options.runningMs() - this.#openedMs;
    return this.#direct.expectsMore(recordCount, waitedMs);
  }

  #begin(isDirect: boolean): void {
    this.#woken = false;
    if (this.#busy) return;
    const room = this.#roomBytes;
    if (this.#open.recordCount > 0) this.#send(0, room, isDirect);
    else if (this.#closing !== null) {
      this.#send(FrameFlag.CLEAN_SHUTDOWN, room + SECTOR_BYTES, isDirect);
    } else if (this.#markDue) this.#send(FrameFlag.IDLE_MARKER, room, isDirect);
  }

  #send(flags: number, roomBytes: number, isDirect: boolean): void {
    this.#cancelMark?.();
    const frameBytes = padToSector(this.#open.bytes);
    if (frameBytes > roomBytes) this.#roll(frameBytes);
    else this.#write(flags, isDirect);
  }

  #write(flags: number, isDirect: boolean): void {
    const batch = this.#open;
    const { place } = this.#segment;
    const facts = {
      flags,
      firstSequence: this.#appendedSequence - batch.recordCount + 1,
      durableSequence: this.#durableSequence,
      epoch: this.#options.end.epoch,
      offset: place.offset,
    };
    assert(facts.firstSequence === this.#durableSequence + 1, "one frame is in flight at a time");
    this.#busy = true;
    this.#markDue = false;
    this.#open = this.#other;
    this.#other = batch;
    const lastSequence = this.#appendedSequence;
    const { frame, chain } = batch.seal(facts, this.#chain);
    this.#roomBytes -= frame.length;
    this.#sentMs = this.#options.runningMs();
    this.#flightOpenedMs = this.#openedMs;
    const { commit } = this.#options;
    this.#flight = { frame, chain, flags, lastSequence, isDirect };
    if (commit !== undefined) commit(frame, place, this.#committed);
    else if (isDirect) this.#segment.writeNow(frame, this.#synced);
    else this.#segment.write(frame, this.#synced);
  }

  /** The open batch, as it is now, would be written on this thread. */
  #mayWriteDirectly(): boolean {
    const { commit, runningMs } = this.#options;
    if (commit !== undefined || !this.#segment.writesNow) return false;
    return this.#direct.allows(this.#open.recordCount, runningMs());
  }

  readonly #committed = (): void => {
    if (this.#failure !== null) return;
    const { frame, lastSequence } = this.#flight!;
    this.#onWritten = [];
    // It goes first, so the disk works while the answers are sent.
    this.#segment.write(frame, this.#synced);
    this.#noteDurable();
    if (this.#other.recordCount > 0) this.durable(lastSequence);
  };

  readonly #synced = (fault: DiskFault | null): void => {
    if (fault !== null) return this.fail(new LogFailed(fault));
    if (this.#failure !== null) return;
    const { chain, flags, lastSequence } = this.#flight!;
    const hadRecords = this.#other.recordCount > 0;
    const wasDurable = this.#onWritten !== null;
    if (!wasDurable) this.#noteDurable();
    this.#chain = chain;
    this.#other.clear();
    this.#flight = null;
    this.#busy = false;
    if (hadRecords) this.#mark = { sequence: lastSequence, chain };
    const onWritten = this.#onWritten ?? [];
    this.#onWritten = null;
    // The next batch goes first, so the disk works while the answers of this one are sent.
    if (flags === FrameFlag.CLEAN_SHUTDOWN) this.#finish();
    else this.#next();
    if (hadRecords && !wasDurable) this.durable(lastSequence);
    for (const done of onWritten) done();
  };

  /** The frame in flight is durable. */
  #noteDurable(): void {
    const { frame, lastSequence, isDirect } = this.#flight!;
    const hadRecords = this.#other.recordCount > 0;
    const openedMs = hadRecords ? this.#flightOpenedMs : null;
    const nowMs = this.#options.runningMs();
    this.#stats.count(frame.length, { openedMs, sentMs: this.#sentMs }, nowMs);
    if (isDirect) this.#stats.direct += 1;
    this.#direct.note(nowMs - this.#sentMs, nowMs, isDirect);
    if (hadRecords) this.#direct.answered(this.#other.recordCount);
    this.#markedSequence = this.#durableSequence;
    this.#durableSequence = lastSequence;
    if (!hadRecords) return;
    this.#show(frame, lastSequence);
    this.#options.gather?.answered();
  }

  #show(frame: Buffer, lastSequence: number): void {
    const { bytes, recordCount } = this.#other;
    const first = lastSequence - recordCount + 1;
    this.#options.onBatch?.(frame.subarray(FRAME_HEADER_BYTES, bytes), first, recordCount);
  }

  #next(): void {
    if (this.#open.recordCount > 0 || this.#closing !== null) {
      // A direct write waits until the answers have left.
      if (this.#options.gather === undefined && !this.#mayWriteDirectly()) this.#begin(false);
      else this.#wake();
    } else if (this.#markedSequence < this.#durableSequence) {
      this.#cancelMark = this.#options.scheduler.later(IDLE_MARK_DELAY_MS, () => {
        this.#markDue = true;
        this.#commit();
      });
    }
  }

  /** Continues in the spare. Without a spare an idle mark waits; a batch always has its room. */
  #roll(frameBytes: number): void {
    const spare = this.#spares.take(frameBytes);
    if (spare === null) {
      assert(this.#open.recordCount === 0, "appended records have their room");
      return this.#spares.request(frameBytes);
    }
    const { epoch } = this.#options.end;
    const log = { firstSequence: this.#durableSequence + 1, epoch, chain: this.#chain };
    this.#busy = true;
    // Records appended during the activation go into the new segment.
    this.#roomBytes = roomIn(spare.bytes);
    this.#segment.replace(spare, log, (fault) => {
      if (fault !== null) return this.fail(new LogFailed(fault));
      if (this.#failure !== null) return;
      this.#busy = false;
      this.#spares.request(0);
      this.#commit();
    });
  }

  #finish(): void {
    const { resolve, reject } = this.#closing!;
    this.#busy = true;
    this.#segment.close((fileFault) => {
      this.#spares.close((spareFault) => {
        const fault = fileFault ?? spareFault;
        if (fault === null) resolve();
        else reject(new LogFailed(fault));
      });
    });
  }
}
