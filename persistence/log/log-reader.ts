/**
 * Reads the segments of a log in order, from its beginning or from the end of a snapshot. It never
 * changes a file.
 */
import { baseOfCell, cellOf } from "../../engine/cells.ts";
import type { StorePlace } from "../disk/data-folder.ts";
import { namesIn, type ReadDisk, type ReadFile } from "../disk/disk.ts";
import { LogCorrupt, Malformed, only } from "../disk/faults.ts";
import { ensureFormat, FORMATS } from "../disk/formats.ts";
import { readFileNow } from "../disk/transfer.ts";
import { decodeRecords, type Replay } from "./codec.ts";
import {
  chainAfter,
  chainOfStore,
  decodeSegmentHeader,
  FRAME_HEADER_BYTES,
  FrameFlag,
  type FrameHeader,
  LOG_FOLDER,
  padToSector,
  parseSegmentName,
  payloadIsIntact,
  readChain,
  readFrameHeader,
  SECTOR_BYTES,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
  segmentName,
  type SegmentPlace,
} from "./frame.ts";

export const SEGMENT_SUFFIX = ".log";

/** @param records - As encoded: see `decodeRecords`. Valid only during the call. */
export type OnEncoded = (records: Buffer, firstSequence: number, recordCount: number) => void;

/** Reports the progress of long work, in units of its own: segments or partitions. */
export type OnProgress = (done: number, total: number) => void;

export interface ReadOptions extends StorePlace<ReadDisk> {
  readonly replay: Replay;
  /** As in `LogScan`. */
  readonly onEncoded?: OnEncoded | undefined;
  /** Null to read from the first record on. */
  readonly start: LogStart | null;
  /** Reading ends with the frame of this record, which must be on disk. */
  readonly until?: number | undefined;
  readonly onProgress?: OnProgress | undefined;
  /** Called with each segment once it is checked. Its bytes are valid only during the call. */
  readonly onSegment?: ((segment: ReadSegment) => void) | undefined;
}

/** A segment that was read. */
export interface ReadSegment extends SegmentExtent {
  readonly name: string;
  readonly bytes: Buffer;
}

export interface ReadLog {
  readonly scan: LogScan;
  /** Number of segments read. */
  readonly segments: number;
  /** Bytes of valid frames and headers. */
  readonly validBytes: number;
  readonly newest: ReadSegment | null;
}

/**
 * Cost: O(bytes read); memory O(bytes of the longest segment).
 * @throws LogCorrupt on damage, DiskFault when a read fails.
 */
export function readLog(options: ReadOptions): ReadLog {
  const { disk, folder, storeId, replay, start, until, onEncoded } = options;
  const log = `${folder}/${LOG_FOLDER}`;
  const places = placesFrom(log, findSegments(disk, folder), start);
  const scan = new LogScan(storeId, replay, start, onEncoded);
  let newest: ReadSegment | null = null;
  let memory: Buffer | undefined;
  let validBytes = 0;
  let segments = 0;
  for (const place of places) {
    if (until !== undefined && scan.sequence >= until) break;
    const name = segmentName(place);
    const path = `${log}/${name}`;
    memory = readFileNow(disk, path, memory);
    const segment = { path, place, bytes: memory, newest: place === places.at(-1) };
    const extent = scan.segment(segment, until);
    if (segment.newest && until === undefined) scan.end(segment, extent);
    validBytes += extent.validBytes;
    segments += 1;
    newest = { ...extent, name, bytes: memory };
    options.onSegment?.(newest);
    options.onProgress?.(segments, places.length);
  }
  return { scan, segments, validBytes, newest };
}

/**
 * @param folder - The data folder.
 * @returns The segments in order of number. @throws LogCorrupt for a segment with an invalid name.
 */
