/**
 * The keys of etcd with their history, as its data model documents them: each change has one
 * revision, a key has the revisions of its creation and of its last change, and the keys of a lease
 * are deleted with it.
 */
import {
  type Compare,
  EtcdRefusal,
  type KeyRange,
  type KeyValue,
  type RangeRequest,
  type RangeResult,
  type Reply,
  type Transaction,
  type TransactionResult,
  type WatchEvent,
} from "../../../persistence/cluster/etcd.ts";

interface Version {
  readonly createRevision: number;
  readonly modRevision: number;
  /** Null when the key was deleted. */
  readonly value: Buffer | null;
  readonly leaseId: string | null;
}

/** The store is empty at this revision. */
const FIRST_REVISION = 1;

export class KeyValues {
  revision = FIRST_REVISION;
  /** Watches cannot begin before this revision. */
  compacted = 0;
  /** Milliseconds, by lease id. */
  readonly leases = new Map<string, number>();
  readonly #keys = new Map<string, Version[]>();
  /** The changes of each revision after the first. */
  readonly #changes: WatchEvent[][] = [];

  transact(change: Transaction): Reply<TransactionResult> {
    const { compares, puts, deletes, otherwiseGet } = change;
    if (!compares.every((compare) => this.#holds(compare))) {
      const found = otherwiseGet.flatMap((key) => this.#pairAt(key, this.revision) ?? []);
      return done({ isDone: false, revision: this.revision, found });
    }
    const isLeaseGone = puts.some(({ leaseId }) => leaseId !== null && !this.leases.has(leaseId));
    if (isLeaseGone) return refused(EtcdRefusal.LEASE_GONE);
    const names = puts.map(({ key }) => key);
    const isTwice = new Set(names).size < names.length;
    if (isTwice || names.some((key) => deletes.some((range) => isIn(key, range)))) {
      return refused(EtcdRefusal.OTHER);
    }
    const before = deletes.length === 0 ? [] : this.#existing(this.revision);
    const gone = before.filter((key) => deletes.some((range) => isIn(key, range)));
    this.#change([
      ...gone.map((key) => [key, null, null] as const),
      ...puts.map(({ key, value, leaseId }) => [key, Buffer.from(value), leaseId] as const),
    ]);
    return done({ isDone: true, revision: this.revision, found: [] });
  }

  grant(leaseId: string, ttlMs: number): void {
    this.leases.set(leaseId, ttlMs);
  }

  /** Deletes the keys of the lease, in one revision. */
  revoke(leaseId: string): void {
    this.leases.delete(leaseId);
    const keys = [...this.#keys].filter(([, all]) => all.at(-1)!.leaseId === leaseId);
    this.#change(keys.map(([key]) => [key, null, null] as const));
  }

  compact(revision: number): Reply<null> {
    if (revision <= this.compacted) return refused(EtcdRefusal.COMPACTED);
    if (revision > this.revision) return refused(EtcdRefusal.OTHER);
    this.compacted = revision;
    return done(null);
  }

  /** Reads the store as it was at a revision. */
  range(request: RangeRequest, revision: number): RangeResult {
    const { limit, descending = false, keysOnly = false } = request;
    const keys = this.#existing(revision).filter((key) => isIn(key, request));
    if (descending) keys.reverse();
    const wanted = limit === 0 ? keys : keys.slice(0, limit);
    const pairs = wanted.map((key) => {
      const pair = this.#pairAt(key, revision)!;
      return keysOnly ? { ...pair, value: Buffer.alloc(0) } : pair;
    });
    return { pairs, more: wanted.length < keys.length, revision };
  }

  /** The changes in a range, from one revision to another, both included. */
  changes(range: KeyRange, from: number, to: number): WatchEvent[] {
    const whole = this.#changes.slice(Math.max(0, from - FIRST_REVISION - 1), to - FIRST_REVISION);
    return whole.flat().filter((event) => {
      return isIn(event.kind === "put" ? event.pair.key : event.key, range);
    });
  }

  #holds({ key, createRevision }: Compare): boolean {
    return (this.#pairAt(key, this.revision)?.createRevision ?? 0) === createRevision;
  }

  #change(changes: readonly (readonly [string, Buffer | null, string | null])[]): void {
    if (changes.length === 0) return;
    this.revision += 1;
    const modRevision = this.revision;
    const events = changes.map(([key, value, leaseId]): WatchEvent => {
      const { createRevision = modRevision } = this.#pairAt(key, modRevision) ?? {};
      const versions = this.#keys.get(key) ?? [];
      this.#keys.set(key, [...versions, { createRevision, modRevision, value, leaseId }]);
      if (value === null) return { kind: "delete", key, modRevision };
      return { kind: "put", pair: { key, value, createRevision, modRevision } };
    });
    this.#changes.push(events);
  }

  has(key: string): boolean {
    return this.#pairAt(key, this.revision) !== null;
  }

  /** In the order of their bytes; the keys here are ASCII. */
  #existing(revision: number): string[] {
    const keys = [...this.#keys.keys()].filter((key) => this.#pairAt(key, revision) !== null);
    return keys.toSorted((a, b) => (a < b ? -1 : 1));
  }

  #pairAt(key: string, revision: number): KeyValue | null {
    const versions = this.#keys.get(key) ?? [];
    const version = versions.findLast(({ modRevision }) => modRevision <= revision);
    if (version === undefined || version.value === null) return null;
    const { value, createRevision, modRevision } = version;
    return { key, value, createRevision, modRevision };
  }
}

function isIn(key: string, { from, to }: KeyRange): boolean {
  return key >= from && key < to;
}

export function done<Value>(value: Value): Reply<Value> {
  return { kind: "done", value };
}

export function refused(refusal: EtcdRefusal): Reply<never> {
  return { kind: "refused", refusal, reason: refusal };
}
