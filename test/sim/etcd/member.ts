/** A member of the modelled etcd: how much of the log it has applied, its watches, its leases. */
import { EtcdRefusal, type WatchRequest } from "../../../persistence/cluster/etcd.ts";
import type { KeyValues } from "./key-values.ts";
import type { SimProcess } from "./sim-process.ts";

/** The store after an entry of the log. */
export interface Entry {
  readonly revision: number;
  readonly compacted: number;
}

interface Waiter {
  readonly index: number;
  readonly run: () => void;
}

/** A watch, and how to reach its client. */
export interface Watch {
  readonly request: WatchRequest;
  /** The client's next revision. */
  next: number;
  /** A delivery is on its way. */
  isDue: boolean;
  /** Runs a task at the client after a while, unless the client cannot be reached. */
  readonly deliver: (task: () => void) => void;
  hasEnded: boolean;
}

export class Member {
  readonly number: number;
  readonly #store: KeyValues;
  /** The committed entries of all members; this one has applied the first `applied`. */
  readonly #entries: readonly Entry[];
  process: SimProcess;
  /** It believes itself the leader. */
  isLeader = false;
  /** It was paused, and has not noticed yet what happened meanwhile. */
  isWaking = false;
  /** Ends of the leases, by the clock of this member; only a leader has them. */
  readonly leases = new Map<string, { readonly ttlMs: number; expiresAtMs: number }>();
  readonly watches = new Set<Watch>();
  /** Tells each waiting client of the lost connection. */
  readonly calls = new Set<() => void>();
  #applied = 0;
  #waiters: Waiter[] = [];

  constructor(
    number: number,
    process: SimProcess,
    { store, entries }: { readonly store: KeyValues; readonly entries: readonly Entry[] },
  ) {
    this.number = number;
    this.process = process;
    this.#store = store;
    this.#entries = entries;
  }

  /** The store as this member knows it. */
  get view(): Entry {
    return this.#entries[this.#applied - 1] ?? { revision: 1, compacted: 0 };
  }

  applyTo(index: number): void {
    if (index <= this.#applied) return;
    this.#applied = index;
    const due = this.#waiters.filter((waiter) => waiter.index <= index);
    this.#waiters = this.#waiters.filter((waiter) => waiter.index > index);
    for (const { run } of due) run();
    this.notify();
  }

  whenApplied(index: number, run: () => void): void {
    if (index <= this.#applied) run();
    else this.#waiters.push({ index, run });
  }

  /** Delivers to each watch what it does not have yet. */
  notify(): void {
    for (const watch of this.watches) {
      if (watch.isDue || watch.next > this.view.revision) continue;
      watch.isDue = true;
      watch.deliver(() => this.#deliver(watch));
    }
  }

  /** Its process ends; what it has applied is on its disk. */
  end(): void {
    this.process.end();
    this.isLeader = false;
    this.isWaking = false;
    this.#waiters = [];
    for (const lose of this.calls) lose();
    this.calls.clear();
    for (const watch of this.watches) {
      watch.deliver(() => endWatch(watch, null, "the connection was lost"));
    }
    this.watches.clear();
  }

  #deliver(watch: Watch): void {
    watch.isDue = false;
    if (watch.hasEnded || !this.watches.has(watch)) return;
    const { revision, compacted } = this.view;
    if (watch.next < compacted) {
      this.watches.delete(watch);
      return endWatch(watch, EtcdRefusal.COMPACTED, `compacted up to ${compacted}`);
    }
    const { next, request } = watch;
    if (next > revision) return;
    watch.next = revision + 1;
    const events = this.#store.changes(request, next, revision);
    if (events.length > 0) request.onEvents(events);
  }
}

export function endWatch(watch: Watch, refusal: EtcdRefusal | null, reason: string): void {
  if (watch.hasEnded) return;
  watch.hasEnded = true;
  watch.request.onEnd(refusal, reason);
}