export function findSegments(disk: ReadDisk, folder: string): SegmentPlace[] {
  const log = `${folder}/${LOG_FOLDER}`;
  const places: SegmentPlace[] = [];
  for (const name of namesIn(disk, log)) {
    if (!name.endsWith(SEGMENT_SUFFIX)) continue;
    const place = parseSegmentName(name);
    if (place === null) {
      throw new LogCorrupt(`${log}/${name}`, 0, "the name of a segment", `"${name}"`);
    }
    places.push(place);
  }
  return places.sort((a, b) => a.number - b.number || a.firstSequence - b.firstSequence);
}

/** @returns The segment that contains the record, if any: the last that begins at or before it. */
export function segmentOf(
  places: readonly SegmentPlace[],
  sequence: number,
): SegmentPlace | undefined {
  return places.findLast(({ firstSequence }) => firstSequence <= sequence);
}

/**
 * @returns The segment where a reader begins. It holds the last record before the start, as a proof
 * of one log for both; or it is the first segment and begins right after that record, as after a
 * repair.
 */
function firstSegment(
  places: readonly SegmentPlace[],
  start: LogStart | null,
): SegmentPlace | undefined {
  const [first] = places;
  if (start === null) return first;
  const isNext = first?.firstSequence === start.sequence + 1;
  return segmentOf(places, start.sequence) ?? (isNext ? first : undefined);
}

function placesFrom(
  log: string,
  places: readonly SegmentPlace[],
  start: LogStart | null,
): readonly SegmentPlace[] {
  if (start === null) return places;
  const first = firstSegment(places, start);
  if (first !== undefined) return places.slice(places.indexOf(first));
  const found = places[0] === undefined ? "no segment" : `${segmentName(places[0])} as the first`;
  throw new LogCorrupt(log, 0, `a segment with record ${start.sequence}`, found);
}

// Checks the bytes of segments and replays their records. No I/O. It distinguishes the torn end of
// a log, which was never acknowledged, from damage to acknowledged records.

const ZEROS = Buffer.alloc(64 * 1024);
const FLAGS_ALL = FrameFlag.EPOCH_START | FrameFlag.IDLE_MARKER | FrameFlag.CLEAN_SHUTDOWN;

/** A segment in memory, or a part of it. */
interface SegmentBytes {
  readonly path: string;
  /** From the file name. */
  readonly place: SegmentPlace;
  readonly bytes: Buffer;
  /** Offset of `bytes` in the segment; 0 if missing. */
  readonly from?: number;
  /** Only the newest segment may end torn. */
  readonly newest: boolean;
}

/** A record, and the chain of the frame whose last record it is. */
export interface ChainMark {
  readonly sequence: number;
  readonly chain: Uint8Array;
}

/** Start of a reader of the log: after the records in a snapshot. */
export interface LogStart {
  /** Records up to this one are not replayed. */
  readonly sequence: number;
  /** Proves that log and snapshot belong together; at or after `sequence`. */
  readonly mark: ChainMark;
}

/** The parts of a segment, in bytes. */
interface SegmentExtent {
  /** Up to the end of the last valid frame. */
  readonly validBytes: number;
  /** From there to the last byte that is not zero: an incomplete frame. */
  readonly tornBytes: number;
}

