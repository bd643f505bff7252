/** The documented behaviour of etcd, for every implementation of `Etcd`: the real one and the model. */
import { expect } from "vitest";
import {
  type Answer,
  type Etcd,
  EtcdRefusal,
  type KeyRange,
  type LeaseGrant,
  type Put,
  type RangeRequest,
  type RangeResult,
  type Reply,
  type Transaction,
  type TransactionResult,
  type WatchEvent,
} from "../../../persistence/cluster/etcd.ts";

/** A cluster of three members under test. */
export interface EtcdRig {
  readonly etcd: Etcd;
  /** Lets time pass until the call has its answer. */
  ask<Value>(call: (answer: Answer<Value>) => void): Promise<Reply<Value>>;
  wait(ms: number): Promise<void>;
}

const DEADLINE_MS = 5_000;
const LEASE_MS = 2_000;
/** Longer than a lease, the time until the next look at leases, and a revocation. */
const EXPIRED_MS = 4_000;
const WATCH_MS = 500;
const ALL: KeyRange = { from: "a", to: "z" };

const put = (key: string, value = key, leaseId: string | null = null): Put => {
  return { key, value: Buffer.from(value), leaseId };
};

function changeOf(part: Partial<Transaction>): Transaction {
  return { compares: [], puts: [], deletes: [], otherwiseGet: [], ...part };
}

class Session {
  readonly #rig: EtcdRig;

  constructor(rig: EtcdRig) {
    this.#rig = rig;
  }

  get etcd(): Etcd {
    return this.#rig.etcd;
  }

  change(part: Partial<Transaction>): Promise<TransactionResult> {
    return this.done((answer: Answer<TransactionResult>) =>
      this.etcd.transact(changeOf(part), DEADLINE_MS, answer),
    );
  }

  refused(part: Partial<Transaction>): Promise<string> {
    return this.refusal((answer) => this.etcd.transact(changeOf(part), DEADLINE_MS, answer));
  }

  /** Keys and values. */
  async content(range: KeyRange = ALL): Promise<string[]> {
    const { pairs } = await this.read(range);
    return pairs.map(({ key, value }) => `${key}=${value.toString()}`);
  }

  read(part: Partial<RangeRequest>): Promise<RangeResult> {
    return this.done((answer: Answer<RangeResult>) => {
      this.etcd.range({ ...ALL, limit: 0, ...part }, DEADLINE_MS, answer);
    });
  }

  lease(): Promise<LeaseGrant> {
    return this.done((answer: Answer<LeaseGrant>) => {
      this.etcd.grant(LEASE_MS, DEADLINE_MS, answer);
    });
  }

  async done<Value>(call: (answer: Answer<Value>) => void): Promise<Value> {
    const reply = await this.#rig.ask(call);
    if (reply.kind === "done") return reply.value;
    throw new Error(`${reply.kind}: ${reply.reason}`);
  }

  async refusal<Value>(call: (answer: Answer<Value>) => void): Promise<string> {
    const reply = await this.#rig.ask(call);
    return reply.kind === "refused" ? reply.refusal : reply.kind;
  }

  wait(ms: number): Promise<void> {
    return this.#rig.wait(ms);
  }

  watch(startRevision: number) {
    const seen = { groups: [] as string[][], ends: [] as (string | null)[] };
    this.etcd.watch({
      ...ALL,
      startRevision,
      onEvents: (events) => seen.groups.push(events.map(textOf)),
      onEnd: (refusal) => seen.ends.push(refusal),
    });
    return seen;
  }
}

function textOf(event: WatchEvent): string {
  if (event.kind === "delete") return `delete ${event.key}`;
  return `put ${event.pair.key}=${event.pair.value.toString()}`;
}

const TITLE_END = "in the store of etcd";

/** @param open - Starts an empty cluster for one test. */
export function describeEtcd(
  define: (title: string, work: () => Promise<void>) => void,
  open: () => Promise<EtcdRig>,
): void {
  const it = (title: string, work: (session: Session) => Promise<void>) => {
    define(`${title} ${TITLE_END}`, async () => work(new Session(await open())));
  };
  describeChanges(it);
  describeLeases(it);
  describeWatches(it);
}

type Define = (title: string, work: (session: Session) => Promise<void>) => void;

