/**
 * A host of a cluster: follows the leader until it leads itself, and leads until its lease ends.
 *
 * Ordering: a host leads once it has created the leader key, whose create revision is its token.
 * From then on no earlier leader can append, because every append names a token. So this host
 * reads the whole log then, and appends after it.
 */
import { createHash } from "node:crypto";
import type { MachineTime, Scheduler } from "../disk/clock.ts";
import { isInCell, keepClusterCell } from "../disk/data-folder.ts";
import type { Disk } from "../disk/disk.ts";
import { DiskFault, only, type StoreFault } from "../disk/faults.ts";
import type { FramePlace } from "../log/frame.ts";
import {
  CellKeys,
  type Etcd,
  EtcdRefusal,
  type KeyValue,
  type MemberStatus,
  type TransactionResult,
} from "./etcd.ts";
import { type FollowedLog, Follower, type LogBase } from "./follower.ts";
import { Lease, Replicator, Trim } from "./leader.ts";
import {
  CellExists,
  type ClusterOptions,
  type ClusterStatus,
  EtcdRefused,
  HostRole,
  type HostStatus,
  LeadershipLost,
  LEASE_MS,
  NoSuchCell,
  NotOfThisCell,
  OtherSecret,
} from "./options.ts";

const DEADLINE_MS = 2_000;
/** A client waits for the answer. */
const CONFIRM_DEADLINE_MS = 600;
const RETRY_DELAY_MS = 100;
/** Time for a joining host to check its copy and to start. */
const KEEP_MS = 5 * 60_000;
const TEND_EVERY_MS = 1_000;

export interface ClusterHostOptions extends ClusterOptions {
  readonly time: MachineTime;
  readonly scheduler: Scheduler;
  readonly disk: Disk;
  /** The data folder. */
  readonly folder: string;
  readonly storeId: string;
  /** The master secret, shared by all hosts of a cell. */
  readonly secret: string;
  readonly log: FollowedLog;
  /** Called at most once: this host must end. */
  readonly onFault: (fault: StoreFault) => void;
  /** This host leads, and has the whole log on its disk. */
  readonly onLead: () => void;
}

/** The log of the leader, once there is one. */
export interface LeadingLog {
  /** The place after the last frame on this host's disk. */
  readonly place: FramePlace;
  readonly mark: { readonly sequence: number } | null;
}

/** Compared with the key of the leader. */
interface LeaderKey {
  readonly host: string;
  readonly secretMark: string;
}

interface Led {
  readonly token: number;
  readonly replicator: Replicator;
  readonly trim: Trim;
}

export class ClusterHost {
  readonly keys: CellKeys;
  readonly #options: ClusterHostOptions;
  readonly #secretMark: string;
  readonly #lease: Lease;
  readonly #hosts: Hosts;
  readonly #confirmations: Confirmations;
  #follower: Follower | null = null;
  #led: Led | null = null;
  #log: LeadingLog | null = null;
  /** Start of the copies for joining hosts, and until when they may need the rest. */
  #kept: { readonly place: FramePlace; readonly untilMs: number } | null = null;
  #isCaughtUp = false;
  #isCampaigning = false;
  #cancelWatch: (() => void) | null = null;
  readonly #stops: (() => void)[] = [];
  #hasEnded = false;

