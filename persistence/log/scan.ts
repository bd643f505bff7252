/**
 * Checks the bytes of one segment and hands on its records. No I/O. Tells the torn end of a log,
 * which cannot have been acknowledged, from damage before it.
 */
import { LogCorrupt, Malformed, only } from "../disk/faults.ts";
import { ByteReader } from "./bytes.ts";
import { decodeRecords, type Replay } from "./codec.ts";
import {
  FrameFlag,
  type FrameHeader,
  FRAME_HEADER_BYTES,
  LOG_VERSION,
  SECTOR_BYTES,
  chainAfter,
  padToSector,
  payloadIsIntact,
  readChain,
  readFrameHeader,
} from "./frame.ts";
import {
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
  type SegmentPlace,
  chainOfStore,
  decodeSegmentHeader,
} from "./segment-header.ts";

const ZEROS = Buffer.alloc(64 * 1024);
const FLAGS_ALL = FrameFlag.EPOCH_START | FrameFlag.IDLE_MARKER | FrameFlag.CLEAN_SHUTDOWN;

/** One segment, read whole. */
export interface SegmentBytes {
  readonly path: string;
  /** What the name says. */
  readonly place: SegmentPlace;
  readonly bytes: Buffer;
  /** Only the newest segment may end torn. */
  readonly newest: boolean;
}

/** A record, and the chain of the frame whose last record it is. */
export interface ChainMark {
  readonly sequence: number;
  readonly chain: Uint8Array;
}

/** Where a reader of the log begins: behind what a snapshot holds. */
export interface LogStart {
  /** Records up to this one are not handed on. */
  readonly sequence: number;
  /** Proves that log and snapshot belong together; at or behind `sequence`. */
  readonly mark: ChainMark;
}

/** How far a segment is the log. */
export interface SegmentExtent {
  /** Up to the end of the last good frame. */
  readonly validBytes: number;
  /** What follows, up to the last byte that is not zero: a frame that was not wholly written. */
  readonly tornBytes: number;
}

/**
 * Goes through the segments in order and keeps what binds them: number, epoch, sequence, chain.
 * Every check that fails throws `LogCorrupt`. With a start, the first segment is taken at its word
 * until the mark of the start proves it.
 */
export class LogScan {
  readonly storeId: string;
  readonly start: LogStart | null;
  /** The last record, with the chain of its frame. */
  lastMark: ChainMark | null = null;
  /** Number of the last segment. */
  number = 0;
  epoch = 0;
  /** Sequence number of the last record. */
  sequence = 0;
  /** Records that were handed on. */
  recordCount = 0;
  chain: Uint8Array;
  /** Time of the last record. */
  timeMs = 0;
  /** The last frame marks an end in order; also true of an empty log. */
  clean = true;
  readonly #replay: Replay;
  /** The segment at hand is the first of an epoch. */
  #opensEpoch = false;

