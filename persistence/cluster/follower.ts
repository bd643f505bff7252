/**
 * Reads the frames of the leader from etcd, in order and each once: first the present ones,
 * then by a watch. A watch may be ended by etcd at any time, so its end is never taken
 * for the end of the log: a host about to lead reads to the end once more.
 */
import { assert } from "../../engine/assert.ts";
import type { Clock } from "../../engine/ports.ts";
import type { Scheduler } from "../disk/clock.ts";
import type { Disk, DiskFile, Done } from "../disk/disk.ts";
import { type DiskFault, LogCorrupt, only, type StoreFault } from "../disk/faults.ts";
import { OtherFormat } from "../disk/formats.ts";
import { readFileNow, TEMPORARY_SUFFIX, writeAllNow, writeAllThrough } from "../disk/transfer.ts";
import {
  chainAfter,
  encodeSegmentHeader,
  FRAME_HEADER_BYTES,
  type FrameHeader,
  type FramePlace,
  padToSector,
  parseSegmentName,
  readChain,
  readFrameHeader,
  SEGMENT_HEADER_BYTES,
  segmentName,
  type SegmentPlace,
} from "../log/frame.ts";
import type { ChainMark, LogScan, ReadSegment } from "../log/log-reader.ts";
import type { OnBatch } from "../log/log-writer.ts";
import { activate } from "../log/segments.ts";
import {
  type CellKeys,
  comparePlaces,
  type Etcd,
  type KeyValue,
  type RangeRequest,
  type RangeResult,
  type WatchEvent,
} from "./etcd.ts";
import { EtcdIsBehind, EtcdRefused, NotOfThisCell, TooFarBehind } from "./options.ts";

/** Frames per page: 1 MiB each at most, and perhaps parts. */
const PAGE_KEYS = 16;
const READ_DEADLINE_MS = 2_000;
const RETRY_DELAY_MS = 200;
/** Backlog for the disk; a larger one ends the watch until it is written. */
const WAITING_BYTES_MAX = 64 * 1024 * 1024;

export interface FollowerOptions {
  readonly etcd: Etcd;
  readonly keys: CellKeys;
  readonly scheduler: Scheduler;
  readonly log: FollowedLog;
  /** The data folder, for messages. */
  readonly folder: string;
  /** Start of the log in etcd, and the chain there. */
  readonly base: LogBase;
  /** This host has come to the end of the log. */
  readonly onCaughtUp: () => void;
  /** Called at most once; nothing is followed afterwards. */
  readonly onFault: (fault: StoreFault) => void;
}

export interface LogBase extends FramePlace {
  /** Hexadecimal. */
  readonly chain: string;
}

export class Follower {
  readonly #options: FollowerOptions;
  #cancelWatch: (() => void) | null = null;
  /** Frames with parts are read one by one, so later events wait. */
  #events: KeyValue[] = [];
  #isTaking = false;
  /** Every answer to an earlier round is ignored. */
  #round = 0;
  /** A frame was taken, so this log and the one in etcd are the same. */
  #hasTaken = false;
  #isStopped = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  /** Follows until it is stopped. */
  start(): void {
    this.#restart(0);
  }

  /**
   * Stops following, reads to the end of the log, and calls back when all of it is on disk.
   * To be called when nobody else can append.
   */
  finish(done: () => void): void {
    this.#endWatch();
    const round = ++this.#round;
    this.#readPages(round, () => {
      this.#options.log.whenIdle(done);
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#round += 1;
    this.#endWatch();
  }

