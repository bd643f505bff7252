/**
 * etcd calls used by a cluster, as types. The real client and the model of the simulation
 * implement them. Nothing here waits: each call answers once, in a later turn.
 *
 * Deadlines: each call names its own. When it passes, the call answers `unknown`: the change may
 * have happened, may still happen later, or may never happen. Only the same bytes may be sent then.
 */
import { assert } from "../../engine/assert.ts";
import { isCount } from "../log/bytes.ts";
import type { FramePlace } from "../log/frame.ts";

/** Outcome of a call. */
export type Reply<Value> =
  | { readonly kind: "done"; readonly value: Value }
  /** No answer, or an inconclusive one: the change may have taken place. */
  | { readonly kind: "unknown"; readonly reason: string }
  /** Nothing changed, and the same call is refused again until its cause is removed. */
  | { readonly kind: "refused"; readonly refusal: EtcdRefusal; readonly reason: string };

export const EtcdRefusal = {
  /** The lease has expired or was revoked. */
  LEASE_GONE: "lease gone",
  /** The revision was compacted. */
  COMPACTED: "compacted",
  /** The database of etcd has reached its quota. */
  NO_SPACE: "no space",
  /** Anything else, such as a wrong password or an oversized request. */
  OTHER: "other",
} as const;
export type EtcdRefusal = (typeof EtcdRefusal)[keyof typeof EtcdRefusal];

export type Answer<Value> = (reply: Reply<Value>) => void;

export interface KeyValue {
  readonly key: string;
  /** Valid for as long as the receiver wants. */
  readonly value: Buffer;
  /** The revision at which the key was last created. */
  readonly createRevision: number;
  /** The revision at which it was last changed. */
  readonly modRevision: number;
}

/** The keys from `from` on, before `to`, in order of their bytes. */
export interface KeyRange {
  readonly from: string;
  readonly to: string;
}

/** A condition of a transaction. The create revision of a missing key is 0. */
export interface Compare {
  readonly key: string;
  readonly createRevision: number;
}

export interface Put {
  readonly key: string;
  /** Must not change before the answer. */
  readonly value: Uint8Array;
  /** The key is removed when this lease ends; null to keep it. */
  readonly leaseId: string | null;
}

export interface Transaction {
  /** All must hold. */
  readonly compares: readonly Compare[];
  /** Done in one step, and only when all compares hold. */
  readonly puts: readonly Put[];
  /** Deleted in the same step. */
  readonly deletes: readonly KeyRange[];
  /** Read in the same step when a compare does not hold. */
  readonly otherwiseGet: readonly string[];
}

export interface TransactionResult {
  readonly isDone: boolean;
  /** Store revision after the transaction; the puts have it. */
  readonly revision: number;
  /** The existing keys of `otherwiseGet`; empty when the transaction was done. */
  readonly found: readonly KeyValue[];
}

/** Every read is linearizable. */
export interface RangeRequest extends KeyRange {
  /** At most this many keys; 0 for all. */
  readonly limit: number;
  readonly descending?: boolean | undefined;
  /** Without values. */
  readonly keysOnly?: boolean | undefined;
}

export interface RangeResult {
  readonly pairs: readonly KeyValue[];
  /** The limit left some out. */
  readonly more: boolean;
  /** Revision of the read. */
  readonly revision: number;
}

export interface LeaseGrant {
  readonly leaseId: string;
  /** May be longer than requested. */
  readonly ttlMs: number;
}

/** One change of a key: in order of revision, each once. */
export type WatchEvent =
  | { readonly kind: "put"; readonly pair: KeyValue }
  | { readonly kind: "delete"; readonly key: string; readonly modRevision: number };

export interface WatchRequest extends KeyRange {
  /** The first revision of interest. */
  readonly startRevision: number;
  /** All changes of one or more whole revisions. */
  readonly onEvents: (events: readonly WatchEvent[]) => void;
  /** The watch has ended and delivers nothing more. To go on, begin another one. */
  readonly onEnd: (refusal: EtcdRefusal | null, reason: string) => void;
}

export interface MemberStatus {
  readonly version: string;
  /** Bytes of the database file. */
  readonly databaseBytes: number;
  /** Hexadecimal. */
  readonly memberId: string;
  /** Hexadecimal; null when there is no leader, so there is no majority. */
  readonly leaderId: string | null;
  /** Such as NOSPACE. */
  readonly alarms: readonly string[];
}

