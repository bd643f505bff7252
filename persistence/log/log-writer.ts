/**
 * The journal: group commit to the newest segment. One write and one sync per batch run in the
 * thread pool, as one operation where the disk can, while the next batch fills. Knows nothing of
 * recovery.
 */
import { assert } from "../../engine/assert.ts";
import { Admission, type Clock, type Journal, LogSpace } from "../../engine/ports.ts";
import type { LogRecord } from "../../engine/records.ts";
import type { Disk, DiskFile } from "../disk/disk.ts";
import { type DiskFault, LogFailed } from "../disk/faults.ts";
import type { Scheduler } from "../disk/scheduler.ts";
import { writeAllThrough } from "../disk/transfer.ts";
import { Batch } from "./batch.ts";
import { RECORD_BYTES_MAX } from "./codec.ts";
import { FRAME_BYTES_MAX, FrameFlag, SECTOR_BYTES, padToSector } from "./frame.ts";
import type { ChainMark } from "./scan.ts";
import { SEGMENT_HEADER_BYTES, encodeSegmentHeader, segmentName } from "./segment-header.ts";
import { Spares, activate, roomIn } from "./segments.ts";

/** Beyond this the open batch takes no more: the disk does not keep up. */
const PENDING_BYTES_MAX = 16 * 1024 * 1024;
export const PENDING_RECORDS_MAX = 100_000;
/** Room kept for what comes along in a turn; only the reply to a very long call may be longer. */
const RESERVE_BYTES_MAX = 256 * 1024;
/** In a small segment the reserve is this part of it. */
const RESERVE_SHARE = 4;
/** How long the log may rest before the durable mark is written by itself. */
const IDLE_MARK_DELAY_MS = 10;

assert(
  PENDING_BYTES_MAX + RECORD_BYTES_MAX + RESERVE_BYTES_MAX < FRAME_BYTES_MAX,
  "a full batch fits a frame, with the longest record on top",
);

/** Where the log stands, and the segment that takes what comes. */
export interface LogEnd {
  readonly epoch: number;
  /** Last sequence number, all up to it durable. */
  readonly sequence: number;
  /** Chain of the last frame. */
  readonly chain: Uint8Array;
  /** The last record; null when there is none. */
  readonly mark: ChainMark | null;
  readonly segment: OpenSegment;
}

export interface OpenSegment {
  readonly file: DiskFile;
  readonly number: number;
  readonly bytes: number;
  /** Where the next frame goes. */
  position: number;
}

export interface LogWriterOptions {
  readonly disk: Disk;
  /** The folder of the segments. */
  readonly folder: string;
  readonly storeId: string;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly segmentBytes: number;
  readonly end: LogEnd;
  /** Called at most once, when a write or sync failed: the process has to end. */
  readonly onFailure: (failure: LogFailed) => void;
}

/** Counters since the start. */
export interface LogStats {
  /** Frames with records. */
  readonly batches: number;
  /** Bytes of all frames. */
  readonly bytes: number;
  /** Syncs of frames. */
  readonly syncs: number;
  /** The longest write and sync of a frame. */
  readonly syncMsMax: number;
}

interface Flight {
  readonly frame: Buffer;
  readonly chain: Buffer;
  readonly flags: number;
  readonly lastSequence: number;
}

/**
 * Ordering: frames go to disk one after the other, each synced before the next is written, so at
 * most one frame is ever unsynced. `durable` is called in order, after the sync of the frame; the
 * next one is on its way by then. A frame goes out at the end of an event-loop turn, so all records
 * of a turn share one sync; no timer takes part. After a failed write or sync nothing is written,
 * nothing is retried and `durable` is not called again: what the kernel says of that file from
 * there on cannot be trusted.
 */
export class LogWriter implements Journal {
  readonly #options: LogWriterOptions;
  readonly #spares: Spares;
  readonly #reserveBytes: number;
  readonly #stats = { batches: 0, bytes: 0, syncs: 0, syncMsMax: 0 };
  #segment: OpenSegment;
  /**
   * Room for the open batch in the segment that it comes into, behind what is in flight, less what
   * `close` needs; may be negative.
   */
  #roomBytes: number;
  #chain: Uint8Array;
  #mark: ChainMark | null;
  #open = new Batch();
  /** The batch in flight while there is one; else empty. */
  #other = new Batch();
  #flight: Flight | null = null;
  /** A frame is in flight, or a segment is being activated. */
  #busy = false;
  #woken = false;
  #appendedSequence: number;
  #durableSequence: number;
  /** The durable mark that is itself on disk. */
  #markedSequence: number;
  #markDue = false;
  #cancelMark: (() => void) | null = null;
  #syncStartMs = 0;
  #failure: LogFailed | null = null;
  #closing: { resolve: () => void; reject: (fault: Error) => void } | null = null;