/**
 * Reads segments in order and tracks what links them: number, epoch, sequence number, chain. Every
 * failed check throws `LogCorrupt`. With a start, the header of the first segment is trusted until
 * the mark of the start proves it.
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
  /** Records that were replayed. */
  recordCount = 0;
  chain: Uint8Array;
  /** Milliseconds since 1970: the time of the last record. */
  timeMs = 0;
  /** True when the last frame marks a clean shutdown, and for an empty log. */
  clean = true;
  readonly #replay: Replay;
  readonly #onEncoded: OnEncoded | undefined;
  /** True in the first segment of an epoch. */
  #opensEpoch = false;

  /** @param onEncoded - Gets the batches after the start in place of `replay`, which decodes them. */
  constructor(
    storeId: string,
    replay: Replay,
    start: LogStart | null = null,
    onEncoded?: OnEncoded,
  ) {
    this.storeId = storeId;
    this.#onEncoded = onEncoded;
    this.start = start;
    this.chain = chainOfStore(storeId);
    this.#replay = (sequence, timeMs, record) => {
      this.sequence = sequence;
      this.timeMs = timeMs;
      if (start !== null && sequence <= start.sequence) return;
      this.recordCount += 1;
      replay(sequence, timeMs, record);
    };
  }

  /** Reads the header block of a segment. */
  open(segment: SegmentBytes): void {
    atOffset(segment, 0, () => this.#checkPlace(segment));
  }

  /**
   * Reads a frame of the segment that was opened; the frame must be known to be on disk.
   * @param at - Offset of the frame in the segment.
   * @returns The offset of its end; null when there is no frame.
   */
  frame(segment: SegmentBytes, at: number): number | null {
    const header = readFrameHeader(segment.bytes, at - (segment.from ?? 0));
    if (header === null) return null;
    const end = this.#readFrame(segment, at, header);
    if (end !== null) return end;
    throw new LogCorrupt(segment.path, at, "a frame", "one with broken records");
  }

  /**
   * Reads a whole segment.
   * @param until - A sequence number that is on disk. Nothing after its frame is read, because that
   * may still be being written.
   * Cost: O(bytes of the segment).
   */
  segment(segment: SegmentBytes, until = Infinity): SegmentExtent {
    this.open(segment);
    let at = SEGMENT_HEADER_BYTES;
    while (this.sequence < until) {
      const header = readFrameHeader(segment.bytes, at);
      const end = header === null ? null : this.#readFrame(segment, at, header);
      if (end === null) return this.#end(segment, at, header);
      at = end;
    }
    return { validBytes: at, tornBytes: 0 };
  }

  /**
   * To be called after the last segment. The records of the snapshot were durable, so a log that
   * does not reach its mark has lost some.
   */
  end(segment: SegmentBytes, extent: SegmentExtent): void {
    if (this.start === null) return;
    const { sequence } = this.start.mark;
    atOffset(segment, extent.validBytes, () => {
      ensure(this.sequence >= sequence, `record ${this.sequence + 1} of ${sequence}`, "no more");
    });
  }

  #checkPlace(segment: SegmentBytes): void {
    const { place } = segment;
    const header = decodeSegmentHeader(segment.bytes);
    if (this.number === 0) {
      if (this.start !== null) this.#beginAt(segment, header);
      else this.sequence = baseOfCell(cellOf(place.firstSequence));
    }
    ensure(place.number === this.number + 1, `segment ${this.number + 1}`, `${place.number}`);
    ensure(header.storeId === this.storeId, `store ${this.storeId}`, header.storeId);
    ensure(header.number === place.number, `segment ${place.number}`, `${header.number}`);
    const first = this.sequence + 1;
    ensure(place.firstSequence === first, `sequence ${first}`, `${place.firstSequence}`);
    ensure(header.firstSequence === first, `sequence ${first}`, `${header.firstSequence}`);
    this.#opensEpoch = header.epoch !== this.epoch || this.number === 0;
    const epoch = this.#opensEpoch ? this.epoch + 1 : this.epoch;
    ensure(header.epoch === epoch, `epoch ${epoch}`, `${header.epoch}`);
    ensureChain(this.chain, header.chain);
    // Nothing is written after a clean end, so the next segment opens an epoch.
    if (!this.#opensEpoch) ensure(!this.clean, "no segment after a clean end", "one");
    this.number = header.number;
    this.epoch = header.epoch;
    if (this.#opensEpoch) this.clean = false;
  }

  /** Continues from the position that the header of the first segment names. */
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
    // The log has none of the snapshot's records, so its first header must have the chain.
    ensureChain(mark.chain, header.chain);
    this.lastMark = mark;
  }

  /** An intact header that is out of place is damage: no torn write makes one. */
  #checkHeader(header: FrameHeader, at: number): void {
    const { flags } = header;
    ensure(!this.clean, "nothing after a clean end", "a frame");
    ensureFormat(FORMATS.log, header.version);
    ensure(header.offset === at, `a frame of byte ${at}`, `one of byte ${header.offset}`);
    ensure(header.epoch === this.epoch, `epoch ${this.epoch}`, `${header.epoch}`);
    const first = this.sequence + 1;
    ensure(header.firstSequence === first, `sequence ${first}`, `${header.firstSequence}`);
    const durable = header.durableSequence;
    ensure(durable <= this.sequence, `a durable mark up to ${this.sequence}`, `${durable}`);
    ensure((flags & ~FLAGS_ALL) === 0, "known flags", `${flags}`);
    ensure(flags === 0 || header.recordCount === 0, "no records in a marker", "some");
    const opens = this.#opensEpoch && at === SEGMENT_HEADER_BYTES;
    const startsEpoch = (flags & FrameFlag.EPOCH_START) !== 0;
    ensure(opens === startsEpoch, "the start of an epoch at its first frame only", "otherwise");
    ensure(header.frameBytes >= FRAME_HEADER_BYTES, "a whole header", `${header.frameBytes} bytes`);
  }

  /** @returns The offset of the frame's end; null when the frame is not whole and intact. */
  #readFrame(segment: SegmentBytes, at: number, header: FrameHeader): number | null {
    const { path, bytes, from = 0 } = segment;
    const end = at + padToSector(header.frameBytes);
    const frame = bytes.subarray(at - from, end - from);
    return atOffset({ path }, at, () => {
      this.#checkHeader(header, at);
      if (end - from > bytes.length || !payloadIsIntact(frame)) return null;
      ensureChain(chainAfter(frame, header.frameBytes, this.chain), readChain(frame));
      this.#decode(frame.subarray(FRAME_HEADER_BYTES, header.frameBytes), header);
      this.chain = Buffer.from(readChain(frame));
      if (header.recordCount > 0) this.#reachMark({ sequence: this.sequence, chain: this.chain });
      this.clean = (header.flags & FrameFlag.CLEAN_SHUTDOWN) !== 0;
      return end;
    });
  }

  /** The records of a frame that the start contains are not needed: the checks above are enough. */
  #decode(records: Buffer, { firstSequence, recordCount }: FrameHeader): void {
    const last = firstSequence + recordCount - 1;
    const isInStart = this.start !== null && recordCount > 0 && last <= this.start.sequence;
    if (isInStart || this.#onEncoded !== undefined) this.sequence = last;
    if (isInStart) return;
    const isRead = this.#onEncoded !== undefined && recordCount > 0;
    if (isRead) this.#onEncoded(records, firstSequence, recordCount);
    else decodeRecords(records, firstSequence, recordCount, this.#replay);
  }

  #reachMark(reached: ChainMark): void {
    const before = this.lastMark?.sequence ?? 0;
    this.lastMark = reached;
    const mark = this.start?.mark;
    if (mark === undefined || mark.sequence <= before || mark.sequence > reached.sequence) return;
    const wanted = `a batch up to record ${mark.sequence}, as the snapshot says`;
    ensure(mark.sequence === reached.sequence, wanted, `one up to ${reached.sequence}`);
    ensureChain(mark.chain, reached.chain);
  }

  /**
   * No valid frame starts at `at`: this is the end of the segment, a torn frame, or damage.
   * @param header - Of the broken frame; null when the header is not intact either.
   */
  #end(segment: SegmentBytes, at: number, header: FrameHeader | null): SegmentExtent {
    const tornBytes = bytesInUse(segment.bytes, at) - at;
    const opening = this.#opensEpoch && at === SEGMENT_HEADER_BYTES;
    if (tornBytes === 0 && !opening) return { validBytes: at, tornBytes };
    atOffset(segment, at, () => {
      const found = header === null ? "other bytes" : "one with broken records";
      ensure(!opening, "the first frame of an epoch", found);
      ensure(segment.newest, "a frame or zeros", `${found}, and later segments`);
      ensure(!this.clean, "zeros after a clean end", found);
      const later = this.#laterFrame(segment.bytes, at, header);
      ensure(later === null, "a frame", `${found}, and a later frame at byte ${later}`);
    });
    return { validBytes: at, tornBytes };
  }

  /**
   * A frame is written only when all frames before it are on disk, so any intact header after a
   * broken frame proves that the broken frame was acknowledged.
   * @returns The offset of such a header; null when there is none.
   */
  #laterFrame(bytes: Buffer, brokenAt: number, broken: FrameHeader | null): number | null {
    // Records may contain any bytes, so the inside of a frame of known length is not searched.
    let at = brokenAt + (broken === null ? SECTOR_BYTES : padToSector(broken.frameBytes));
    for (; at < bytes.length; at += SECTOR_BYTES) {
      const later = readFrameHeader(bytes, at);
      if (later === null || later.offset !== at || later.epoch !== this.epoch) continue;
      if (later.firstSequence > this.sequence || later.durableSequence > this.sequence) return at;
    }
    return null;
  }
}