/** A member of etcd: the one beside this host, and only that one. */
export interface Etcd {
  grant(ttlMs: number, deadlineMs: number, answer: Answer<LeaseGrant>): void;
  /** Answers the remaining time of the lease; LEASE_GONE when it has ended. */
  keepAlive(leaseId: string, deadlineMs: number, answer: Answer<{ readonly ttlMs: number }>): void;
  /** Ends the lease and removes its keys. An expired lease counts as done. */
  revoke(leaseId: string, deadlineMs: number, answer: Answer<null>): void;
  transact(change: Transaction, deadlineMs: number, answer: Answer<TransactionResult>): void;
  range(request: RangeRequest, deadlineMs: number, answer: Answer<RangeResult>): void;
  /** @returns Ends the watch; nothing is delivered afterwards. */
  watch(request: WatchRequest): () => void;
  /** Drops values superseded before the revision. */
  compact(revision: number, deadlineMs: number, answer: Answer<null>): void;
  status(deadlineMs: number, answer: Answer<MemberStatus>): void;
  /** Answers nothing more. */
  close(): Promise<void>;
}

/** Calls with one answer. */
export type CallName = Exclude<keyof Etcd, "watch" | "close">;

/** Hears the outcome of every call, before its caller does. */
export type OnReply = (name: CallName, reply: Reply<unknown>) => void;

// The keys of a cell in etcd, and the log places in them. No I/O.

const PLACE = /^([0-9a-f]{16})-([0-9a-f]{16})$/;
/** After every digit, and not used in keys. */
const AFTER_ALL = "~";

export class CellKeys {
  /** The cell's store, and the first frame of its log in etcd. */
  readonly store: string;
  /** The leader. The create revision of this key is the fencing token. */
  readonly leader: string;
  readonly logs: KeyRange;
  readonly hosts: KeyRange;
  readonly #cell: string;

  constructor(cell: string) {
    this.#cell = cell;
    this.store = `${cell}/store`;
    this.leader = `${cell}/leader`;
    this.logs = { from: `${cell}/log/`, to: `${cell}/log/${AFTER_ALL}` };
    this.hosts = { from: `${cell}/hosts/`, to: `${cell}/hosts/${AFTER_ALL}` };
  }

  /** A frame, or its first part, put last. */
  log(place: FramePlace): string {
    return `${this.logs.from}${placeText(place)}`;
  }

  /** The frames from a place on. */
  logsFrom(place: FramePlace): KeyRange {
    return { from: this.log(place), to: this.logs.to };
  }

  /** The frames before a place. */
  logsBefore(place: FramePlace): KeyRange {
    return { from: this.logs.from, to: this.log(place) };
  }

  /** A later part of a long frame. @param part - From 1. */
  part(place: FramePlace, part: number): string {
    return `${this.#cell}/part/${placeText(place)}-${hex16(part)}`;
  }

  /** All later parts of a long frame. */
  parts(place: FramePlace): KeyRange {
    const prefix = `${this.#cell}/part/${placeText(place)}-`;
    return { from: prefix, to: `${prefix}${AFTER_ALL}` };
  }

  /** The later parts of all frames from a place on. */
  partsFrom(place: FramePlace): KeyRange {
    return { from: this.part(place, 0), to: `${this.#cell}/part/${AFTER_ALL}` };
  }

  /** The later parts of all frames before a place. */
  partsBefore(place: FramePlace): KeyRange {
    return { from: `${this.#cell}/part/`, to: this.part(place, 0) };
  }

  /** Status of a host; on its lease. */
  host(name: string): string {
    return `${this.hosts.from}${name}`;
  }

  /** @returns Null for any other key. */
  placeOf(key: string): FramePlace | null {
    if (!key.startsWith(this.logs.from)) return null;
    const match = PLACE.exec(key.slice(this.logs.from.length));
    if (match === null) return null;
    return { number: parseInt(match[1]!, 16), offset: parseInt(match[2]!, 16) };
  }
}

/** @returns Less than 0 when `a` is before `b`, 0 when they are equal. */
export function comparePlaces(a: FramePlace, b: FramePlace): number {
  return a.number - b.number || a.offset - b.offset;
}

function placeText({ number, offset }: FramePlace): string {
  assert(isCount(number) && isCount(offset), "a place has safe integers");
  return `${hex16(number)}-${hex16(offset)}`;
}

function hex16(value: number): string {
  return value.toString(16).padStart(16, "0");
}
