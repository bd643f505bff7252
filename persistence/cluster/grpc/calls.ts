/** A member of etcd over gRPC. It runs in a thread of its own: a call costs up to a millisecond. */
import * as grpc from "@grpc/grpc-js";
import { fromJSON } from "@grpc/proto-loader";
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
import { protocol } from "./messages.ts";

const CHANNEL_OPTIONS = {
  "grpc.max_receive_message_length": -1,
  "grpc.max_send_message_length": -1,
  // A member that is back is used again at once.
  "grpc.initial_reconnect_backoff_ms": 50,
  "grpc.min_reconnect_backoff_ms": 50,
  "grpc.max_reconnect_backoff_ms": 250,
  // A connection that has been cut without a word; etcd takes a ping every 5 seconds at most.
  "grpc.keepalive_time_ms": 5_500,
  "grpc.keepalive_timeout_ms": 2_000,
};

/** As in etcd's protocol. */
const EQUAL = 0;
const CREATE = 1;
const DESCENDING = 2;
const DELETE_EVENT = 1;

/** Messages, with fields as in `messages.ts`; 64-bit numbers are texts. */
interface Header {
  readonly member_id: string;
  readonly revision: string;
}
interface RawPair {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly create_revision: string;
  readonly mod_revision: string;
}
interface RawRange {
  readonly header: Header;
  readonly kvs: readonly RawPair[];
  readonly more: boolean;
}
interface RawTransaction {
  readonly header: Header;
  readonly succeeded: boolean;
  readonly responses: readonly { readonly response_range?: RawRange | null }[];
}
interface RawWatch {
  readonly canceled: boolean;
  readonly compact_revision: string;
  readonly cancel_reason: string;
  readonly events: readonly { readonly type: number; readonly kv: RawPair }[];
}

type Unary = (
  request: object,
  options: grpc.CallOptions,
  done: (error: grpc.ServiceError | null, response?: unknown) => void,
) => void;
type Service = "KV" | "Lease" | "Maintenance" | "Watch";
type Client = grpc.Client & Readonly<Record<string, Unary>>;
type Duplex = grpc.ClientDuplexStream<object, unknown>;

export class GrpcEtcd implements Etcd {
  readonly #clients: Readonly<Record<Service, Client>>;

