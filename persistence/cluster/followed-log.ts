/**
 * The log of a host that follows: takes the frames of the leader in order, checks them, applies
 * their records, and writes them to `wal/` at the same places. So the files of all hosts have the
 * same frames, and whatever reads a log reads this one.
 */
import type { Clock } from "../../engine/ports.ts";
import { assert } from "../../engine/assert.ts";
import type { Disk, DiskFile, Done } from "../disk/disk.ts";
import type { DiskFault } from "../disk/faults.ts";
import { readFileNow, TEMPORARY_SUFFIX, writeAllNow, writeAllThrough } from "../disk/transfer.ts";
import {
  chainAfter,
  FRAME_HEADER_BYTES,
  type FrameHeader,
  type FramePlace,
  readChain,
  readFrameHeader,
} from "../log/frame.ts";
import type { ReadSegment } from "../log/read-log.ts";
import type { ChainMark, LogScan } from "../log/scan.ts";
import {
  encodeSegmentHeader,
  parseSegmentName,
  SEGMENT_HEADER_BYTES,
  type SegmentPlace,
  segmentName,
} from "../log/segment-header.ts";
import { activate } from "../log/segments.ts";
import type { OnBatch } from "../log/log-writer.ts";

export interface FollowedLogOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  /** The folder of the segments. */
  readonly folder: string;
  readonly storeId: string;
  /** Has read the whole log on disk. Its replay applies what is followed from now on. */
  readonly scan: LogScan;
  /** The newest segment as it was read, without a torn end; null when there is none. */
  readonly newest: Pick<ReadSegment, "name" | "validBytes"> | null;
  /** Called when frames are on disk. */
  readonly onDurable: (sequence: number) => void;
  readonly onBatch?: OnBatch | undefined;
  /** Called at most once: nothing is written afterwards. */
  readonly onFault: (fault: DiskFault) => void;
}

/** A frame that is checked and applied, and waits for the disk. */
interface Waiting {
  readonly place: SegmentPlace;
  readonly offset: number;
  /** From the beginning of the segment when the frame opens one. */
  readonly bytes: Buffer;
  /** The log after the frame. */
  readonly end: FramePlace;
  readonly sequence: number;
  readonly mark: ChainMark | null;
  readonly frame: Buffer;
  readonly header: FrameHeader;
}

/**
 * Ordering: each frame is on disk before the next one is written, as in the log of the leader. So
 * the files are always a prefix of the log, and the end of a torn write can be told from damage.
 */
export class FollowedLog {
  readonly #options: FollowedLogOptions;
  readonly #scan: LogScan;
  #file: DiskFile | null = null;
  #segment: SegmentPlace | null = null;
  #end: FramePlace;
  #synced: FramePlace;
  #mark: ChainMark | null;
  #bytes = 0;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #isWriting = false;
  #hasFailed = false;
  #onIdle: (() => void) | null = null;

  constructor(options: FollowedLogOptions) {
    const { scan, newest } = options;
    this.#options = options;
    this.#scan = scan;
    this.#mark = scan.lastMark;
    if (newest !== null) this.#reopen(newest);
    this.#end = { number: scan.number, offset: newest?.validBytes ?? 0 };
    this.#synced = this.#end;
  }

  /** The place after the last frame that was accepted. */
  get end(): FramePlace {
    return this.#end;
  }

  /** The place after the last frame on this host's disk. */
  get synced(): FramePlace {
    return this.#synced;
  }

  /** The last batch on this host's disk. */
  get mark(): ChainMark | null {
    return this.#mark;
  }

  get chain(): Uint8Array {
    return this.#scan.chain;
  }

  /** Of the last record that was applied. */
  get sequence(): number {
    return this.#scan.sequence;
  }