  constructor(storeId: string, replay: Replay, start: LogStart | null = null) {
    this.storeId = storeId;
    this.start = start;
    this.chain = chainOfStore(storeId);
    const held = start === null ? 0 : start.sequence;
    this.#replay = (sequence, timeMs, record) => {
      this.sequence = sequence;
      this.timeMs = timeMs;
      if (sequence <= held) return;
      this.recordCount += 1;
      replay(sequence, timeMs, record);
    };
  }

  /** Begins with the header block of a segment. */
  open(segment: SegmentBytes): void {
    atOffset(segment, 0, () => this.#checkPlace(segment));
  }

  /**
   * Takes the frame at `at` of the segment that was opened, which is known to be on disk.
   * @returns Where it ends; null when there is none.
   */
  frame(segment: SegmentBytes, at: number): number | null {
    const header = readFrameHeader(segment.bytes, at);
    if (header === null) return null;
    const end = at + padToSector(header.frameBytes);
    const frame = segment.bytes.subarray(at, end);
    atOffset(segment, at, () => {
      this.#checkHeader(header, at);
      const isWhole = end <= segment.bytes.length && payloadIsIntact(frame);
      demand(isWhole, "a frame", "one with broken records");
      this.#takeFrame(new ByteReader(segment.bytes), frame, header, at);
    });
    return end;
  }

  /**
   * @param until - A sequence number that is on disk: nothing behind its frame is looked at, for it
   * may be in the middle of being written.
   * Cost: O(bytes of the segment).
   */
  segment(segment: SegmentBytes, until = Infinity): SegmentExtent {
    this.open(segment);
    const { bytes } = segment;
    const input = new ByteReader(bytes);
    let at = SEGMENT_HEADER_BYTES;
    for (;;) {
      if (this.sequence >= until) return { validBytes: at, tornBytes: 0 };
      const header = readFrameHeader(bytes, at);
      if (header === null) return this.#end(segment, at, null);
      const end = at + padToSector(header.frameBytes);
      atOffset(segment, at, () => this.#checkHeader(header, at));
      if (end > bytes.length) return this.#end(segment, at, header);
      const frame = bytes.subarray(at, end);
      if (!payloadIsIntact(frame)) return this.#end(segment, at, header);
      atOffset(segment, at, () => this.#takeFrame(input, frame, header, at));
      at = end;
    }
  }

  /**
   * To be called behind the last segment: what the snapshot holds was durable, so a log that does
   * not reach it has lost something.
   */
  end(segment: SegmentBytes, extent: SegmentExtent): void {
    if (this.start === null) return;
    const { sequence } = this.start.mark;
    atOffset(segment, extent.validBytes, () => {
      demand(this.sequence >= sequence, `record ${this.sequence + 1} of ${sequence}`, "no more");
    });
  }

  #checkPlace(segment: SegmentBytes): void {
    const { place } = segment;
    const header = decodeSegmentHeader(segment.bytes);
    if (this.number === 0 && this.start !== null) this.#beginAt(segment, header);
    demand(place.number === this.number + 1, `segment ${this.number + 1}`, `${place.number}`);
    demand(header.storeId === this.storeId, `store ${this.storeId}`, header.storeId);
    demand(header.number === place.number, `segment ${place.number}`, `${header.number}`);
    const first = this.sequence + 1;
    demand(place.firstSequence === first, `sequence ${first}`, `${place.firstSequence}`);
    demand(header.firstSequence === first, `sequence ${first}`, `${header.firstSequence}`);
    this.#opensEpoch = header.epoch !== this.epoch || this.number === 0;
    const epoch = this.#opensEpoch ? this.epoch + 1 : this.epoch;
    demand(header.epoch === epoch, `epoch ${epoch}`, `${header.epoch}`);
    demandChain(this.chain, header.chain);
    // Nothing is written behind a clean end, so the next segment opens an epoch.
    if (!this.#opensEpoch) demand(!this.clean, "no segment after a clean end", "one");
    this.number = header.number;
    this.epoch = header.epoch;
    if (this.#opensEpoch) this.clean = false;
  }

  /** Goes on from what the first segment says of the log before it. */
  #beginAt({ place, bytes }: SegmentBytes, header: SegmentHeader): void {
    const flags = readFrameHeader(bytes, SEGMENT_HEADER_BYTES)?.flags ?? 0;
    const opens = (flags & FrameFlag.EPOCH_START) !== 0;
    this.number = place.number - 1;
    this.sequence = place.firstSequence - 1;
    this.epoch = opens ? header.epoch - 1 : header.epoch;
    this.chain = header.chain;
    this.clean = false;
    const mark = this.start?.mark;
    if (mark?.sequence !== this.sequence) return;
    // Nothing of what the snapshot holds is in this log: its beginning has to say the chain.
    demandChain(mark.chain, header.chain);
    this.lastMark = mark;
  }

  /** An intact header that is out of place is damage: no torn write makes one. */
  #checkHeader(header: FrameHeader, at: number): void {
    const { flags } = header;
    demand(!this.clean, "nothing after a clean end", "a frame");
    demand(header.version === LOG_VERSION, `log version ${LOG_VERSION}`, `${header.version}`);
    demand(header.offset === at, `a frame of byte ${at}`, `one of byte ${header.offset}`);
    demand(header.epoch === this.epoch, `epoch ${this.epoch}`, `${header.epoch}`);
    const first = this.sequence + 1;
    demand(header.firstSequence === first, `sequence ${first}`, `${header.firstSequence}`);
    const durable = header.durableSequence;
    demand(durable <= this.sequence, `a durable mark up to ${this.sequence}`, `${durable}`);
    demand((flags & ~FLAGS_ALL) === 0, "known flags", `${flags}`);
    demand(flags === 0 || header.recordCount === 0, "no records in a marker", "some");
    const opens = this.#opensEpoch && at === SEGMENT_HEADER_BYTES;
    const startsEpoch = (flags & FrameFlag.EPOCH_START) !== 0;
    demand(opens === startsEpoch, "the start of an epoch at its first frame only", "otherwise");
    demand(header.frameBytes >= FRAME_HEADER_BYTES, "a whole header", `${header.frameBytes} bytes`);
  }

  #takeFrame(input: ByteReader, frame: Buffer, header: FrameHeader, at: number): void {
    demandChain(chainAfter(frame, header.frameBytes, this.chain), readChain(frame));
    input.at = at + FRAME_HEADER_BYTES;
    input.end = at + header.frameBytes;
    decodeRecords(input, header.firstSequence, header.recordCount, this.#replay);
    this.chain = Buffer.from(readChain(frame));
    if (header.recordCount > 0) this.#reachMark({ sequence: this.sequence, chain: this.chain });
    this.clean = (header.flags & FrameFlag.CLEAN_SHUTDOWN) !== 0;
  }

  #reachMark(reached: ChainMark): void {
    const before = this.lastMark?.sequence ?? 0;
    this.lastMark = reached;
    const mark = this.start?.mark;
    if (mark === undefined || mark.sequence <= before || mark.sequence > reached.sequence) return;
    const wanted = `a batch up to record ${mark.sequence}, as the snapshot says`;
    demand(mark.sequence === reached.sequence, wanted, `one up to ${reached.sequence}`);
    demandChain(mark.chain, reached.chain);
  }

  /**
   * No good frame starts at `at`: the end of the segment, a torn frame, or damage.
   * @param header - That of the broken frame, when at least it is intact.
   */
  #end(segment: SegmentBytes, at: number, header: FrameHeader | null): SegmentExtent {
    const tornBytes = bytesInUse(segment.bytes, at) - at;
    const opening = this.#opensEpoch && at === SEGMENT_HEADER_BYTES;
    if (tornBytes === 0 && !opening) return { validBytes: at, tornBytes };
    atOffset(segment, at, () => {
      const found = header === null ? "other bytes" : "one with broken records";
      demand(!opening, "the first frame of an epoch", found);
      demand(segment.newest, "a frame or zeros", `${found}, and later segments`);
      demand(!this.clean, "zeros after a clean end", found);
      const later = this.#laterFrame(segment.bytes, at, header);
      demand(later === null, "a frame", `${found}, and a later frame at byte ${later}`);
    });
    return { validBytes: at, tornBytes };
  }

  /**
   * A frame is written only when all before it are on disk, so any intact header behind a broken
   * frame proves that the broken one was acknowledged.
   * @returns Its offset; null when there is none.
   */
  #laterFrame(bytes: Buffer, brokenAt: number, broken: FrameHeader | null): number | null {
    // Records may hold any bytes: the inside of a frame of known length is not searched.
    let at = brokenAt + (broken === null ? SECTOR_BYTES : padToSector(broken.frameBytes));
    for (; at < bytes.length; at += SECTOR_BYTES) {
      const later = readFrameHeader(bytes, at);
      if (later === null || later.offset !== at || later.epoch !== this.epoch) continue;
      if (later.firstSequence > this.sequence || later.durableSequence > this.sequence) return at;
    }
    return null;
  }
}

