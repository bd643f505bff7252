/** A member of etcd over gRPC. It runs in a thread of its own. */
import { Malformed, only } from "../../disk/faults.ts";
import {
  type Answer,
  type Etcd,
  EtcdRefusal,
  type KeyRange,
  type KeyValue,
  type LeaseGrant,
  type MemberStatus,
  type RangeRequest,
  type RangeResult,
  type Reply,
  type Transaction,
  type TransactionResult,
  type WatchEvent,
  type WatchRequest,
} from "../etcd.ts";
import { type CallEnd, GrpcChannel } from "./grpc.ts";
import {
  COMPACT,
  CompareTarget,
  type EVENT,
  EventType,
  type KEY_VALUE,
  LEASE_GRANT,
  LEASE_KEEP_ALIVE,
  LEASE_REVOKE,
  type Method,
  RANGE,
  SortOrder,
  STATUS,
  TRANSACT,
  WATCH,
} from "./messages.ts";
import { type Decoded, decode, type Encodable, encode } from "./protobuf.ts";

/** Statuses of gRPC that say that the request is wrong, or not permitted. */
const NEVER_DONE: ReadonlySet<number> = new Set([3, 7, 12, 16]);
const MS = 1_000;

interface Call<M extends Method, Value> {
  readonly method: M;
  readonly request: Encodable<M["request"]>;
  readonly deadlineMs: number;
  readonly answer: Answer<Value>;
  readonly read: (response: Decoded<M["response"]>) => Value;
}

export class GrpcEtcd implements Etcd {
  readonly #channel: GrpcChannel;

  /** @param address - Host and port. */
  constructor(address: string) {
    this.#channel = new GrpcChannel(address);
  }

  grant(ttlMs: number, deadlineMs: number, answer: Answer<LeaseGrant>): void {
    const request = { ttlSeconds: Math.ceil(ttlMs / MS) };
    const read = ({ id, ttlSeconds }: Decoded<(typeof LEASE_GRANT)["response"]>) => {
      return { leaseId: String(id), ttlMs: ttlSeconds * MS };
    };
    this.#call({ method: LEASE_GRANT, request, deadlineMs, answer, read });
  }

