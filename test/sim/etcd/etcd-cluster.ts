/**
 * A model of a cluster of etcd with its documented behaviour. A change takes effect once a majority
 * has it; whether one that was on its way when its leader was lost takes effect is open. A request
 * in a paused member happens when the member goes on, however late.
 *
 * Leases: the leader counts their time by its own clock, and a renewal reaches only the leader. A
 * leader that was cut off renews until it steps down; its successor therefore gives each lease its
 * whole time and one election timeout more.
 */
import { EtcdRefusal, type Reply } from "../../../persistence/cluster/etcd.ts";
import type { Timeline } from "../timeline.ts";
import type { Random } from "../workload/random.ts";
import { done, KeyValues, refused } from "./key-values.ts";
import { type Entry, Member } from "./member.ts";
import { SimProcess } from "./sim-process.ts";

export interface EtcdOptions {
  readonly timeline: Timeline;
  readonly random: Random;
  /** For each member, how many seconds of its clock pass in one second. */
  readonly rates: readonly number[];
  /** Once in this many messages and syncs is one very slow; Infinity for never. */
  readonly slowOnce: number;
  /**
   * As before 3.4.31 and 3.5.13: a leader going on after a pause renews and revokes leases by
   * what it knew before.
   */
  readonly hasOldLeases?: boolean | undefined;
}

interface Proposal {
  readonly apply: (store: KeyValues) => Reply<unknown>;
  readonly answered: (reply: Reply<unknown>) => void;
  readonly member: Member;
  readonly process: SimProcess;
  /** Another member than the leader may have it. */
  isSpread: boolean;
}

/** The defaults of etcd. */
export const ELECTION_US = 1_000_000;
const REQUEST_US_MAX = 5_000_000 + 2 * ELECTION_US;
const RETRY_US = 500_000;
const EXPIRY_CHECK_MS = 500;
const MESSAGE_US_MIN = 50;
const MESSAGE_US_SPREAD = 250;
const SYNC_US_MIN = 200;
const SYNC_US_SPREAD = 2_500;
const SLOW_US_MAX = 900_000;
/** The longest time until a leader going on after a pause hears of another one. */
const WAKING_US_MAX = 200_000;
const EXPIRED_RETRY_MS = 100;

export class EtcdCluster {
  readonly store = new KeyValues();
  readonly members: readonly Member[];
  readonly #options: EtcdOptions;
  readonly #entries: Entry[] = [];
  readonly #cut = new Set<string>();
  #leader: Member | null = null;
  /** Of the last leader, in order; not committed yet. */
  #proposals: Proposal[] = [];
  #lastLeader: Member | null = null;
  #leaseIds = 0;