function describeChanges(it: Define): void {
  it("each change has the next revision, and all its puts share it", async (session) => {
    const first = await session.change({ puts: [put("a")] });
    const second = await session.change({ puts: [put("b"), put("c")] });
    expect(second.revision).toBe(first.revision + 1);
    const { pairs } = await session.read({});
    const { revision } = second;
    expect(pairs.map(({ modRevision }) => modRevision)).toEqual([revision - 1, revision, revision]);
  });

  it("a put keeps the create revision, and a key that returns has a new one", async (session) => {
    const { revision } = await session.change({ puts: [put("a")] });
    const compares = [{ key: "a", createRevision: revision }];
    expect(await session.change({ compares, puts: [put("a", "1")] })).toMatchObject({
      isDone: true,
    });
    expect(await session.change({ compares, puts: [put("a", "2")] })).toMatchObject({
      isDone: true,
    });
    await session.change({ deletes: [{ from: "a", to: "b" }] });
    const again = [{ key: "a", createRevision: 0 }];
    expect(await session.change({ compares: again, puts: [put("a", "3")] })).toMatchObject({
      isDone: true,
    });
    expect(await session.change({ compares, puts: [put("a", "4")] })).toMatchObject({
      isDone: false,
    });
    expect(await session.content()).toEqual(["a=3"]);
  });

  it("a transaction with a false condition changes nothing and shows the keys", async (session) => {
    const { revision } = await session.change({ puts: [put("a"), put("b")] });
    const result = await session.change({
      compares: [
        { key: "a", createRevision: revision },
        { key: "b", createRevision: 0 },
      ],
      puts: [put("c")],
      otherwiseGet: ["b", "c", "a"],
    });
    expect(result).toMatchObject({ isDone: false, revision });
    expect(result.found.map(({ key }) => key)).toEqual(["b", "a"]);
    expect(await session.content()).toEqual(["a=a", "b=b"]);
  });

  it("a range is in order of the keys, with a limit and from either end", async (session) => {
    await session.change({ puts: ["d", "b", "c", "a"].map((key) => put(key)) });
    const first = await session.read({ to: "d", limit: 2 });
    expect(first.pairs.map(({ key }) => key)).toEqual(["a", "b"]);
    expect(first.more).toBe(true);
    const last = await session.read({ to: "d", limit: 3, descending: true, keysOnly: true });
    expect(last.pairs.map(({ key }) => key)).toEqual(["c", "b", "a"]);
    expect(last.more).toBe(false);
  });

  it("a transaction that names a key twice is refused", async (session) => {
    expect(await session.refused({ puts: [put("a", "1"), put("a", "2")] })).toBe(EtcdRefusal.OTHER);
    const deletes = [{ from: "a", to: "c" }];
    expect(await session.refused({ puts: [put("b")], deletes })).toBe(EtcdRefusal.OTHER);
    expect(await session.content()).toEqual([]);
  });
}

function describeLeases(it: Define): void {
  it("a lease ends when it is not renewed, and its keys with it", async (session) => {
    const { leaseId, ttlMs } = await session.lease();
    expect(ttlMs).toBeGreaterThanOrEqual(LEASE_MS);
    await session.change({ puts: [put("a", "1", leaseId), put("b")] });
    for (let beats = 0; beats < 4; beats++) {
      await session.wait(ttlMs / 2);
      await session.done((answer) => session.etcd.keepAlive(leaseId, DEADLINE_MS, answer));
    }
    expect(await session.content()).toEqual(["a=1", "b=b"]);
    await session.wait(ttlMs + EXPIRED_MS);
    expect(await session.content()).toEqual(["b=b"]);
    const renewal = (answer: Answer<{ readonly ttlMs: number }>) => {
      session.etcd.keepAlive(leaseId, DEADLINE_MS, answer);
    };
    expect(await session.refusal(renewal)).toBe(EtcdRefusal.LEASE_GONE);
  });

  it("a put with a lease that has ended is refused and changes nothing", async (session) => {
    const { leaseId } = await session.lease();
    await session.done((answer) => session.etcd.revoke(leaseId, DEADLINE_MS, answer));
    const puts = [put("a", "1", leaseId), put("b")];
    expect(await session.refused({ puts })).toBe(EtcdRefusal.LEASE_GONE);
    expect(await session.content()).toEqual([]);
    await session.done((answer) => session.etcd.revoke(leaseId, DEADLINE_MS, answer));
  });

  it("the end of a lease deletes all its keys in one revision", async (session) => {
    const { leaseId } = await session.lease();
    const puts = [put("a", "1", leaseId), put("b", "2", leaseId), put("c", "3", leaseId)];
    const { revision } = await session.change({ puts });
    await session.change({ puts: [put("b", "4")] });
    const seen = session.watch(revision + 2);
    await session.done((answer) => session.etcd.revoke(leaseId, DEADLINE_MS, answer));
    await session.wait(WATCH_MS);
    expect(seen.groups.map((group) => group.toSorted())).toEqual([["delete a", "delete c"]]);
    expect(await session.content()).toEqual(["b=4"]);
  });
}

function describeWatches(it: Define): void {
  it("a watch delivers past and later changes in order, each once", async (session) => {
    const { revision } = await session.change({ puts: [put("a", "1")] });
    await session.change({ puts: [put("a", "2"), put("zz")] });
    const seen = session.watch(revision);
    await session.wait(WATCH_MS);
    await session.change({ deletes: [ALL] });
    await session.wait(WATCH_MS);
    expect(seen.groups.flat()).toEqual(["put a=1", "put a=2", "delete a"]);
    expect(seen.ends).toEqual([]);
  });

  it("a watch from before a compaction ends, and says why", async (session) => {
    for (const value of ["1", "2", "3"]) await session.change({ puts: [put("a", value)] });
    const { revision } = await session.change({ puts: [put("a", "4")] });
    await session.done((answer) => session.etcd.compact(revision, DEADLINE_MS, answer));
    const seen = session.watch(revision - 2);
    await session.wait(WATCH_MS);
    expect(seen).toEqual({ groups: [], ends: [EtcdRefusal.COMPACTED] });
    expect(await session.content()).toEqual(["a=4"]);
    const again = (answer: Answer<null>) => session.etcd.compact(revision, DEADLINE_MS, answer);
    expect(await session.refusal(again)).toBe(EtcdRefusal.COMPACTED);
  });
}
