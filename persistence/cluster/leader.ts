/**
 * Makes frames of the leader durable on a majority. Each frame is one key, created only
 * while this host leads and only if nothing is there yet.
 */
import { assert } from "../../engine/assert.ts";
import type { MachineTime, Scheduler } from "../disk/clock.ts";
import type { StoreFault } from "../disk/faults.ts";
import type { FramePlace } from "../log/frame.ts";
import {
  type CellKeys,
  comparePlaces,
  type Etcd,
  EtcdRefusal,
  type Put,
  type TransactionResult,
} from "./etcd.ts";
import { EtcdRefused, LeadershipLost } from "./options.ts";

/** Deadline of one attempt: about one election of etcd. */
const APPEND_DEADLINE_MS = 600;
/** After an attempt without an answer, while a round trip takes longer than that. */
const LATE_DEADLINE_MS = 1_200;
/** A frame without any answer for so long is stuck: another host may do better. */
const STUCK_MS = 3_000;
/** Before another attempt: a stopped member refuses connections at once. */
const RETRY_DELAY_MS = 20;
/** etcd takes requests of 1.5 MiB by default. */
export const PART_BYTES_MAX = 1024 * 1024;

export interface ReplicatorOptions {
  readonly etcd: Etcd;
  readonly time: MachineTime;
  readonly scheduler: Scheduler;
  readonly keys: CellKeys;
  /** The create revision of the leader key. */
  readonly token: number;
  /** Called at most once; nothing is acknowledged afterwards. */
  readonly onFault: (fault: StoreFault) => void;
}

/**
 * Ordering: one frame at a time. An attempt whose outcome is unknown is followed by another with
 * the same bytes: whichever of them is first creates the key, and the others find it. A long frame
 * goes in parts; its first part is put last, so the frame is there as a whole or not at all.
 */
export class Replicator {
  readonly #options: ReplicatorOptions;
  #isBusy = false;
  #isStopped = false;
  #lacksSpace = false;
  #deadlineMs = APPEND_DEADLINE_MS;
  /** Start of the wait for an answer about the frame in flight; null without one. */
  #unheardMs: number | null = null;

  constructor(options: ReplicatorOptions) {
    this.#options = options;
  }

  /**
   * @param frame - Must not change before `done`.
   * @param done - Called once a majority has the frame on disk; never when it is not certain.
   */
  commit(frame: Uint8Array, place: FramePlace, done: () => void): void {
    assert(!this.#isBusy, "one frame is in flight at a time");
    this.#isBusy = true;
    const { keys } = this.#options;
    const puts: Put[] = [];
    for (let at = PART_BYTES_MAX; at < frame.length; at += PART_BYTES_MAX) {
      const key = keys.part(place, at / PART_BYTES_MAX);
      puts.push({ key, value: frame.subarray(at, at + PART_BYTES_MAX), leaseId: null });
    }
    const first = frame.subarray(0, PART_BYTES_MAX);
    puts.push({ key: keys.log(place), value: first, leaseId: null });
    this.#putNext(puts, 0, done);
  }

  /** etcd has said nothing about the frame in flight for a while. */
  get isStuck(): boolean {
    const { time } = this.#options;
    return this.#unheardMs !== null && time.runningMs() - this.#unheardMs > STUCK_MS;
  }

  /** The database of etcd is full, and a frame waits for room. */
  get lacksSpace(): boolean {
    return this.#lacksSpace;
  }

  /** Sends nothing more. */
  stop(): void {
    this.#isStopped = true;
  }

  #putNext(puts: readonly Put[], index: number, done: () => void): void {
    const put = puts[index];
    if (put !== undefined) return this.#put(put, () => this.#putNext(puts, index + 1, done));
    this.#isBusy = false;
    done();
  }

