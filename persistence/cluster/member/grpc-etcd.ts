/** A member of etcd over gRPC. It runs in a thread of its own. */
import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
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
import {
  type Event,
  type KeyValue as Pair,
  KV,
  Lease,
  Maintenance,
  type ResponseHeader,
  Watch,
} from "./etcd_pb.ts";
import { type CallEnd, GrpcChannel, type Request } from "./grpc.ts";

const DESCENDING = 2;
const CREATE_REVISION = 1;
const PUT = 0;
/** Statuses of gRPC that say that the request is wrong, or not permitted. */
const NEVER_DONE: ReadonlySet<number> = new Set([3, 7, 12, 16]);
const MS = 1_000;

type Method<Input extends DescMessage, Output extends DescMessage> = DescMethod & {
  readonly input: Input;
  readonly output: Output;
};

interface Call<Input extends DescMessage, Output extends DescMessage, Value> {
  readonly method: Method<Input, Output>;
  readonly request: MessageInitShape<Input>;
  readonly deadlineMs: number;
  readonly answer: Answer<Value>;
  /** @throws Malformed */
  readonly read: (response: MessageShape<Output>) => Value;
}

export class GrpcEtcd implements Etcd {
  readonly #channel: GrpcChannel;

  /** @param address - Host and port. */
  constructor(address: string) {
    this.#channel = new GrpcChannel(address);
  }