  constructor(options: LogWriterOptions) {
    const { disk, scheduler, folder, segmentBytes, end } = options;
    this.#options = options;
    this.#segment = { ...end.segment };
    this.#roomBytes = roomIn(end.segment.bytes) - (end.segment.position - SEGMENT_HEADER_BYTES);
    this.#chain = end.chain;
    this.#mark = end.mark;
    this.#appendedSequence = end.sequence;
    this.#durableSequence = end.sequence;
    this.#markedSequence = end.sequence;
    this.#reserveBytes = Math.min(RESERVE_BYTES_MAX, Math.floor(segmentBytes / RESERVE_SHARE));
    const onReady = this.#commit;
    this.#spares = new Spares({ disk, scheduler, folder, segmentBytes, onReady });
    this.#spares.request(0);
  }

  /** Set once by the engine, before the first `append`. */
  durable: (sequence: number) => void = () => {
    assert(false, "the engine listens to the journal before it appends");
  };

  get stats(): LogStats {
    return this.#stats;
  }

  /** The last durable record; null when there is none. A snapshot names it. */
  get mark(): ChainMark | null {
    return this.#mark;
  }

  /** Whether a write or sync failed. */
  get hasFailed(): boolean {
    return this.#failure !== null;
  }

  admission(): Admission {
    if (this.#failure !== null || this.#closing !== null) return Admission.UNAVAILABLE;
    const { bytes, recordCount } = this.#open;
    if (bytes > PENDING_BYTES_MAX || recordCount >= PENDING_RECORDS_MAX)
      return Admission.OVERLOADED;
    return bytes + this.#reserveBytes <= this.#batchBytesMax() ? Admission.OPEN : this.#noRoom();
  }

  append(sequence: number, timeMs: number, record: LogRecord, space: LogSpace): Admission {
    assert(sequence === this.#appendedSequence + 1, "sequence numbers rise by one");
    assert(this.#closing === null, "nothing is appended after close");
    this.#open.add(timeMs, record);
    const neededBytes = this.#open.bytes + (space === LogSpace.RESERVE ? 0 : this.#reserveBytes);
    if (neededBytes > this.#batchBytesMax()) {
      this.#open.takeBack();
      this.#spares.request(padToSector(neededBytes));
      return this.#noRoom();
    }
    this.#appendedSequence = sequence;
    this.#wake();
    return Admission.OPEN;
  }

  /**
   * Ends the log in order, once. Waits for space when a batch waits for it.
   * @returns Settles when all that was appended is durable and the end is marked; rejects with
   * `LogFailed` when that cannot be reached.
   */
  close(): Promise<void> {
    assert(this.#closing === null, "a log is closed once");
    return new Promise((resolve, reject) => {
      this.#closing = { resolve, reject };
      if (this.#failure !== null) reject(this.#failure);
      else this.#wake();
    });
  }

  /** What the open batch may come to: it has its room before anything of it is applied. */
  #batchBytesMax(): number {
    return Math.min(Math.max(this.#roomBytes, this.#spares.roomBytes), FRAME_BYTES_MAX);
  }

  #noRoom(): Exclude<Admission, typeof Admission.OPEN> {
    return this.#spares.fault === null ? Admission.OVERLOADED : Admission.UNAVAILABLE;
  }

  #wake(): void {
    if (this.#woken || this.#busy) return;
    this.#woken = true;
    this.#options.scheduler.soon(this.#commit);
  }

  readonly #commit = (): void => {
    this.#woken = false;
    if (this.#busy) return;
    if (this.#open.recordCount > 0) this.#send(0, this.#roomBytes);
    else if (this.#closing !== null) {
      this.#send(FrameFlag.CLEAN_SHUTDOWN, this.#roomBytes + SECTOR_BYTES);
    } else if (this.#markDue) this.#send(FrameFlag.IDLE_MARKER, this.#roomBytes);
  };

  #send(flags: number, roomBytes: number): void {
    this.#cancelMark?.();
    const frameBytes = padToSector(this.#open.bytes);
    if (frameBytes > roomBytes) this.#roll(frameBytes);
    else this.#write(flags);
  }

  #write(flags: number): void {
    const batch = this.#open;
    const facts = {
      flags,
      firstSequence: this.#appendedSequence - batch.recordCount + 1,
      durableSequence: this.#durableSequence,
      epoch: this.#options.end.epoch,
      offset: this.#segment.position,
    };
    assert(facts.firstSequence === this.#durableSequence + 1, "one frame is in flight at a time");
    this.#busy = true;
    this.#markDue = false;
    this.#open = this.#other;
    this.#other = batch;
    const lastSequence = this.#appendedSequence;
    const { frame, chain } = batch.seal(facts, this.#chain);
    this.#flight = { frame, chain, flags, lastSequence };
    this.#roomBytes -= frame.length;
    this.#syncStartMs = this.#options.clock.nowMs();
    writeAllThrough(this.#segment.file, frame, facts.offset, this.#synced);
  }

  readonly #synced = (fault: DiskFault | null): void => {
    if (fault !== null) return this.#fail(fault);
    const { frame, chain, flags, lastSequence } = this.#flight!;
    const hadRecords = this.#other.recordCount > 0;
    this.#count(frame.length, hadRecords);
    this.#segment.position += frame.length;
    this.#chain = chain;
    this.#markedSequence = this.#durableSequence;
    this.#durableSequence = lastSequence;
    this.#other.clear();
    this.#flight = null;
    this.#busy = false;
    if (hadRecords) this.#mark = { sequence: lastSequence, chain };
    // The next batch first, so that the disk works while the answers of this one leave.
    if (flags === FrameFlag.CLEAN_SHUTDOWN) this.#finish();
    else this.#goOn();
    if (hadRecords) this.durable(lastSequence);
  };

  #goOn(): void {
    if (this.#open.recordCount > 0 || this.#closing !== null) this.#commit();
    else if (this.#markedSequence < this.#durableSequence) {
      this.#cancelMark = this.#options.scheduler.later(IDLE_MARK_DELAY_MS, () => {
        this.#markDue = true;
        this.#commit();
      });
    }
  }

  /** Goes on in the spare. Without one an idle mark waits; every batch has its room. */
  #roll(frameBytes: number): void {
    const { disk, folder, storeId, clock, end } = this.#options;
    const spare = this.#spares.take(frameBytes);
    if (spare === null) {
      assert(this.#open.recordCount === 0, "what was appended has its room");
      return this.#spares.request(frameBytes);
    }
    const number = this.#segment.number + 1;
    const firstSequence = this.#durableSequence + 1;
    const head = encodeSegmentHeader({
      storeId,
      number,
      firstSequence,
      epoch: end.epoch,
      chain: this.#chain,
      createdAtMs: clock.nowMs(),
    });
    const name = segmentName({ number, firstSequence });
    this.#busy = true;
    // From here on: what is appended while it is activated comes into it too.
    this.#roomBytes = roomIn(spare.bytes);
    activate(disk, spare, { folder, name, head }, (fault) => {
      if (fault !== null) return this.#fail(fault);
      this.#segment.file.close((closeFault) => {
        if (closeFault !== null) return this.#fail(closeFault);
        const { file, bytes } = spare;
        this.#segment = { file, number, bytes, position: SEGMENT_HEADER_BYTES };
        this.#busy = false;
        this.#spares.request(0);
        this.#commit();
      });
    });
  }

  #count(frameBytes: number, hadRecords: boolean): void {
    const syncMs = this.#options.clock.nowMs() - this.#syncStartMs;
    this.#stats.batches += hadRecords ? 1 : 0;
    this.#stats.bytes += frameBytes;
    this.#stats.syncs += 1;
    this.#stats.syncMsMax = Math.max(this.#stats.syncMsMax, syncMs);
  }

  /** Leaves `busy` set, so that nothing is ever written again. */
  #fail(fault: DiskFault): void {
    assert(this.#failure === null, "a log fails once");
    this.#busy = true;
    this.#failure = new LogFailed(fault);
    this.#options.onFailure(this.#failure);
    this.#closing?.reject(this.#failure);
  }

  #finish(): void {
    const { resolve, reject } = this.#closing!;
    this.#busy = true;
    this.#segment.file.close((fileFault) => {
      this.#spares.close((spareFault) => {
        const fault = fileFault ?? spareFault;
        if (fault === null) resolve();
        else reject(new LogFailed(fault));
      });
    });
  }
}