  constructor(options: ClusterHostOptions) {
    const { leaseMs = LEASE_MS } = options;
    this.#options = options;
    this.#secretMark = markOf(options.secret);
    this.keys = new CellKeys(options.cell);
    this.#hosts = new Hosts({ ...options, keys: this.keys });
    const ask = (leads: () => void, unknown: () => void) =>
      this.#askLeader(CONFIRM_DEADLINE_MS, leads, unknown);
    this.#confirmations = new Confirmations({ ...options, ask });
    this.#lease = new Lease({
      ...options,
      leaseMs,
      onGranted: () => this.#campaign(),
      onEnded: () => this.#leaseEnded(),
      onLapse: () => this.#prove(),
      isStuck: () => this.#led?.replicator.isStuck === true,
    });
  }

  get role(): HostRole {
    if (this.#led === null) return HostRole.STANDBY;
    return this.#log === null ? HostRole.TAKING_OVER : HostRole.LEADER;
  }

  /** True while no other host can lead, so this host's memory is current. */
  get mayRead(): boolean {
    return this.#log !== null && this.#lease.isHeld;
  }

  /** etcd has room for more frames. */
  get hasRoom(): boolean {
    const { trim, replicator } = this.#led!;
    return trim.hasRoom && !replicator.lacksSpace;
  }

  /** As `confirm` of the engine's ports; undefined when the lease is relied on. */
  get confirm(): ((done: () => void) => void) | undefined {
    const { strictReads = false } = this.#options;
    return strictReads ? (done) => this.#confirmations.add(done) : undefined;
  }

  /** To be called once, when the log on disk has been read. */
  start(): void {
    this.#join();
  }

  /** As `commit` of the replicator. To be called from `onLead` on. */
  commit(frame: Uint8Array, place: FramePlace, done: () => void): void {
    const { replicator, trim } = this.#led!;
    replicator.commit(frame, place, () => {
      if (this.#hasEnded) return;
      trim.add(place, frame.length);
      done();
    });
  }

  /** The epoch of this leader is in the log. */
  lead(log: LeadingLog): void {
    this.#log = log;
  }

  status(): ClusterStatus {
    const { cell, host } = this.#options;
    const { role, mayRead } = this;
    const retainedBytes = this.#led?.trim.retainedBytes ?? 0;
    return { cell, host, role, mayRead, retainedBytes, ...this.#hosts.view() };
  }

  keepLog(): void {
    const nowMs = this.#options.time.runningMs();
    const { number, offset } = this.#onDisk;
    const place = this.#keptAt(nowMs) ?? { number, offset };
    this.#kept = { place, untilMs: nowMs + KEEP_MS };
  }

  /** Revokes the lease, so another host leads at once. */
  leave(done: () => void): void {
    const leaseId = this.#end();
    if (leaseId === null) done();
    else this.#options.etcd.revoke(leaseId, DEADLINE_MS, done);
  }

  /**
   * Compares the store with the cell's; a host that founds the cell sets it. No other host does:
   * an etcd without its data would begin again from the end of any of them.
   */
  #join(): void {
    const { etcd, log, storeId, cell, disk, folder, founds = false } = this.#options;
    const base = { ...log.end, chain: Buffer.from(log.chain).toString("hex") };
    const value = Buffer.from(JSON.stringify({ storeId, ...base }));
    const { store } = this.keys;
    const change = {
      compares: [{ key: store, createRevision: 0 }],
      puts: founds ? [{ key: store, value, leaseId: null }] : [],
      deletes: [],
      otherwiseGet: [store],
    };
    etcd.transact(change, DEADLINE_MS, (reply) => {
      if (this.#hasEnded) return;
      if (reply.kind === "unknown") return this.#later(() => this.#join());
      if (reply.kind === "refused") return this.#fail(new EtcdRefused("join", reply.reason));
      const found = reply.value.found[0]?.value;
      if (found === undefined && !founds) {
        return this.#fail(new NoSuchCell(folder, cell, isInCell(disk, folder)));
      }
      // An earlier attempt, whose outcome was unknown, may have succeeded.
      const isOwn = found === undefined || Buffer.compare(found, value) === 0;
      if (founds && !isOwn) return this.#fail(new CellExists(cell));
      this.#follow(found ?? value);
    });
  }

  #follow(stored: Buffer): void {
    const { storeId, disk, folder, cell, scheduler, leaseMs = LEASE_MS } = this.#options;
    const base = JSON.parse(stored.toString("utf8")) as LogBase & { readonly storeId: string };
    if (base.storeId !== storeId) {
      const reason = `the cell has store ${base.storeId}: copy it with \`frontrow join\``;
      return this.#fail(new NotOfThisCell(folder, reason));
    }
    try {
      keepClusterCell(disk, folder, cell);
    } catch (error) {
      only(error, DiskFault);
      return this.#fail(error);
    }
    this.#follower = new Follower({
      ...this.#options,
      keys: this.keys,
      base,
      onCaughtUp: () => {
        this.#isCaughtUp = true;
        this.#campaign();
      },
      onFault: (fault) => this.#fail(fault),
    });
    this.#follower.start();
    this.#lease.start();
    this.#stops.push(
      scheduler.every(TEND_EVERY_MS, () => this.#tend()),
      // The watch of the leader key says it sooner; but a watch may be silent.
      scheduler.every(leaseMs, () => this.#campaign()),
    );
    this.#options.onJoined?.();
  }

  #campaign(): void {
    const { etcd, host, address } = this.#options;
    const leaseId = this.#lease.id;
    if (this.#isCampaigning || this.#led !== null || leaseId === null || !this.#isCaughtUp) return;
    this.#isCampaigning = true;
    const { leader } = this.keys;
    const value = Buffer.from(
      JSON.stringify({ host, address, leaseId, secretMark: this.#secretMark }),
    );
    const change = {
      compares: [{ key: leader, createRevision: 0 }],
      puts: [{ key: leader, value, leaseId }],
      deletes: [],
      otherwiseGet: [leader],
    };
    etcd.transact(change, DEADLINE_MS, (reply) => {
      if (this.#hasEnded) return;
      this.#isCampaigning = false;
      if (reply.kind === "unknown") return this.#later(() => this.#campaign());
      if (reply.kind === "refused") {
        // The lease notices it too, and asks for another one.
        if (reply.refusal === EtcdRefusal.LEASE_GONE) return;
        // A full etcd refuses the question as well as the lead. The next round asks again.
        if (reply.refusal === EtcdRefusal.NO_SPACE) return;
        return this.#fail(new EtcdRefused("lead", reply.reason));
      }
      if (reply.value.isDone) return this.#takeOver(reply.value.revision, value);
      this.#hearLeader(reply.value, value);
    });
  }

  #hearLeader({ found: [leader], revision }: TransactionResult, own: Buffer): void {
    if (leader === undefined) return this.#campaign();
    // An earlier attempt, whose outcome was unknown, has succeeded.
    if (Buffer.compare(leader.value, own) === 0) {
      return this.#takeOver(leader.createRevision, own);
    }
    const told = JSON.parse(leader.value.toString("utf8")) as LeaderKey;
    if (told.secretMark !== this.#secretMark) {
      return this.#fail(new OtherSecret(this.#options.folder, told.host));
    }
    this.#hosts.setLeader(leader.value);
    this.#watchLeader(leader, revision + 1);
  }

  #watchLeader({ key }: KeyValue, startRevision: number): void {
    if (this.#cancelWatch !== null) return;
    this.#cancelWatch = this.#options.etcd.watch({
      from: key,
      to: `${key}\0`,
      startRevision,
      onEvents: (events) => {
        if (events.some(({ kind }) => kind === "delete")) this.#campaign();
      },
      onEnd: () => {
        this.#cancelWatch = null;
        this.#later(() => this.#campaign());
      },
    });
  }

  #takeOver(token: number, value: Buffer): void {
    const { etcd, time, scheduler } = this.#options;
    const onFault = (fault: StoreFault) => this.#fail(fault);
    const { keys } = this;
    const replicator = new Replicator({ etcd, time, scheduler, keys, token, onFault });
    this.#led = { token, replicator, trim: new Trim({ etcd, keys, token }) };
    this.#lease.prove();
    this.#hosts.setLeader(value);
    this.#cancelWatch?.();
    this.#follower!.finish(() => this.#dropIncomplete(token));
  }

  /** Parts of a frame whose first part was never put: the frame was not acknowledged. */
  #dropIncomplete(token: number): void {
    if (this.#hasEnded) return;
    const { etcd, log } = this.#options;
    const change = {
      compares: [{ key: this.keys.leader, createRevision: token }],
      puts: [],
      deletes: [this.keys.partsFrom(log.end)],
      otherwiseGet: [],
    };
    etcd.transact(change, DEADLINE_MS, (reply) => {
      if (this.#hasEnded) return;
      if (reply.kind === "unknown") return this.#later(() => this.#dropIncomplete(token));
      if (reply.kind === "refused") return this.#fail(new EtcdRefused("lead", reply.reason));
      if (!reply.value.isDone) return this.#fail(new LeadershipLost("another host leads"));
      this.#follower!.stop();
      log.close(() => this.#options.onLead());
    });
  }

  /** Finds out whether this host still leads, after its lease was not certainly held. */
  #prove(): void {
    const led = this.#led;
    // A standby relies on its lease only from when it has created the leader key.
    if (led === null) return this.#lease.prove();
    // Without an answer, the next keep-alive asks again.
    this.#askLeader(
      DEADLINE_MS,
      () => this.#lease.prove(),
      () => {},
    );
  }

  /** Asks etcd, linearizably, whether this host leads. If it does not, it ends. */
  #askLeader(deadlineMs: number, leads: () => void, unknown: () => void): void {
    const { etcd } = this.#options;
    const { leader } = this.keys;
    etcd.range({ from: leader, to: `${leader}\0`, limit: 1 }, deadlineMs, (reply) => {
      if (this.#hasEnded) return;
      if (reply.kind !== "done") return unknown();
      const [pair] = reply.value.pairs;
      if (pair?.createRevision === this.#led!.token) leads();
      else this.#fail(new LeadershipLost("another host leads, or may lead"));
    });
  }

  #leaseEnded(): boolean {
    if (this.#led !== null) this.#fail(new LeadershipLost("its lease has ended"));
    return !this.#hasEnded;
  }

  /** The place after the last frame on this host's disk. */
  get #onDisk(): FramePlace {
    return this.#log?.place ?? this.#options.log.synced;
  }

  /** @returns Start of a copy in progress. */
  #keptAt(nowMs: number): FramePlace | undefined {
    return this.#kept !== null && nowMs < this.#kept.untilMs ? this.#kept.place : undefined;
  }

  /** Publishes this host's position, and lets the leader trim. */
  #tend(): void {
    const { log, time } = this.#options;
    const place = this.#onDisk;
    const sequence = this.#log?.mark?.sequence ?? log.mark?.sequence ?? 0;
    const nowMs = time.runningMs();
    const { number, offset } = place;
    const held = { number, offset, keepFrom: this.#keptAt(nowMs) };
    this.#hosts.tell({ ...held, sequence, role: this.role }, this.#lease.id);
    if (this.#log !== null) this.#led!.trim.step(held, this.#hosts.others(), nowMs);
  }

  #later(task: () => void): void {
    this.#options.scheduler.later(RETRY_DELAY_MS, () => {
      if (!this.#hasEnded) task();
    });
  }

  #fail(fault: StoreFault): void {
    if (this.#hasEnded) return;
    this.#end();
    this.#options.onFault(fault);
  }

  /** @returns The lease, still alive. */
  #end(): string | null {
    this.#hasEnded = true;
    this.#log = null;
    for (const stop of this.#stops) stop();
    this.#cancelWatch?.();
    this.#led?.replicator.stop();
    if (this.#follower !== null) this.#follower.stop();
    return this.#lease.stop();
  }
}