  /** @param address - Host and port. */
  constructor(address: string) {
    const services = fromJSON(protocol(), { keepCase: true, longs: String, defaults: true });
    const open = (name: string) => {
      const definition = services[`etcdserverpb.${name}`] as grpc.ServiceDefinition;
      const Opened = grpc.makeClientConstructor(definition, name);
      const credentials = grpc.credentials.createInsecure();
      return new Opened(address, credentials, CHANNEL_OPTIONS) as unknown as Client;
    };
    this.#clients = {
      KV: open("KV"),
      Lease: open("Lease"),
      Maintenance: open("Maintenance"),
      Watch: open("Watch"),
    };
  }

  grant(ttlMs: number, deadlineMs: number, answer: Answer<LeaseGrant>): void {
    const request = { TTL: Math.ceil(ttlMs / 1_000), ID: 0 };
    this.#call(["Lease", "LeaseGrant"], { request, deadlineMs }, answer, (response) => {
      const { ID, TTL } = response as { readonly ID: string; readonly TTL: string };
      return { leaseId: ID, ttlMs: Number(TTL) * 1_000 };
    });
  }

  keepAlive(leaseId: string, deadlineMs: number, answer: Answer<{ readonly ttlMs: number }>): void {
    const stream = this.#stream("Lease", "LeaseKeepAlive", deadlineMs);
    let isAnswered = false;
    const reply = (value: Reply<{ readonly ttlMs: number }>) => {
      if (!isAnswered) answer(value);
      isAnswered = true;
    };
    stream.on("data", ({ TTL }: { readonly TTL: string }) => {
      const ttlMs = Number(TTL) * 1_000;
      const reason = "the lease has ended";
      if (ttlMs > 0) reply({ kind: "done", value: { ttlMs } });
      else reply({ kind: "refused", refusal: EtcdRefusal.LEASE_GONE, reason });
      stream.end();
    });
    stream.on("error", (error: grpc.ServiceError) => reply(replyTo(error)));
    stream.on("end", () => reply({ kind: "unknown", reason: "the stream has ended" }));
    stream.write({ ID: leaseId });
  }

  revoke(leaseId: string, deadlineMs: number, answer: Answer<null>): void {
    const call = { request: { ID: leaseId }, deadlineMs };
    const gone: Answer<null> = (reply) => {
      const isGone = reply.kind === "refused" && reply.refusal === EtcdRefusal.LEASE_GONE;
      answer(isGone ? { kind: "done", value: null } : reply);
    };
    this.#call(["Lease", "LeaseRevoke"], call, gone, () => null);
  }

  transact(change: Transaction, deadlineMs: number, answer: Answer<TransactionResult>): void {
    const request = {
      compare: change.compares.map(({ key, createRevision }) => ({
        result: EQUAL,
        target: CREATE,
        key: bytes(key),
        create_revision: createRevision,
      })),
      success: [
        ...change.puts.map(({ key, value, leaseId }) => ({
          request_put: { key: bytes(key), value, lease: leaseId ?? 0 },
        })),
        ...change.deletes.map((range) => ({ request_delete_range: rangeOf(range) })),
      ],
      failure: change.otherwiseGet.map((key) => ({ request_range: { key: bytes(key) } })),
    };
    this.#call(["KV", "Txn"], { request, deadlineMs }, answer, (response) => {
      const { succeeded, header, responses } = response as RawTransaction;
      const ranges = responses.flatMap(({ response_range: range }) => range?.kvs ?? []);
      const revision = Number(header.revision);
      return { isDone: succeeded, revision, found: succeeded ? [] : ranges.map(pairOf) };
    });
  }

  range(range: RangeRequest, deadlineMs: number, answer: Answer<RangeResult>): void {
    const request = {
      ...rangeOf(range),
      limit: range.limit,
      sort_order: range.descending === true ? DESCENDING : 0,
      keys_only: range.keysOnly === true,
    };
    this.#call(["KV", "Range"], { request, deadlineMs }, answer, (response) => {
      const { kvs, more, header } = response as RawRange;
      return { pairs: kvs.map(pairOf), more, revision: Number(header.revision) };
    });
  }

  watch({ startRevision, onEvents, onEnd, ...range }: WatchRequest): () => void {
    const stream = this.#stream("Watch", "Watch", Infinity);
    let hasEnded = false;
    const end = (refusal: EtcdRefusal | null, reason: string) => {
      if (hasEnded) return;
      hasEnded = true;
      stream.cancel();
      onEnd(refusal, reason);
    };
    stream.on("data", ({ canceled, cancel_reason, compact_revision, events }: RawWatch) => {
      if (hasEnded) return;
      if (events.length > 0) onEvents(events.map(eventOf));
      const isCompacted = Number(compact_revision) > 0;
      if (canceled) end(isCompacted ? EtcdRefusal.COMPACTED : null, cancel_reason);
    });
    stream.on("error", ({ message }: Error) => end(null, message));
    stream.on("end", () => end(null, "the stream has ended"));
    stream.write({ create_request: { ...rangeOf(range), start_revision: startRevision } });
    return () => {
      hasEnded = true;
      stream.cancel();
    };
  }

  compact(revision: number, deadlineMs: number, answer: Answer<null>): void {
    const call = { request: { revision, physical: false }, deadlineMs };
    this.#call(["KV", "Compact"], call, answer, () => null);
  }

  status(deadlineMs: number, answer: Answer<MemberStatus>): void {
    this.#call(["Maintenance", "Status"], { request: {}, deadlineMs }, answer, (response) => {
      const { version, dbSize, leader, errors, header } = response as {
        readonly version: string;
        readonly dbSize: string;
        readonly leader: string;
        readonly errors: readonly string[];
        readonly header: Header;
      };
      const databaseBytes = Number(dbSize);
      const memberId = hex(header.member_id);
      return {
        version,
        databaseBytes,
        memberId,
        leaderId: leader === "0" ? null : hex(leader),
        errors,
      };
    });
  }

  close(): Promise<void> {
    for (const client of Object.values(this.#clients)) client.close();
    return Promise.resolve();
  }

  #call<Value>(
    [service, name]: readonly [Service, string],
    { request, deadlineMs }: { readonly request: object; readonly deadlineMs: number },
    answer: Answer<Value>,
    read: (response: unknown) => Value,
  ): void {
    this.#clients[service][name]!(request, deadlineIn(deadlineMs), (error, response) => {
      if (error === null) answer({ kind: "done", value: read(response) });
      else answer(replyTo(error));
    });
  }

  #stream(service: "Lease" | "Watch", name: string, deadlineMs: number): Duplex {
    const open = this.#clients[service][name] as unknown as (options: grpc.CallOptions) => Duplex;
    return open.call(this.#clients[service], deadlineIn(deadlineMs));
  }
}

function deadlineIn(deadlineMs: number): grpc.CallOptions {
  return { deadline: deadlineMs === Infinity ? Infinity : Date.now() + deadlineMs };
}

/** Only answers that say so mean that nothing changed. */
function replyTo({ code, details }: grpc.ServiceError): Exclude<Reply<never>, { kind: "done" }> {
  const refusal = refusalOf(code, details);
  if (refusal === null) return { kind: "unknown", reason: details };
  return { kind: "refused", refusal, reason: details };
}

function refusalOf(code: grpc.status, details: string): EtcdRefusal | null {
  if (details.includes("lease not found")) return EtcdRefusal.LEASE_GONE;
  if (details.includes("has been compacted")) return EtcdRefusal.COMPACTED;
  if (details.includes("database space exceeded")) return EtcdRefusal.NO_SPACE;
  const { INVALID_ARGUMENT, PERMISSION_DENIED, UNAUTHENTICATED, UNIMPLEMENTED } = grpc.status;
  const others = [INVALID_ARGUMENT, PERMISSION_DENIED, UNAUTHENTICATED, UNIMPLEMENTED];
  return others.includes(code) ? EtcdRefusal.OTHER : null;
}

function rangeOf({ from, to }: KeyRange) {
  return { key: bytes(from), range_end: bytes(to) };
}

function pairOf({ key, value, create_revision, mod_revision }: RawPair): KeyValue {
  return {
    key: key.toString("utf8"),
    value,
    createRevision: Number(create_revision),
    modRevision: Number(mod_revision),
  };
}

function eventOf({ type, kv }: RawWatch["events"][number]): WatchEvent {
  const pair = pairOf(kv);
  if (type !== DELETE_EVENT) return { kind: "put", pair };
  return { kind: "delete", key: pair.key, modRevision: pair.modRevision };
}

function bytes(text: string): Buffer {
  return Buffer.from(text, "utf8");
}

function hex(number: string): string {
  return BigInt(number).toString(16);
}