  /** Bytes of the frames that were followed. */
  get bytes(): number {
    return this.#bytes;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** Whether the frame is the next one: its place, its record and its chain continue the log. */
  isNext(frame: Buffer, place: FramePlace): boolean {
    const { number, offset } = this.#end;
    const header = readFrameHeader(frame, 0);
    if (header === null || header.firstSequence !== this.#scan.sequence + 1) return false;
    const isSame = place.number === number && place.offset === offset;
    const isOpening = place.number === number + 1 && place.offset === SEGMENT_HEADER_BYTES;
    if (!isSame && !isOpening) return false;
    const chain = chainAfter(frame, header.frameBytes, this.#scan.chain);
    return Buffer.compare(chain, readChain(frame)) === 0;
  }

  /**
   * Takes the next frame.
   * @param frame - The whole frame; kept until it is on disk.
   * @throws LogCorrupt when it is damaged or not the next one.
   */
  accept(frame: Buffer, place: FramePlace): void {
    const header = readFrameHeader(frame, 0);
    assert(header !== null && !this.#hasFailed, "a frame has an intact header");
    const isOpening = place.number !== this.#scan.number;
    const waiting = isOpening ? this.#open(frame, header) : this.#next(frame, header);
    this.#end = waiting.end;
    this.#bytes += frame.length;
    this.#waiting.push(waiting);
    this.#waitingBytes += waiting.bytes.length;
    if (!this.#isWriting) this.#write();
  }

  /** Calls back once everything accepted is on disk. */
  whenIdle(done: () => void): void {
    assert(this.#onIdle === null, "one caller waits");
    if (!this.#isWriting && this.#waiting.length === 0) done();
    else this.#onIdle = done;
  }

  /** Closes its file; everything accepted must be on disk. */
  close(done: () => void): void {
    assert(!this.#isWriting && this.#waiting.length === 0, "a log is closed when it is idle");
    const file = this.#file;
    this.#file = null;
    if (file === null) done();
    else file.close((fault) => (fault === null ? done() : this.#fail(fault)));
  }

  #next(frame: Buffer, header: FrameHeader): Waiting {
    const { folder } = this.#options;
    const place = this.#segment!;
    const { offset } = this.#end;
    const path = `${folder}/${segmentName(place)}`;
    const end = this.#scan.frame({ path, place, bytes: frame, from: offset, newest: true }, offset);
    return this.#waitingFor({ place, offset, bytes: frame, frame, header }, end!);
  }

  #open(frame: Buffer, header: FrameHeader): Waiting {
    const { epoch } = header;
    const { folder, storeId, clock } = this.#options;
    const scan = this.#scan;
    const place = { number: scan.number + 1, firstSequence: scan.sequence + 1 };
    const log = { storeId, epoch, chain: scan.chain, createdAtMs: clock.nowMs() };
    const bytes = Buffer.concat([encodeSegmentHeader({ ...place, ...log }), frame]);
    const segment = { path: `${folder}/${segmentName(place)}`, place, bytes, newest: true };
    scan.open(segment);
    const end = scan.frame(segment, SEGMENT_HEADER_BYTES);
    this.#segment = place;
    return this.#waitingFor({ place, offset: 0, bytes, frame, header }, end!);
  }

  #waitingFor(part: Omit<Waiting, "end" | "sequence" | "mark">, end: number): Waiting {
    const { sequence, lastMark } = this.#scan;
    assert(end === part.offset + part.bytes.length, "a frame is taken as a whole");
    return { ...part, end: { number: part.place.number, offset: end }, sequence, mark: lastMark };
  }

  #write(): void {
    const next = this.#waiting.shift();
    this.#isWriting = next !== undefined;
    if (next === undefined) {
      const done = this.#onIdle;
      this.#onIdle = null;
      return done?.();
    }
    const done = (fault: DiskFault | null) => {
      if (fault !== null) return this.#fail(fault);
      this.#waitingBytes -= next.bytes.length;
      this.#synced = next.end;
      this.#mark = next.mark;
      this.#show(next);
      this.#options.onDurable(next.sequence);
      this.#write();
    };
    if (next.offset === 0) this.#openFile(next, done);
    else writeAllThrough(this.#file!, next.bytes, next.offset, done);
  }

  #show({ frame, header: { recordCount, firstSequence, frameBytes } }: Waiting): void {
    if (recordCount === 0) return;
    const payload = frame.subarray(FRAME_HEADER_BYTES, frameBytes);
    this.#options.onBatch?.(payload, firstSequence, recordCount);
  }

  #openFile({ place, bytes: head }: Waiting, done: Done): void {
    const { disk, folder } = this.#options;
    const name = segmentName(place);
    const before = this.#file;
    disk.create(`${folder}/${name}${TEMPORARY_SUFFIX}`, (fault, file) => {
      if (file === null) return done(fault);
      this.#file = file;
      activate(disk, { file, bytes: head.length }, { folder, name, head }, (activateFault) => {
        if (activateFault !== null || before === null) done(activateFault);
        else before.close(done);
      });
    });
  }

  /**
   * Copies the newest segment to a file that can be written: an existing one is opened for reading
   * only, and what is read may be in memory alone.
   */
  #reopen({ name, validBytes }: Pick<ReadSegment, "name" | "validBytes">): void {
    const { disk, folder } = this.#options;
    const path = `${folder}/${name}`;
    const bytes = readFileNow(disk, path).subarray(0, validBytes);
    const file = disk.createNow(`${path}${TEMPORARY_SUFFIX}`);
    writeAllNow(file, bytes, 0);
    file.syncNow();
    disk.renameNow(file.path, path);
    disk.syncFolderNow(folder);
    file.path = path;
    this.#file = file;
    this.#segment = parseSegmentName(name);
  }

  #fail(fault: DiskFault): void {
    this.#hasFailed = true;
    this.#options.onFault(fault);
  }
}