  constructor(options: EtcdOptions) {
    this.#options = options;
    const shared = { store: this.store, entries: this.#entries };
    this.members = options.rates.map((_, i) => new Member(i, this.#begin(i), shared));
    this.#elect(this.#options.random.pick(this.members));
  }

  /** The number of the leader; null when there is none. */
  get leader(): number | null {
    return this.#leader?.number ?? null;
  }

  /** Microseconds of a message on its way. */
  messageUs(): number {
    return this.#delayUs(MESSAGE_US_MIN, MESSAGE_US_SPREAD);
  }

  nextLeaseId(): string {
    this.#leaseIds += 1;
    return (0x7000 + this.#leaseIds).toString(16);
  }

  /** Cuts or restores the connection between two members. */
  link(a: number, b: number, isUp: boolean): void {
    const name = [Math.min(a, b), Math.max(a, b)].join();
    if (isUp) this.#cut.delete(name);
    else this.#cut.add(name);
    this.#changed();
  }

  pause(number: number): void {
    this.members[number]!.process.pause();
    this.#changed();
  }

  resume(number: number): void {
    const member = this.members[number]!;
    member.isWaking = member.isLeader;
    member.process.resume();
    this.#options.timeline.after(this.#options.random.below(WAKING_US_MAX), () => {
      if (member.isLeader && this.#leader !== member) this.#stepDown(member);
      member.isWaking = false;
    });
    this.#changed();
  }

  kill(number: number): void {
    const member = this.members[number]!;
    member.end();
    if (this.#leader === member) this.#leader = null;
    this.#changed();
  }

  start(number: number): void {
    this.members[number]!.process = this.#begin(number);
    this.#changed();
  }

  /** The leader gives up its place, as it does when it is slow for a moment. */
  resign(): void {
    const leader = this.#leader;
    if (leader === null || !leader.process.isRunning) return;
    this.#stepDown(leader);
    this.#changed();
  }

  /** Writes a change to the log. It is answered when the member has applied it, or never. */
  propose(
    member: Member,
    apply: (store: KeyValues) => Reply<unknown>,
    answered: (reply: Reply<unknown>) => void,
  ): void {
    const { process } = member;
    this.#atLeader(member, (leader) => {
      // The log of a replaced leader is overwritten.
      if (leader !== this.#leader) return;
      this.#proposals.push({ apply, answered, member, process, isSpread: false });
      this.#replicate(leader);
    });
  }

  /** Calls back when the member has applied everything committed before the call. */
  confirm(member: Member, confirmed: () => void, latestUs = this.#latestUs()): void {
    const { process } = member;
    this.#atLeader(member, (leader) => {
      if (leader === this.#leader && this.#canLead(leader)) {
        const index = this.#entries.length;
        if (!this.#isLinked(leader, member)) return;
        process.after(this.messageUs(), () => member.whenApplied(index, confirmed));
      } else if (this.#options.timeline.nowUs < latestUs) {
        process.after(RETRY_US, () => this.confirm(member, confirmed, latestUs));
      }
    });
  }

  renew(
    member: Member,
    leaseId: string,
    answered: (reply: Reply<{ ttlMs: number }>) => void,
  ): void {
    const { process } = member;
    this.#atLeader(member, (leader) => {
      // After a pause the leader makes sure of still being the leader.
      const isTrusted = !leader.isWaking || this.#options.hasOldLeases === true;
      if (!isTrusted && !(leader === this.#leader && this.#canLead(leader))) return;
      const lease = leader.leases.get(leaseId);
      const nowMs = leader.process.runningMs;
      if (lease !== undefined && lease.expiresAtMs <= nowMs) {
        // An expired lease is not renewed: the answer waits until it is revoked.
        leader.process.later(EXPIRED_RETRY_MS, () => this.renew(member, leaseId, answered));
        return;
      }
      if (lease !== undefined) lease.expiresAtMs = nowMs + lease.ttlMs;
      if (!this.#isLinked(leader, member)) return;
      const isGone = lease === undefined;
      const reply = isGone ? refused(EtcdRefusal.LEASE_GONE) : done({ ttlMs: lease.ttlMs });
      process.after(this.messageUs(), () => answered(reply));
    });
  }

  #begin(number: number): SimProcess {
    const { timeline, rates } = this.#options;
    const process = new SimProcess(`etcd${number}`, timeline, rates[number]!);
    process.every(EXPIRY_CHECK_MS, () => this.#revokeExpired(this.members[number]!));
    return process;
  }

  /** Runs a task at the leader, once there is one within reach of the member. */
  #atLeader(member: Member, task: (leader: Member) => void, latestUs = this.#latestUs()): void {
    if (member.isLeader) return task(member);
    const leader = this.#leader;
    const isKnown = leader !== null && leader.isLeader && this.#isLinked(leader, member);
    const again = (at: Member) => () => this.#atLeader(at, task, latestUs);
    if (isKnown) leader.process.after(this.messageUs(), again(leader));
    else if (this.#options.timeline.nowUs < latestUs) {
      member.process.after(RETRY_US, again(member));
    }
  }

  #latestUs(): number {
    return this.#options.timeline.nowUs + REQUEST_US_MAX;
  }

  #replicate(leader: Member): void {
    const last = this.#proposals.at(-1);
    if (last === undefined) return;
    if (this.#reachable(leader).length > 1)
      for (const each of this.#proposals) each.isSpread = true;
    leader.process.after(this.#delayUs(SYNC_US_MIN, SYNC_US_SPREAD), () => {
      const count = this.#proposals.indexOf(last) + 1;
      if (this.#leader !== leader || !this.#canLead(leader)) return;
      for (const proposal of this.#proposals.splice(0, count)) this.#commit(leader, proposal);
      for (const member of this.members) this.#catchUp(member);
    });
  }

  #commit(leader: Member, { apply, answered, member, process }: Proposal): void {
    const { store } = this;
    const reply = apply(store);
    this.#entries.push({ revision: store.revision, compacted: store.compacted });
    const { leases, process: clock } = leader;
    for (const id of leases.keys()) if (!store.leases.has(id)) leases.delete(id);
    for (const [id, ttlMs] of store.leases) {
      if (!leases.has(id)) leases.set(id, { ttlMs, expiresAtMs: clock.runningMs + ttlMs });
    }
    if (process.isAlive) member.whenApplied(this.#entries.length, () => answered(reply));
  }

  #catchUp(member: Member): void {
    const leader = this.#leader;
    if (leader === null || !this.#isLinked(leader, member)) return;
    const index = this.#entries.length;
    const delayUs = member === leader ? 0 : this.messageUs();
    member.process.after(delayUs, () => member.applyTo(index));
  }

  /** To be called when a process or a connection has changed. */
  #changed(): void {
    const leader = this.#leader;
    if (leader !== null && this.#canLead(leader)) {
      this.#replicate(leader);
      for (const member of this.members) this.#catchUp(member);
    } else {
      const { timeline, random } = this.#options;
      timeline.after(ELECTION_US + random.below(ELECTION_US), () => this.#electAny());
    }
    for (const member of this.members) {
      if (member.isLeader && !this.#canLead(member)) this.#stepDownLater(member);
      else if (member.isLeader && member !== leader && !member.isWaking) this.#stepDown(member);
      member.notify();
    }
  }

  /** A leader without a majority gives up after one to two election timeouts. */
  #stepDownLater(member: Member): void {
    const { process } = member;
    process.after(ELECTION_US + this.#options.random.below(ELECTION_US), () => {
      if (process === member.process && !this.#canLead(member)) this.#stepDown(member);
    });
  }

  #stepDown(member: Member): void {
    member.isLeader = false;
    if (this.#leader === member) this.#leader = null;
    this.#changed();
  }

  #electAny(): void {
    if (this.#leader !== null && this.#canLead(this.#leader)) return;
    const candidates = this.members.filter((member) => this.#canLead(member));
    if (candidates.length > 0) this.#elect(this.#options.random.pick(candidates));
  }

  /** The last changes of the lost leader take effect or not, depending on who has them. */
  #elect(member: Member): void {
    const { random } = this.#options;
    const lost = this.#lastLeader;
    if (lost !== null && lost !== member) {
      const hasAll = this.#isLinked(lost, member) && lost.process.isRunning;
      const isDoomed = ({ isSpread }: Proposal) => !isSpread && !hasAll;
      const firstDoomed = this.#proposals.findIndex(isDoomed);
      const most = firstDoomed === -1 ? this.#proposals.length : firstDoomed;
      this.#proposals.length = random.below(most + 1);
    }
    this.#leader = member;
    this.#lastLeader = member;
    member.isLeader = true;
    member.leases.clear();
    for (const [id, ttlMs] of this.store.leases) {
      const expiresAtMs = member.process.runningMs + ttlMs + ELECTION_US / 1_000;
      member.leases.set(id, { ttlMs, expiresAtMs });
    }
    this.#changed();
  }

  #revokeExpired(member: Member): void {
    const isNow = member === this.#leader && this.#canLead(member);
    if (!isNow && !(this.#options.hasOldLeases === true && member.isWaking)) return;
    const nowMs = member.process.runningMs;
    const expired = [...member.leases].filter(([, { expiresAtMs }]) => expiresAtMs <= nowMs);
    if (!isNow) this.#stepDown(member);
    for (const [id] of expired) {
      const revoke = (store: KeyValues) => {
        store.revoke(id);
        return done(null);
      };
      this.propose(member, revoke, () => {});
    }
  }

  /** It runs and reaches a majority, itself included. */
  #canLead(member: Member): boolean {
    return this.#reachable(member).length > this.members.length / 2;
  }

  #reachable(member: Member): Member[] {
    if (!member.process.isRunning) return [];
    return this.members.filter((other) => other.process.isRunning && this.#isLinked(member, other));
  }

  #isLinked(a: Member, b: Member): boolean {
    const name = [Math.min(a.number, b.number), Math.max(a.number, b.number)].join();
    return !this.#cut.has(name);
  }

  #delayUs(min: number, spread: number): number {
    const { random, slowOnce } = this.#options;
    if (slowOnce < Infinity && random.once(slowOnce)) return random.below(SLOW_US_MAX);
    return min + random.below(spread);
  }
}