/** Tells secrets of 256 random bits apart, and says nothing else about them. */
function markOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex").slice(0, 16);
}

// Published statuses of the hosts of a cell, and this host's lag.

const HOSTS_DEADLINE_MS = 900;

export interface HostsOptions {
  readonly etcd: Etcd;
  readonly keys: CellKeys;
  readonly host: string;
  readonly address: string;
  readonly time: MachineTime;
  readonly scheduler: Scheduler;
}

type Own = Pick<HostStatus, "number" | "offset" | "sequence" | "role" | "keepFrom">;

class Hosts {
  readonly #options: HostsOptions;
  #hosts: readonly HostStatus[] = [];
  #leader: ClusterStatus["leader"] = null;
  #etcd: MemberStatus | null = null;
  #own: Own | null = null;
  /** Start of the present lag; null when this host lacks no record. */
  #behindSinceMs: number | null = null;

  constructor(options: HostsOptions) {
    this.#options = options;
  }

  /** @param value - Of the leader key. */
  setLeader(value: Buffer): void {
    const { host, address } = JSON.parse(value.toString("utf8")) as HostStatus;
    this.#leader = { host, address };
  }

  /** Up to where the other live hosts have the log on their disks. */
  others(): HostStatus[] {
    return this.#hosts.filter(({ host }) => host !== this.#options.host);
  }

