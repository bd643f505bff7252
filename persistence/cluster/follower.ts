/**
 * Reads the frames of the leader from etcd, in order and each once: first those that are there,
 * then by a watch. A watch may be ended by etcd at any time, so what it delivers is never relied on
 * to be the end of the log: a host that is about to lead reads to the end once more.
 */
import { assert } from "../../engine/assert.ts";
import { LogCorrupt, only, type StoreFault } from "../disk/faults.ts";
import { OtherFormat } from "../disk/formats.ts";
import type { Scheduler } from "../disk/scheduler.ts";
import { type FramePlace, padToSector, readChain, readFrameHeader } from "../log/frame.ts";
import type { Etcd, KeyValue, RangeRequest, RangeResult, WatchEvent } from "./etcd.ts";
import { EtcdRefused, NotOfThisCell, TooFarBehind } from "./faults.ts";
import type { FollowedLog } from "./followed-log.ts";
import { type CellKeys, comparePlaces } from "./keys.ts";

/** Frames that are read at a time: each has 1 MiB at most, and perhaps parts. */
const PAGE_KEYS = 16;
const READ_DEADLINE_MS = 2_000;
const RETRY_DELAY_MS = 200;
/** When more waits for the disk, the watch is ended until it is written. */
const WAITING_BYTES_MAX = 64 * 1024 * 1024;

export interface FollowerOptions {
  readonly etcd: Etcd;
  readonly keys: CellKeys;
  readonly scheduler: Scheduler;
  readonly log: FollowedLog;
  /** The data folder, for messages. */
  readonly folder: string;
  /** Where the log in etcd begins, and the chain there. */
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
  /** Frames with parts are read one by one, so events that come meanwhile wait. */
  #events: KeyValue[] = [];
  #isTaking = false;
  /** Every answer to an earlier round is ignored. */
  #round = 0;
  /** Whether a frame was taken: it proves that this log and the one in etcd are the same. */
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
   * Follows no longer, reads everything that is in the log now, and calls back when it is on disk.
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

  /** Reads what is there, then watches. */
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

  /** Linearizable: a member that has just started may answer from the past. */
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
      return order < 0 ? behind : new NotOfThisCell(folder, "etcd has lost the end of its log");
    }
    const place = keys.placeOf(last.key)!;
    const header = readFrameHeader(last.value, 0);
    const endOffset = place.offset + padToSector(header?.frameBytes ?? 0);
    const isEnd = place.number === log.end.number && endOffset === log.end.offset;
    if (isEnd && readChain(last.value).toString("hex") === ours) return null;
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
      // A frame that was put a second time: the first one was acknowledged, and trimmed since.
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

  /** @returns Whether the frame was the next one. */
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