  #put(put: Put, done: () => void): void {
    if (this.#isStopped) return;
    const { etcd, time, keys, token } = this.#options;
    const change = {
      compares: [
        { key: keys.leader, createRevision: token },
        { key: put.key, createRevision: 0 },
      ],
      puts: [put],
      deletes: [],
      otherwiseGet: [keys.leader, put.key],
    };
    const sentMs = time.runningMs();
    this.#unheardMs ??= sentMs;
    etcd.transact(change, this.#deadlineMs, (reply) => {
      if (this.#isStopped) return;
      if (reply.kind === "unknown") {
        this.#deadlineMs = LATE_DEADLINE_MS;
        return this.#again(put, done);
      }
      this.#unheardMs = null;
      if (time.runningMs() - sentMs < APPEND_DEADLINE_MS) this.#deadlineMs = APPEND_DEADLINE_MS;
      if (reply.kind === "refused") {
        // An operator can make room.
        this.#lacksSpace = reply.refusal === EtcdRefusal.NO_SPACE;
        if (this.#lacksSpace) return this.#again(put, done);
        return this.#fail(new EtcdRefused("keep a frame of the log", reply.reason));
      }
      this.#lacksSpace = false;
      const fault = reply.value.isDone ? null : this.#judge(put, reply.value);
      if (fault === null) done();
      else this.#fail(fault);
    });
  }

  #again(put: Put, done: () => void): void {
    this.#options.scheduler.later(RETRY_DELAY_MS, () => this.#put(put, done));
  }

  /** @returns Null when an earlier attempt has put the same bytes, and this host still leads. */
  #judge({ key, value }: Put, { found }: TransactionResult): StoreFault | null {
    const { keys, token } = this.#options;
    const leader = found.find((pair) => pair.key === keys.leader);
    if (leader === undefined) return new LeadershipLost("its lease has ended");
    if (leader.createRevision !== token) return new LeadershipLost("another host leads");
    const there = found.find((pair) => pair.key === key);
    if (there !== undefined && Buffer.compare(there.value, value) === 0) return null;
    return new LeadershipLost("the log in etcd has another frame in the same place");
  }

  #fail(fault: StoreFault): void {
    this.#isStopped = true;
    this.#options.onFault(fault);
  }
}

// The lease of a host in etcd. While it is held, the keys on it exist, so no other host can lead.
// etcd counts the time of a lease from when it receives a keep-alive; this host counts from when it
// sent it, so it stops relying on the lease before etcd lets it end.

/** Keep-alives for each duration of the lease. */
const BEATS = 4;
/** Unheld for this share of the lease, a leader asks before it keeps the lease alive. */
const SILENT_SHARE = 2;
/** Unused share of the lease: the clocks of two machines drift. */
const MARGIN_SHARE = 8;

export interface LeaseOptions {
  readonly etcd: Etcd;
  readonly time: MachineTime;
  readonly scheduler: Scheduler;
  readonly leaseMs: number;
  /** A lease was granted: the first, or one after an expired one. */
  readonly onGranted: (leaseId: string) => void;
  /** The lease has ended: its keys are gone. @returns True to ask for another one. */
  readonly onEnded: () => boolean;
  /** The lease was not certainly held for a while: see `prove`. */
  readonly onLapse: () => void;
  /** This host leads without being able to: the lease is not kept alive. */
  readonly isStuck: () => boolean;
}

export class Lease {
  readonly #options: LeaseOptions;
  #leaseId: string | null = null;
  #heldUntilMs = 0;
  /** Keep-alives sent from this moment on count, also after a lapse. */
  #provenMs = 0;
  #isStopped = false;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /** Null before the first grant and after the end of a lease. */
  get id(): string | null {
    return this.#leaseId;
  }

  /** The lease certainly has not ended yet. */
  get isHeld(): boolean {
    return this.#options.time.runningMs() < this.#heldUntilMs;
  }

