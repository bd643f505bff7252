/** The calls of a host to its member of the modelled etcd. */
import type {
  Answer,
  Etcd,
  LeaseGrant,
  MemberStatus,
  RangeRequest,
  RangeResult,
  Reply,
  Transaction,
  TransactionResult,
  WatchRequest,
} from "../../../persistence/cluster/etcd.ts";
import type { EtcdCluster } from "./etcd-cluster.ts";
import { done } from "./key-values.ts";
import { endWatch, type Member, type Watch } from "./member.ts";
import type { SimProcess } from "./sim-process.ts";

export interface SimEtcdOptions {
  readonly cluster: EtcdCluster;
  /** The number of the member. */
  readonly member: number;
  readonly host: SimProcess;
  /** True if the host reaches the member. */
  readonly isLinked: () => boolean;
}

/** A lease is at least this long, and has whole seconds. */
const TTL_MS_MIN = 2_000;
const SECOND_MS = 1_000;
/** Interval of a watch's attempts to reach a client cut off. */
const WATCH_RETRY_US = 300_000;

export class SimEtcd implements Etcd {
  readonly #options: SimEtcdOptions;
  readonly #member: Member;
  #isClosed = false;

  constructor(options: SimEtcdOptions) {
    this.#options = options;
    this.#member = options.cluster.members[options.member]!;
  }

  grant(ttlMs: number, deadlineMs: number, answer: Answer<LeaseGrant>): void {
    const { cluster } = this.#options;
    const leaseId = cluster.nextLeaseId();
    const wholeMs = Math.max(TTL_MS_MIN, Math.ceil(ttlMs / SECOND_MS) * SECOND_MS);
    this.#propose(deadlineMs, answer, (store) => {
      store.grant(leaseId, wholeMs);
      return done({ leaseId, ttlMs: wholeMs });
    });
  }

  keepAlive(leaseId: string, deadlineMs: number, answer: Answer<{ readonly ttlMs: number }>): void {
    this.#call(deadlineMs, answer, (member, reply) => {
      this.#options.cluster.renew(member, leaseId, reply);
    });
  }

  revoke(leaseId: string, deadlineMs: number, answer: Answer<null>): void {
    this.#propose(deadlineMs, answer, (store) => {
      store.revoke(leaseId);
      return done(null);
    });
  }

  transact(change: Transaction, deadlineMs: number, answer: Answer<TransactionResult>): void {
    // The bytes are sent now, whatever becomes of the memory after the answer.
    const puts = change.puts.map((put) => ({ ...put, value: Buffer.from(put.value) }));
    this.#propose(deadlineMs, answer, (store) => store.transact({ ...change, puts }));
  }

  range(request: RangeRequest, deadlineMs: number, answer: Answer<RangeResult>): void {
    this.#call(deadlineMs, answer, (member, reply) => {
      const { cluster } = this.#options;
      cluster.confirm(member, () => {
        reply(done(cluster.store.range(request, member.view.revision)));
      });
    });
  }

  watch(request: WatchRequest): () => void {
    const { host } = this.#options;
    const member = this.#member;
    const deliver = (task: () => void): void => {
      const { isLinked, cluster } = this.#options;
      if (this.#isClosed || watch.hasEnded || !host.isAlive) return;
      host.after(cluster.messageUs(), () => {
        if (this.#isClosed || watch.hasEnded) return;
        if (isLinked()) task();
        else host.after(WATCH_RETRY_US, () => deliver(task));
      });
    };
    const facts = { isDue: false, hasEnded: false };
    const watch: Watch = { request, next: request.startRevision, deliver, ...facts };
    deliver(() => {
      if (!member.process.isAlive) return endWatch(watch, null, "the connection was refused");
      member.watches.add(watch);
      member.notify();
    });
    return () => {
      watch.hasEnded = true;
      member.watches.delete(watch);
    };
  }

  compact(revision: number, deadlineMs: number, answer: Answer<null>): void {
    this.#propose(deadlineMs, answer, (store) => store.compact(revision));
  }

  status(deadlineMs: number, answer: Answer<MemberStatus>): void {
    this.#call(deadlineMs, answer, ({ number }, reply) => {
      const { leader } = this.#options.cluster;
      const leaderId = leader === null ? null : String(leader);
      const facts = { version: "3.5.14", databaseBytes: 0, alarms: [] };
      reply(done({ ...facts, memberId: String(number), leaderId }));
    });
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return Promise.resolve();
  }

  #propose<Value>(
    deadlineMs: number,
    answer: Answer<Value>,
    apply: (store: EtcdCluster["store"]) => Reply<Value>,
  ): void {
    this.#call(deadlineMs, answer, (member, reply) => {
      this.#options.cluster.propose(member, apply, (given) => reply(given as Reply<Value>));
    });
  }

  /** Sends a request to the member. What it does there it may do long after the deadline. */
  #call<Value>(
    deadlineMs: number,
    answer: Answer<Value>,
    send: (member: Member, reply: Answer<Value>) => void,
  ): void {
    const { cluster, host, isLinked } = this.#options;
    const member = this.#member;
    let isOpen = true;
    const finish = (reply: Reply<Value>) => {
      if (!isOpen || this.#isClosed) return;
      isOpen = false;
      cancel();
      member.calls.delete(lose);
      answer(reply);
    };
    const unknown = (reason: string) => () => finish({ kind: "unknown", reason });
    const cancel = host.later(deadlineMs, unknown("no answer within the deadline"));
    const lose = () => host.after(cluster.messageUs(), unknown("the connection was lost"));
    if (!isLinked()) return;
    if (!member.process.isAlive) {
      lose();
      return;
    }
    member.calls.add(lose);
    member.process.after(cluster.messageUs(), () => {
      send(member, (reply) => {
        if (isLinked()) host.after(cluster.messageUs(), () => finish(reply));
      });
    });
  }
}