  /** Publishes this host's status, and reads the others'. */
  tell(own: Own, leaseId: string | null): void {
    const { etcd, keys, host, address, time } = this.#options;
    this.#own = own;
    const status: HostStatus = { host, address, ...own, atMs: time.wallMs() };
    const value = Buffer.from(JSON.stringify(status));
    const put = { key: keys.host(host), value, leaseId };
    const change = { compares: [], puts: [put], deletes: [], otherwiseGet: [] };
    if (leaseId !== null) etcd.transact(change, HOSTS_DEADLINE_MS, () => {});
    etcd.range({ ...keys.hosts, limit: 0 }, HOSTS_DEADLINE_MS, (reply) => {
      if (reply.kind !== "done") return;
      const { pairs } = reply.value;
      this.#hosts = pairs.map((pair) => JSON.parse(pair.value.toString("utf8")) as HostStatus);
      this.#compare(own);
    });
    etcd.status(HOSTS_DEADLINE_MS, (reply) => {
      this.#etcd = reply.kind === "done" ? reply.value : null;
    });
  }

  view(): Pick<ClusterStatus, "leader" | "hosts" | "lagMs" | "lagRecords" | "etcd"> {
    const sinceMs = this.#behindSinceMs;
    const lagMs = sinceMs === null ? 0 : Math.round(this.#options.time.runningMs() - sinceMs);
    return {
      leader: this.#leader,
      hosts: this.#hosts,
      lagMs,
      lagRecords: sinceMs === null ? 0 : this.#behind(this.#own!),
      etcd: this.#etcd,
    };
  }

  #compare(own: Own): void {
    if (this.#behind(own) === 0) this.#behindSinceMs = null;
    else this.#behindSinceMs ??= this.#options.time.runningMs();
  }

  #behind({ sequence }: Own): number {
    const leader = this.#hosts.find(({ role }) => role === HostRole.LEADER);
    return Math.max(0, (leader?.sequence ?? 0) - sequence);
  }
}