  /** Asks for a lease until there is one, and keeps it alive. To be called once. */
  start(): void {
    assert(this.#leaseId === null, "a lease is started once");
    this.#grant();
  }

  /** Keeps it alive no longer. @returns The lease, for the caller to revoke; null for none. */
  stop(): string | null {
    this.#isStopped = true;
    this.#heldUntilMs = 0;
    return this.#leaseId;
  }

  /**
   * To be called when a linearizable call, sent after a lapse, has found a key of the lease.
   *
   * After a lapse a keep-alive alone proves nothing: a paused or cut-off leader of etcd
   * answers it too, although the lease may have ended meanwhile.
   */
  prove(): void {
    this.#provenMs = this.#options.time.runningMs();
  }

  #grant(): void {
    const { etcd, time, leaseMs, onGranted } = this.#options;
    const sentMs = time.runningMs();
    etcd.grant(leaseMs, leaseMs, (reply) => {
      if (this.#isStopped) return;
      if (reply.kind !== "done") return this.#later(leaseMs / BEATS, () => this.#grant());
      this.#leaseId = reply.value.leaseId;
      this.#provenMs = sentMs;
      this.#hold(sentMs, reply.value.ttlMs);
      const { leaseId } = reply.value;
      this.#later(leaseMs / BEATS, () => this.#beat(leaseId));
      onGranted(leaseId);
    });
  }

  /**
   * Keep-alives may arrive although nothing comes back, or nothing but their answers. Then this host
   * would keep a lead that it cannot use: it lets the lease end, unless etcd answers otherwise.
   */
  #beat(leaseId: string): void {
    if (leaseId !== this.#leaseId) return;
    const { leaseMs, isStuck, onLapse } = this.#options;
    this.#later(leaseMs / BEATS, () => this.#beat(leaseId));
    if (isStuck()) return;
    if (this.#isSilent()) onLapse();
    if (!this.#isSilent()) this.#keepAlive(leaseId);
  }

  #keepAlive(leaseId: string): void {
    const { etcd, time, leaseMs } = this.#options;
    const sentMs = time.runningMs();
    etcd.keepAlive(leaseId, leaseMs, (reply) => {
      if (this.#isStopped || leaseId !== this.#leaseId) return;
      if (reply.kind === "refused" && reply.refusal === EtcdRefusal.LEASE_GONE) return this.#end();
      if (reply.kind === "done") this.#hold(sentMs, reply.value.ttlMs);
    });
  }

  #isSilent(): boolean {
    const { time, leaseMs } = this.#options;
    const provenMs = this.#provenMs === Infinity ? 0 : this.#provenMs;
    const heldMs = Math.max(this.#heldUntilMs, provenMs);
    return time.runningMs() - heldMs > leaseMs / SILENT_SHARE;
  }

  #end(): void {
    this.#leaseId = null;
    this.#heldUntilMs = 0;
    if (this.#options.onEnded()) this.#grant();
  }

  #hold(sentMs: number, ttlMs: number): void {
    if (sentMs >= this.#heldUntilMs && sentMs < this.#provenMs) return this.#options.onLapse();
    const untilMs = sentMs + ttlMs - ttlMs / MARGIN_SHARE;
    this.#heldUntilMs = Math.max(this.#heldUntilMs, untilMs);
    this.#provenMs = Infinity;
  }

  #later(delayMs: number, task: () => void): void {
    this.#options.scheduler.later(delayMs, () => {
      if (!this.#isStopped) task();
    });
  }
}

// Removes frames from etcd once two hosts have them on disk, except the newest, and
// compacts.

/** Frames for slow, restarting and joining hosts. */
const KEPT_BYTES = 64 * 1024 * 1024;
/** Retained at most for a copy in progress. */
const KEPT_FOR_COPIES_BYTES = 512 * 1024 * 1024;
/** Frames on one host only stay; beyond this no record is accepted. */
export const RETAINED_BYTES_MAX = 1024 * 1024 * 1024;
/** Less is not worth a compaction: about 20 ms of etcd. */
const STEP_BYTES = 4 * 1024 * 1024;
/** The statuses of the hosts leave old revisions too. */
const STEP_EVERY_MS = 60_000;
const DEADLINE_MS = 5_000;

interface Retained {
  readonly place: FramePlace;
  readonly bytes: number;
}

/** Up to where a host has the log on its disk, and where a copy for another one begins. */
export type Held = FramePlace & { readonly keepFrom?: FramePlace | undefined };

export interface TrimOptions {
  readonly etcd: Etcd;
  readonly keys: CellKeys;
  readonly token: number;
}

export class Trim {
  readonly #options: TrimOptions;
  /** The frames in etcd, the oldest first. */
  #retained: Retained[] = [];
  #retainedBytes = 0;
  #knowsEarlier = false;
  #steppedMs = 0;
  #isBusy = false;

  constructor(options: TrimOptions) {
    this.#options = options;
  }

  /** Bytes of the frames in etcd, as far as they are known. */
  get retainedBytes(): number {
    return this.#retainedBytes;
  }