  /**
   * Each keep-alive has a stream of its own. On a common one, a late answer could be taken for that
   * of a later keep-alive, and the lease for longer than it is.
   */
  keepAlive(leaseId: string, deadlineMs: number, answer: Answer<{ readonly ttlMs: number }>): void {
    const judge: typeof answer = (reply) => {
      const hasEnded = reply.kind === "done" && reply.value.ttlMs === 0;
      answer(hasEnded ? GONE : reply);
    };
    this.#call({
      method: LEASE_KEEP_ALIVE,
      request: { id: BigInt(leaseId) },
      deadlineMs,
      answer: judge,
      read: ({ ttlSeconds }) => ({ ttlMs: ttlSeconds * MS }),
    });
  }

  revoke(leaseId: string, deadlineMs: number, answer: Answer<null>): void {
    const judge: typeof answer = (reply) => {
      const isGone = reply.kind === "refused" && reply.refusal === EtcdRefusal.LEASE_GONE;
      answer(isGone ? { kind: "done", value: null } : reply);
    };
    this.#call({
      method: LEASE_REVOKE,
      request: { id: BigInt(leaseId) },
      deadlineMs,
      answer: judge,
      read: () => null,
    });
  }

  transact(change: Transaction, deadlineMs: number, answer: Answer<TransactionResult>): void {
    const request = {
      compares: change.compares.map((compare) => ({ target: CompareTarget.CREATE, ...compare })),
      success: [
        ...change.puts.map(({ key, value, leaseId }) => ({
          put: { key, value, leaseId: BigInt(leaseId ?? 0) },
        })),
        ...change.deletes.map((range) => ({ delete: rangeOf(range) })),
      ],
      failure: change.otherwiseGet.map((key) => ({ range: { key } })),
    };
    this.#call({
      method: TRANSACT,
      request,
      deadlineMs,
      answer,
      read: ({ header: { revision }, succeeded: isDone, responses }) => {
        const pairs = responses.flatMap(({ range }) => range.pairs);
        return { isDone, revision, found: isDone ? [] : pairs.map(pairOf) };
      },
    });
  }

  range(range: RangeRequest, deadlineMs: number, answer: Answer<RangeResult>): void {
    const { limit, descending, keysOnly } = range;
    const sortOrder = descending === true ? SortOrder.DESCEND : SortOrder.NONE;
    this.#call({
      method: RANGE,
      request: { ...rangeOf(range), limit, sortOrder, keysOnly },
      deadlineMs,
      answer,
      read: ({ header: { revision }, pairs, more }) => {
        return { pairs: pairs.map(pairOf), more, revision };
      },
    });
  }

  watch({ startRevision, onEvents, onEnd, ...range }: WatchRequest): () => void {
    const { path, request, response } = WATCH;
    const message = encode(request, { create: { ...rangeOf(range), startRevision } });
    const end = (refusal: EtcdRefusal | null, reason: string) => {
      cancel();
      onEnd(refusal, reason);
    };
    const cancel = this.#channel.stream(
      { path, message },
      {
        onMessage: (bytes) => {
          const read = decoded(response, bytes);
          if (read === null) return end(null, "a malformed message");
          const { events, isCanceled, cancelReason, compactRevision } = read;
          if (events.length > 0) onEvents(events.map(eventOf));
          if (!isCanceled) return;
          end(compactRevision === 0 ? null : EtcdRefusal.COMPACTED, cancelReason);
        },
        onEnd: ({ reason }) => onEnd(null, reason),
      },
    );
    return cancel;
  }

  compact(revision: number, deadlineMs: number, answer: Answer<null>): void {
    const read = () => null;
    this.#call({ method: COMPACT, request: { revision }, deadlineMs, answer, read });
  }

  status(deadlineMs: number, answer: Answer<MemberStatus>): void {
    this.#call({
      method: STATUS,
      request: {},
      deadlineMs,
      answer,
      read: ({ version, databaseBytes, leader, errors, header }) => {
        const leaderId = leader === 0n ? null : leader.toString(16);
        const alarms = errors.filter((text) => ALARM.test(text));
        return { version, databaseBytes, memberId: header.memberId.toString(16), leaderId, alarms };
      },
    });
  }

  close(): Promise<void> {
    this.#channel.close();
    return Promise.resolve();
  }

  #call<M extends Method, Value>(call: Call<M, Value>): void {
    const { method, request, deadlineMs, answer, read } = call;
    const message = encode(method.request, request);
    this.#channel.call({ path: method.path, message }, deadlineMs, (end, response) => {
      if (response === null) return answer(refusalIn(end));
      const value = decoded(method.response as M["response"], response);
      if (value === null) answer({ kind: "unknown", reason: "a malformed message" });
      else answer({ kind: "done", value: read(value) });
    });
  }
}

/** An alarm among the errors of a member; that it has no leader is one of them, too. */
const ALARM = /\balarm:/;

const GONE = {
  kind: "refused",
  refusal: EtcdRefusal.LEASE_GONE,
  reason: "the lease has ended",
} as const;

/** @returns Null when the bytes are not such a message. */
function decoded<M extends Method["response"]>(message: M, bytes: Buffer): Decoded<M> | null {
  try {
    return decode(message, bytes);
  } catch (error) {
    only(error, Malformed);
    return null;
  }
}

/** Only answers that say so mean that nothing changed. */
function refusalIn({ status, reason }: CallEnd): Exclude<Reply<never>, { readonly kind: "done" }> {
  const refusal = status === null ? null : refusalOf(status, reason);
  return refusal === null ? { kind: "unknown", reason } : { kind: "refused", refusal, reason };
}

function refusalOf(status: number, reason: string): EtcdRefusal | null {
  if (reason.includes("lease not found")) return EtcdRefusal.LEASE_GONE;
  if (reason.includes("has been compacted")) return EtcdRefusal.COMPACTED;
  if (reason.includes("database space exceeded")) return EtcdRefusal.NO_SPACE;
  return NEVER_DONE.has(status) ? EtcdRefusal.OTHER : null;
}

function rangeOf({ from, to }: KeyRange) {
  return { key: from, rangeEnd: to };
}

function pairOf({ value, ...pair }: Decoded<typeof KEY_VALUE>): KeyValue {
  return { ...pair, value: Buffer.from(value.buffer, value.byteOffset, value.length) };
}

function eventOf({ type, pair }: Decoded<typeof EVENT>): WatchEvent {
  if (type === EventType.PUT) return { kind: "put", pair: pairOf(pair) };
  return { kind: "delete", key: pair.key, modRevision: pair.modRevision };
}