/** @returns Where the last byte that is not zero ends, at least `start`. Cost: O(zeros). */
function bytesInUse(bytes: Buffer, start: number): number {
  let end = bytes.length;
  while (end - start >= ZEROS.length) {
    const chunkStart = end - ZEROS.length;
    if (bytes.compare(ZEROS, 0, ZEROS.length, chunkStart, end) !== 0) break;
    end = chunkStart;
  }
  while (end > start && bytes[end - 1] === 0) end -= 1;
  return Math.max(end, start);
}

/** Gives a `Malformed` its place in the log. */
function atOffset(segment: SegmentBytes, offset: number, check: () => void): void {
  try {
    check();
  } catch (error) {
    only(error, Malformed);
    throw new LogCorrupt(segment.path, offset, error.expected, error.found);
  }
}

function demand(fact: boolean, expected: string, found: string): void {
  if (!fact) throw new Malformed(expected, found);
}

function demandChain(expected: Uint8Array, found: Uint8Array): void {
  if (Buffer.compare(expected, found) === 0) return;
  throw new Malformed(`chain ${hex(expected)}`, hex(found));
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

/**
 * A start whose chain is not checked: its mark lies beyond every log.
 * @param sequence - The last record before the start.
 */
export function startUnverified(sequence: number): LogStart {
  return { sequence, mark: { sequence: Infinity, chain: Buffer.alloc(0) } };
}

/**
 * Where to start reading when `place` is the first segment on disk: at the beginning of the log
 * (null), or at a later segment whose chain cannot be verified because its predecessor is gone.
 */
export function startOfFirst({ number, firstSequence }: SegmentPlace): LogStart | null {
  return number === 1 ? null : startUnverified(firstSequence - 1);
}