  grant(ttlMs: number, deadlineMs: number, answer: Answer<LeaseGrant>): void {
    this.#call({
      method: Lease.method.leaseGrant,
      request: { ttl: BigInt(Math.ceil(ttlMs / MS)) },
      deadlineMs,
      answer,
      read: ({ id, ttl }) => ({ leaseId: String(id), ttlMs: safe(ttl) * MS }),
    });
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
      method: Lease.method.leaseKeepAlive,
      request: { id: BigInt(leaseId) },
      deadlineMs,
      answer: judge,
      read: ({ ttl }) => ({ ttlMs: safe(ttl) * MS }),
    });
  }

  revoke(leaseId: string, deadlineMs: number, answer: Answer<null>): void {
    const judge: typeof answer = (reply) => {
      const isGone = reply.kind === "refused" && reply.refusal === EtcdRefusal.LEASE_GONE;
      answer(isGone ? { kind: "done", value: null } : reply);
    };
    this.#call({
      method: Lease.method.leaseRevoke,
      request: { id: BigInt(leaseId) },
      deadlineMs,
      answer: judge,
      read: () => null,
    });
  }

  transact(change: Transaction, deadlineMs: number, answer: Answer<TransactionResult>): void {
    const request = {
      compare: change.compares.map(({ key, createRevision }) => {
        return { target: CREATE_REVISION, key, createRevision: BigInt(createRevision) };
      }),
      success: [
        ...change.puts.map(({ key, value, leaseId }) => ({
          requestPut: { key, value, lease: BigInt(leaseId ?? 0) },
        })),
        ...change.deletes.map((range) => ({ requestDeleteRange: rangeOf(range) })),
      ],
      failure: change.otherwiseGet.map((key) => ({ requestRange: { key } })),
    };
    this.#call({
      method: KV.method.txn,
      request,
      deadlineMs,
      answer,
      read: ({ header, succeeded: isDone, responses }) => {
        const pairs = responses.flatMap(({ responseRange }) => responseRange?.kvs ?? []);
        return { isDone, revision: revisionIn(header), found: isDone ? [] : pairs.map(pairOf) };
      },
    });
  }

  range(range: RangeRequest, deadlineMs: number, answer: Answer<RangeResult>): void {
    const { limit, descending = false, keysOnly = false } = range;
    const sortOrder = descending ? DESCENDING : 0;
    this.#call({
      method: KV.method.range,
      request: { ...rangeOf(range), limit: BigInt(limit), sortOrder, keysOnly },
      deadlineMs,
      answer,
      read: ({ header, kvs, more }) => {
        return { pairs: kvs.map(pairOf), more, revision: revisionIn(header) };
      },
    });
  }

  watch({ startRevision, onEvents, onEnd, ...range }: WatchRequest): () => void {
    const { watch } = Watch.method;
    const createRequest = { ...rangeOf(range), startRevision: BigInt(startRevision) };
    const end = (refusal: EtcdRefusal | null, reason: string) => {
      cancel();
      onEnd(refusal, reason);
    };
    const cancel = this.#channel.stream(requestOf(watch, { createRequest }), {
      onMessage: (bytes) => {
        const reply = replyIn(watch, bytes, (message) => {
          return { ...message, events: message.events.map(eventOf) };
        });
        if (reply.kind === "unknown") return end(null, reply.reason);
        const { events, canceled, cancelReason, compactRevision } = reply.value;
        if (events.length > 0) onEvents(events);
        if (canceled) end(compactRevision === 0n ? null : EtcdRefusal.COMPACTED, cancelReason);
      },
      onEnd: ({ reason }) => onEnd(null, reason),
    });
    return cancel;
  }

  compact(revision: number, deadlineMs: number, answer: Answer<null>): void {
    const request = { revision: BigInt(revision) };
    this.#call({ method: KV.method.compact, request, deadlineMs, answer, read: () => null });
  }

  status(deadlineMs: number, answer: Answer<MemberStatus>): void {
    this.#call({
      method: Maintenance.method.status,
      request: {},
      deadlineMs,
      answer,
      read: ({ version, dbSize, leader, errors, header }) => ({
        version,
        databaseBytes: safe(dbSize),
        memberId: (header?.memberId ?? 0n).toString(16),
        leaderId: leader === 0n ? null : leader.toString(16),
        alarms: errors.filter((text) => ALARM.test(text)),
      }),
    });
  }

  close(): Promise<void> {
    this.#channel.close();
    return Promise.resolve();
  }

  #call<Input extends DescMessage, Output extends DescMessage, Value>(
    call: Call<Input, Output, Value>,
  ): void {
    const { method, request, deadlineMs, answer, read } = call;
    this.#channel.call(requestOf(method, request), deadlineMs, (end, response) => {
      answer(response === null ? refusalIn(end) : replyIn(method, response, read));
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

function requestOf<Input extends DescMessage>(
  method: Method<Input, DescMessage>,
  request: MessageInitShape<Input>,
): Request {
  const path = `/${method.parent.typeName}/${method.name}`;
  return { path, message: toBinary(method.input, create(method.input, request)) };
}

/** Unknown when the bytes are not such a message: what became of the call is open. */
function replyIn<Output extends DescMessage, Value>(
  { output }: Method<DescMessage, Output>,
  bytes: Buffer,
  read: (message: MessageShape<Output>) => Value,
): Exclude<Reply<Value>, { readonly kind: "refused" }> {
  try {
    return { kind: "done", value: read(decoded(output, bytes)) };
  } catch (error) {
    only(error, Malformed);
    return { kind: "unknown", reason: "a malformed message" };
  }
}

function decoded<Output extends DescMessage>(type: Output, bytes: Buffer): MessageShape<Output> {
  try {
    return fromBinary(type, bytes, { readUnknownFields: false });
  } catch (error) {
    throw new Malformed(type.typeName, String(error));
  }
}

function safe(value: bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new Malformed("a safe integer", `${value}`);
  return number;
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

function revisionIn(header: ResponseHeader | undefined): number {
  return safe(header?.revision ?? 0n);
}

function pairOf({ key, value, createRevision, modRevision }: Pair): KeyValue {
  return {
    key,
    value: Buffer.from(value.buffer, value.byteOffset, value.length),
    createRevision: safe(createRevision),
    modRevision: safe(modRevision),
  };
}

function eventOf({ type, kv }: Event): WatchEvent {
  if (kv === undefined) throw new Malformed("an event with a key", "none");
  const pair = pairOf(kv);
  if (type === PUT) return { kind: "put", pair };
  return { kind: "delete", key: pair.key, modRevision: pair.modRevision };
}