// Answers held back until etcd confirms this host as leader. One linearizable read serves
// all answers of a turn, and later ones wait for the next read: it must
// begin after the answered read.

export interface ConfirmationsOptions {
  readonly scheduler: Scheduler;
  /** Asks etcd: calls `leads` when this host leads, and `unknown` when there is no answer. */
  readonly ask: (leads: () => void, unknown: () => void) => void;
}

const CONFIRM_RETRY_DELAY_MS = 20;

export class Confirmations {
  readonly #options: ConfirmationsOptions;
  #waiting: (() => void)[] = [];
  #isAsking = false;

  constructor(options: ConfirmationsOptions) {
    this.#options = options;
  }

  /** Calls back, in order, once etcd has answered a later read. */
  add(done: () => void): void {
    this.#waiting.push(done);
    if (this.#isAsking) return;
    this.#isAsking = true;
    this.#options.scheduler.soon(() => this.#ask());
  }

  #ask(): void {
    const { ask, scheduler } = this.#options;
    const asked = this.#waiting.length;
    const leads = () => {
      const confirmed = this.#waiting.splice(0, asked);
      this.#isAsking = this.#waiting.length > 0;
      if (this.#isAsking) this.#ask();
      for (const done of confirmed) done();
    };
    ask(leads, () => void scheduler.later(CONFIRM_RETRY_DELAY_MS, () => this.#ask()));
  }
}