  /** etcd has room for more frames. */
  get hasRoom(): boolean {
    return this.#retainedBytes < RETAINED_BYTES_MAX;
  }

  /** A frame was put. */
  add(place: FramePlace, bytes: number): void {
    this.#retained.push({ place, bytes });
    this.#retainedBytes += bytes;
  }

  /**
   * Trims. To be called from time to time, after the first frame.
   * @param own - Of this host.
   * @param others - Of all other live hosts.
   */
  step(own: Held, others: readonly Held[], nowMs: number): void {
    if (this.#isBusy) return;
    if (!this.#knowsEarlier) return this.#findEarlier();
    const first = this.#retained[0]!.place;
    const onDisk = lesser(this.#beforeKept(), onTwo(own, others) ?? first);
    const copied = [own, ...others].flatMap(({ keepFrom }) => keepFrom ?? []);
    const hasRoom = this.#retainedBytes < KEPT_FOR_COPIES_BYTES;
    const end = hasRoom ? copied.reduce(lesser, onDisk) : onDisk;
    const bytes = this.#retainedBytes - this.#bytesFrom(end);
    if (bytes < STEP_BYTES && nowMs - this.#steppedMs < STEP_EVERY_MS) return;
    this.#steppedMs = nowMs;
    this.#remove(end);
  }

  /** The frames of earlier leaders. */
  #findEarlier(): void {
    const { etcd, keys } = this.#options;
    const range = keys.logsBefore(this.#retained[0]!.place);
    this.#isBusy = true;
    etcd.range({ ...range, limit: 0, keysOnly: true }, DEADLINE_MS, (reply) => {
      this.#isBusy = false;
      if (reply.kind !== "done") return;
      this.#knowsEarlier = true;
      const places = reply.value.pairs.map(({ key }) => keys.placeOf(key)!);
      const earlier = places.map((place, index) => {
        const next = places[index + 1];
        const isLast = next?.number !== place.number;
        return { place, bytes: isLast ? 0 : next.offset - place.offset };
      });
      for (const { bytes } of earlier) this.#retainedBytes += bytes;
      this.#retained = [...earlier, ...this.#retained];
    });
  }

  /** Start of the frames retained in any case, the last one always included. */
  #beforeKept(): FramePlace {
    let bytes = 0;
    let index = this.#retained.length - 1;
    while (index > 0 && bytes + this.#retained[index]!.bytes < KEPT_BYTES) {
      bytes += this.#retained[index]!.bytes;
      index -= 1;
    }
    return this.#retained[index]!.place;
  }

  #bytesFrom(place: FramePlace): number {
    let bytes = 0;
    for (let index = this.#retained.length - 1; index >= 0; index--) {
      const frame = this.#retained[index]!;
      if (comparePlaces(frame.place, place) < 0) break;
      bytes += frame.bytes;
    }
    return bytes;
  }

  #remove(end: FramePlace): void {
    const { etcd, keys, token } = this.#options;
    const change = {
      compares: [{ key: keys.leader, createRevision: token }],
      puts: [],
      deletes: [keys.logsBefore(end), keys.partsBefore(end)],
      otherwiseGet: [],
    };
    this.#isBusy = true;
    etcd.transact(change, DEADLINE_MS, (reply) => {
      // After any other outcome a later step deletes the same keys again.
      if (reply.kind !== "done" || !reply.value.isDone) {
        this.#isBusy = false;
        return;
      }
      const first = this.#retained.findIndex(({ place }) => comparePlaces(place, end) >= 0);
      for (const { bytes } of this.#retained.splice(0, first)) this.#retainedBytes -= bytes;
      etcd.compact(reply.value.revision, DEADLINE_MS, () => {
        this.#isBusy = false;
      });
    });
  }
}

/** @returns Up to where this host and another one have the log; null when there is no other. */
function onTwo(own: FramePlace, others: readonly FramePlace[]): FramePlace | null {
  const fastest = others.toSorted(comparePlaces).at(-1);
  return fastest === undefined ? null : lesser(own, fastest);
}

function lesser(one: FramePlace, other: FramePlace): FramePlace {
  return comparePlaces(one, other) < 0 ? one : other;
}