  /** Reads the present frames, then watches. */
  #restart(delayMs: number): void {
    this.#endWatch();
    const round = ++this.#round;
    this.#options.scheduler.later(delayMs, () => {
      if (round !== this.#round) return;
      this.#readPages(round, (revision) => {
        this.#options.onCaughtUp();
        this.#watch(revision + 1);
      });
    });
  }

  #endWatch(): void {
    this.#cancelWatch?.();
    this.#cancelWatch = null;
    this.#events = [];
    this.#isTaking = false;
  }

  /** Linearizable: a restarted member may answer from the past. */
  #readPages(round: number, done: (revision: number) => void): void {
    const { keys, log } = this.#options;
    const request = { ...keys.logsFrom(log.end), limit: PAGE_KEYS };
    this.#read(request, round, ({ pairs, more, revision }) => {
      const next = () => {
        if (more) this.#whenRoom(round, () => this.#readPages(round, done));
        else done(revision);
      };
      if (pairs.length > 0) this.#takeAll(pairs, round, next);
      else this.#checkEnd(round, () => done(revision));
    });
  }

  #whenRoom(round: number, go: () => void): void {
    const { log } = this.#options;
    if (log.waitingBytes <= WAITING_BYTES_MAX) return go();
    log.whenIdle(() => {
      if (round === this.#round) go();
    });
  }

  /** No frame follows the end of this host's log: then its last frame must be the last one. */
  #checkEnd(round: number, done: () => void): void {
    const { keys, log } = this.#options;
    const request = { ...keys.logsBefore(log.end), limit: 1, descending: true };
    this.#read(request, round, ({ pairs: [last] }) => {
      const fault = this.#faultOfEnd(last);
      if (fault === null) done();
      else this.#fail(fault);
    });
  }

  #faultOfEnd(last: KeyValue | undefined): StoreFault | null {
    const { log, base, folder, keys } = this.#options;
    const ours = Buffer.from(log.chain).toString("hex");
    if (last === undefined) {
      const order = comparePlaces(log.end, base);
      if (order === 0 && ours === base.chain) return null;
      const behind = new TooFarBehind(folder, "it ends before the log in etcd begins");
      return order < 0 ? behind : new EtcdIsBehind(folder);
    }
    const place = keys.placeOf(last.key)!;
    const header = readFrameHeader(last.value, 0);
    const offset = place.offset + padToSector(header?.frameBytes ?? 0);
    const order = comparePlaces(log.end, { number: place.number, offset });
    if (order === 0 && readChain(last.value).toString("hex") === ours) return null;
    if (order > 0) return new EtcdIsBehind(folder);
    return new NotOfThisCell(folder, "it has records that the cluster never acknowledged");
  }

  #watch(startRevision: number): void {
    const { etcd, keys } = this.#options;
    const round = this.#round;
    const isOver = () => round !== this.#round;
    this.#cancelWatch = etcd.watch({
      ...keys.logs,
      startRevision,
      onEvents: (events) => {
        if (!isOver()) this.#hear(events);
      },
      onEnd: () => {
        if (!isOver()) this.#restart(RETRY_DELAY_MS);
      },
    });
  }

  #hear(events: readonly WatchEvent[]): void {
    for (const event of events) if (event.kind === "put") this.#events.push(event.pair);
    if (!this.#isTaking) this.#takeEvents();
  }

  #takeEvents(): void {
    const pairs = this.#events;
    this.#isTaking = pairs.length > 0;
    if (!this.#isTaking) return;
    this.#events = [];
    this.#takeAll(pairs, this.#round, () => {
      if (this.#options.log.waitingBytes <= WAITING_BYTES_MAX) return this.#takeEvents();
      this.#endWatch();
      const round = this.#round;
      this.#whenRoom(round, () => this.#restart(0));
    });
  }

  #takeAll(pairs: readonly KeyValue[], round: number, done: () => void): void {
    for (const [index, pair] of pairs.entries()) {
      const place = this.#options.keys.placeOf(pair.key);
      // Put twice: the first put was acknowledged, and trimmed since.
      if (place === null || comparePlaces(place, this.#options.log.end) < 0) continue;
      const bytes = padToSector(readFrameHeader(pair.value, 0)?.frameBytes ?? 0);
      if (pair.value.length < bytes) {
        const rest = pairs.slice(index + 1);
        return this.#takeLong(pair, { place, bytes, round }, () =>
          this.#takeAll(rest, round, done),
        );
      }
      if (!this.#take(pair.value, place)) return;
    }
    done();
  }

  #takeLong(
    { value }: KeyValue,
    { place, bytes, round }: { place: FramePlace; bytes: number; round: number },
    done: () => void,
  ): void {
    const { keys, folder } = this.#options;
    this.#read({ ...keys.parts(place), limit: 0 }, round, ({ pairs }) => {
      const frame = Buffer.concat([value, ...pairs.map((part) => part.value)]);
      if (frame.length !== bytes) {
        return this.#fail(new TooFarBehind(folder, "etcd no longer has all parts of a frame"));
      }
      if (this.#take(frame, place)) done();
    });
  }

  /** @returns True for the next frame. */
  #take(frame: Buffer, place: FramePlace): boolean {
    const { log, folder } = this.#options;
    const isAtEnd = comparePlaces(place, log.end) === 0;
    if (!(isAtEnd && this.#hasTaken) && !log.isNext(frame, place)) {
      this.#fail(
        isAtEnd
          ? new NotOfThisCell(folder, "it has records that the cluster never acknowledged")
          : new TooFarBehind(folder, "etcd no longer has the frames that follow it"),
      );
      return false;
    }
    this.#hasTaken = true;
    try {
      log.accept(frame, place);
      return true;
    } catch (error) {
      only(error, LogCorrupt, OtherFormat);
      this.#fail(error);
      return false;
    }
  }

  /** Asks until there is an answer. */
  #read(request: RangeRequest, round: number, done: (result: RangeResult) => void): void {
    const { etcd, scheduler } = this.#options;
    const isOver = () => round !== this.#round;
    etcd.range(request, READ_DEADLINE_MS, (reply) => {
      if (isOver()) return;
      if (reply.kind === "done") return done(reply.value);
      if (reply.kind === "refused") {
        return this.#fail(new EtcdRefused("read the log", reply.reason));
      }
      scheduler.later(RETRY_DELAY_MS, () => {
        if (!isOver()) this.#read(request, round, done);
      });
    });
  }

  #fail(fault: StoreFault): void {
    assert(!this.#isStopped, "a follower that has stopped does not fail");
    this.stop();
    this.#options.onFault(fault);
  }
}

// The log of a standby: takes the frames of the leader in order, checks them, applies
// their records, and writes them to `wal/` at the same places. So the files of all hosts have the
// same frames, and whatever reads a log reads this one.

export interface FollowedLogOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  /** The folder of the segments. */
  readonly folder: string;
  readonly storeId: string;
  /** Has read the whole log on disk. Its replay applies all later records. */
  readonly scan: LogScan;
  /** The newest segment as it was read, without a torn end; null when there is none. */
  readonly newest: Pick<ReadSegment, "name" | "validBytes"> | null;
  /** Called when frames are on disk. */
  readonly onDurable: (sequence: number) => void;
  readonly onBatch?: OnBatch | undefined;
  /** Called at most once: nothing is written afterwards. */
  readonly onFault: (fault: DiskFault) => void;
}

/** A checked and applied frame, not yet on disk. */
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

  /** Place after the last accepted frame. */
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

  /** Of the last applied record. */
  get sequence(): number {
    return this.#scan.sequence;
  }

  /** Bytes of the followed frames. */
  get bytes(): number {
    return this.#bytes;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** True when place, record and chain continue the log. */
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
   * Copies the newest segment to a writable file: an existing one is opened for reading
   * only, and its bytes may be in the page cache alone.
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