/** @returns The offset after the last byte that is not zero, at least `start`. Cost: O(zeros). */
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

/** Turns a `Malformed` into a `LogCorrupt` that names the segment and the offset. */
function atOffset<T>({ path }: Pick<SegmentBytes, "path">, offset: number, check: () => T): T {
  try {
    return check();
  } catch (error) {
    only(error, Malformed);
    throw new LogCorrupt(path, offset, error.expected, error.found);
  }
}

function ensure(fact: boolean, expected: string, found: string): void {
  if (!fact) throw new Malformed(expected, found);
}

function ensureChain(expected: Uint8Array, found: Uint8Array): void {
  if (Buffer.compare(expected, found) === 0) return;
  throw new Malformed(`chain ${hex(expected)}`, hex(found));
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

/**
 * A start without a chain to check: its mark is after the end of every log.
 * @param sequence - The last record before the start.
 */
export function startUnverified(sequence: number): LogStart {
  return { sequence, mark: { sequence: Infinity, chain: Buffer.alloc(0) } };
}

/**
 * Start of reading with `place` as the first segment on disk: null for the beginning of the log;
 * else a later segment, whose chain cannot be verified because its predecessor is gone.
 */
export function startOfFirst({ number, firstSequence }: SegmentPlace): LogStart | null {
  return number === 1 ? null : startUnverified(firstSequence - 1);
}

// Reads a log that is still being written, each record once: from where the reader last stopped to
// a record that is known to be on disk. Changes nothing on disk.

/** Bytes that are read ahead. */
const STEP_BYTES = 1024 * 1024;

export interface FollowOptions extends StorePlace<ReadDisk>, Pick<ReadOptions, "start" | "replay"> {
  /** As in `LogScan`. */
  readonly onEncoded?: OnEncoded;
}

/** The segment that is being read. Only the next frame, or what was read ahead, is in memory. */
interface Open extends SegmentBytes {
  readonly file: ReadFile;
  /** A segment of a host that follows grows. */
  sizeBytes: number;
  bytes: Buffer;
  from: number;
  /** Offset of the next frame in the segment. */
  at: number;
}

export class LogFollower {
  readonly #options: FollowOptions;
  readonly #scan: LogScan;
  #segment: Open | null = null;
  #memory: Buffer = Buffer.allocUnsafeSlow(STEP_BYTES);

  constructor(options: FollowOptions) {
    const { storeId, replay, start, onEncoded } = options;
    this.#options = options;
    this.#scan = new LogScan(storeId, replay, start, onEncoded);
  }

  /**
   * Replays the records up to `until`.
   * @param until - The last record of a batch that is on disk.
   * @param onFrame - Called after each frame, with the last record so far and its chain; false ends
   *   the reading there.
   * @throws LogCorrupt on damage, DiskFault when the disk fails; the reader is unusable afterwards.
   * Cost: O(bytes since it last stopped); memory O(bytes of the longest frame).
   */
  read(until: number, onFrame: (reached: ChainMark | null) => boolean = () => true): void {
    const scan = this.#scan;
    // Bytes after the last frame may have been written meanwhile.
    if (this.#segment !== null) {
      this.#segment.sizeBytes = this.#segment.file.sizeNow();
      this.#forget(this.#segment);
    }
    while (scan.sequence < until) {
      const segment = (this.#segment ??= this.#openNext());
      this.#fillFrame(segment);
      const end = scan.frame(segment, segment.at);
      if (end === null) this.close();
      else {
        segment.at = end;
        if (!onFrame(scan.lastMark)) return;
      }
    }
  }

  close(): void {
    this.#segment?.file.closeNow();
    this.#segment = null;
  }

  #openNext(): Open {
    const { disk, folder } = this.#options;
    const place = this.#nextPlace();
    const path = `${folder}/${LOG_FOLDER}/${segmentName(place)}`;
    const file = disk.openNow(path);
    const sizeBytes = file.sizeNow();
    const at = SEGMENT_HEADER_BYTES;
    const bytes = this.#memory.subarray(0, 0);
    const segment: Open = { path, place, newest: true, file, sizeBytes, bytes, from: 0, at };
    this.#segment = segment;
    // A reader that begins in the middle of a log needs the first frame: it may open an epoch.
    this.#fill(segment, SEGMENT_HEADER_BYTES + FRAME_HEADER_BYTES);
    this.#scan.open(segment);
    return segment;
  }

  #nextPlace(): SegmentPlace {
    const { disk, folder, start } = this.#options;
    const places = findSegments(disk, folder);
    const { number, sequence } = this.#scan;
    const isNext = (place: SegmentPlace) => place.number === number + 1;
    const next = number > 0 ? places.find(isNext) : firstSegment(places, start);
    if (next !== undefined) return next;
    const wanted = number > 0 ? `segment ${number + 1}` : `record ${(start?.sequence ?? 0) + 1}`;
    throw new LogCorrupt(`${folder}/${LOG_FOLDER}`, 0, wanted, `none after record ${sequence}`);
  }

  #fillFrame(segment: Open): void {
    const { at } = segment;
    this.#fill(segment, at + FRAME_HEADER_BYTES);
    const header = readFrameHeader(segment.bytes, at - segment.from);
    if (header !== null) this.#fill(segment, at + padToSector(header.frameBytes));
  }

  /** Forgets all bytes. Those from the next frame on will be read again. */
  #forget(segment: Open): void {
    segment.from = segment.at;
    segment.bytes = this.#memory.subarray(0, 0);
  }

  /** Reads the next frame up to an offset, or to the end of the segment, and some bytes more. */
  #fill(segment: Open, wantedEnd: number): void {
    const { file, path, sizeBytes } = segment;
    const end = Math.min(wantedEnd, sizeBytes);
    if (end <= segment.from + segment.bytes.length) return;
    if (end > segment.from + this.#memory.length) {
      this.#forget(segment);
      const roomBytes = Math.max(STEP_BYTES, end - segment.from);
      if (this.#memory.length !== roomBytes) this.#memory = Buffer.allocUnsafeSlow(roomBytes);
    }
    let readBytes = segment.bytes.length;
    while (segment.from + readBytes < end) {
      const room = this.#memory.subarray(readBytes, sizeBytes - segment.from);
      const count = file.readNow(room, segment.from + readBytes);
      if (count === 0) throw new LogCorrupt(path, segment.from + readBytes, "more bytes", "none");
      readBytes += count;
    }
    segment.bytes = this.#memory.subarray(0, readBytes);
  }
}
