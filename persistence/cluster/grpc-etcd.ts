/** A member of etcd over gRPC. It runs in a thread of its own. */
import http2 from "node:http2";
import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Malformed, only } from "../disk/faults.ts";
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
} from "./etcd.ts";
import {
  type Event,
  type KeyValue as Pair,
  KV,
  Lease,
  Maintenance,
  type ResponseHeader,
  Watch,
} from "./member/etcd_pb.ts";

const DESCENDING = 2;
const CREATE_REVISION = 1;
const PUT = 0;
/** gRPC statuses of a wrong or forbidden request. */
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
   * Each keep-alive has a stream of its own. On a common one, a late answer could pass for that
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
    const { method, request, deadlineMs, answer, read: readReply } = call;
    this.#channel.call(requestOf(method, request), deadlineMs, (end, response) => {
      answer(response === null ? refusalIn(end) : replyIn(method, response, readReply));
    });
  }
}

/** Alarms among the errors of a member; a missing leader is an error too. */
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

/** Unknown for malformed bytes: the outcome of the call is open. */
function replyIn<Output extends DescMessage, Value>(
  { output }: Method<DescMessage, Output>,
  bytes: Buffer,
  readReply: (message: MessageShape<Output>) => Value,
): Exclude<Reply<Value>, { readonly kind: "refused" }> {
  try {
    return { kind: "done", value: readReply(decoded(output, bytes)) };
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

/** Only an explicit refusal means an unchanged store. */
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

// gRPC over HTTP/2 (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md): a call is a
// stream, a message has a prefix of five bytes, and the trailers say how the call ended. All calls
// to a server share one connection, opened on demand.

const OK = 0;
const PREFIX_BYTES = 5;
/** A frame of the log with all its parts is half as long. */
const MESSAGE_BYTES_MAX = 512 * 1024 * 1024;
/** Flow-control window of a stream, and of the connection. */
const WINDOW_BYTES = 16 * 1024 * 1024;
/** The limit of Node, in megabytes, would refuse calls while long messages are sent. */
const SESSION_MEMORY_MB = 256;
/** By default, etcd closes an idle connection probed every 5 s. */
const PROBE_EVERY_MS = 6_000;
const PROBE_DEADLINE_MS = 2_000;
/** A connection has numbers for 2^30 streams. */
const CALLS_MAX = 2 ** 29;

/** End of a call. */
interface CallEnd {
  /** Null when the server did not say, so the connection was lost, or the answer was malformed. */
  readonly status: number | null;
  readonly reason: string;
}

export interface CallEvents {
  readonly onMessage: (message: Buffer) => void;
  /** Called once; no message follows. */
  readonly onEnd: (end: CallEnd) => void;
}

/** The first message of a call. */
interface Request {
  readonly path: string;
  readonly message: Uint8Array;
}

export class GrpcChannel {
  readonly #address: string;
  readonly #callsMax: number;
  #connection: Connection | null = null;
  #isClosed = false;

  /** @param address - Host and port. */
  constructor(address: string, callsMax = CALLS_MAX) {
    this.#address = address;
    this.#callsMax = callsMax;
  }

  /** Opens a call whose request goes on. @returns Cancels it; nothing is called afterwards. */
  stream(request: Request, events: CallEvents): () => void {
    if (this.#isClosed) return () => {};
    const { stream, cancel } = this.#open(request, events);
    writeFramed(stream, request.message);
    return cancel;
  }

  /**
   * A call with one request and one response.
   * @param onEnd - The response is null without one, or when the status is not 0.
   */
  call(
    request: Request,
    deadlineMs: number,
    onEnd: (end: CallEnd, response: Buffer | null) => void,
  ): void {
    if (this.#isClosed) return;
    let response: Buffer | null = null;
    const { stream, cancel } = this.#open(request, {
      onMessage: (message) => (response = message),
      onEnd: (end) => {
        clearTimeout(timer);
        onEnd(end, end.status === OK ? response : null);
      },
    });
    const connection = this.#connection!;
    const { heard } = connection;
    const timer = setTimeout(() => {
      cancel();
      if (this.#isClosed) return;
      if (connection.heard === heard) connection.probe();
      onEnd({ status: null, reason: "no answer in time" }, null);
    }, deadlineMs);
    writeFramed(stream, request.message);
    stream.end();
  }

  /** Nothing is called afterwards. */
  close(): void {
    this.#isClosed = true;
    if (this.#connection !== null) afterCallbacks(() => this.#connection!.destroy());
  }

  #open({ path }: Request, { onMessage, onEnd }: CallEvents) {
    const stream = this.#connected().request(path);
    const reader = new MessageReader();
    let end: CallEnd = { status: null, reason: "the call ended without a status" };
    let isOver = false;
    const ifOpen = (report: () => void) => {
      if (!isOver && !this.#isClosed) report();
    };
    stream.on("response", (headers) => (end = endIn(headers) ?? end));
    stream.on("trailers", (headers) => (end = endIn(headers) ?? end));
    stream.on("error", ({ message }) => (end = { status: null, reason: message }));
    stream.on("data", (chunk: Buffer) => {
      try {
        reader.take(chunk, (message) => ifOpen(() => onMessage(message)));
      } catch (error) {
        only(error, Malformed);
        afterCallbacks(() => stream.destroy(error));
      }
    });
    // The call is over, although its request could go on.
    stream.on("end", () => stream.end());
    stream.on("close", () => ifOpen(() => onEnd(end)));
    const cancel = () => {
      isOver = true;
      afterCallbacks(() => stream.close(http2.constants.NGHTTP2_CANCEL));
    };
    return { stream, cancel };
  }

  #connected(): Connection {
    if (this.#connection?.isUsable !== true) {
      this.#connection?.destroy();
      this.#connection = new Connection(this.#address, this.#callsMax);
    }
    return this.#connection;
  }
}

/**
 * Node can abort the process when a stream or its connection is ended within a callback of the
 * connection, because native code still handles the received bytes.
 */
function afterCallbacks(end: () => void): void {
  setImmediate(end);
}

/** @returns Null when the headers do not say how the call ended. */
function endIn(
  headers: http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader,
): CallEnd | null {
  const { ":status": httpStatus = 200, "grpc-status": status, "grpc-message": message } = headers;
  if (httpStatus !== 200) return { status: null, reason: `HTTP status ${httpStatus}` };
  if (status === undefined) return null;
  return { status: Number(status), reason: unescaped(String(message ?? "no reason")) };
}

function unescaped(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    // It is only shown.
    return message;
  }
}

class Connection {
  readonly #session: http2.ClientHttp2Session;
  #callsLeft: number;
  #isProbing = false;
  /** Counts messages of the server. */
  heard = 0;

  constructor(address: string, callsMax: number) {
    this.#callsLeft = callsMax;
    const session = http2.connect(`http://${address}`, {
      settings: { enablePush: false, initialWindowSize: WINDOW_BYTES },
      maxSessionMemory: SESSION_MEMORY_MB,
    });
    const timer = setInterval(() => this.probe(), PROBE_EVERY_MS);
    session.on("connect", () => session.setLocalWindowSize(WINDOW_BYTES));
    // Its streams report it.
    session.on("error", () => {});
    session.on("close", () => clearInterval(timer));
    this.#session = session;
  }

  get isUsable(): boolean {
    return this.#callsLeft > 0 && !this.#session.closed && !this.#session.destroyed;
  }

  request(path: string): http2.ClientHttp2Stream {
    this.#callsLeft -= 1;
    const stream = this.#session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
    });
    const hear = () => (this.heard += 1);
    return stream.on("response", hear).on("data", hear).on("trailers", hear);
  }

  /** Ends the connection unless the server answers soon. */
  probe(): void {
    const session = this.#session;
    if (this.#isProbing || session.destroyed) return;
    this.#isProbing = true;
    const late = () => session.destroy(new Error("the server does not answer probes"));
    const timer = setTimeout(late, PROBE_DEADLINE_MS);
    session.ping((error: Error | null) => {
      clearTimeout(timer);
      this.#isProbing = false;
      if (error !== null && !session.destroyed) session.destroy(error);
    });
  }

  destroy(): void {
    this.#session.destroy();
  }
}

/** The message after its prefix: zero for uncompressed, and the length. */
function writeFramed(stream: http2.ClientHttp2Stream, message: Uint8Array): void {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  // Together, without a copy.
  stream.cork();
  stream.write(prefix);
  stream.write(message);
  stream.uncork();
}

/** Splits the byte stream into messages. */
class MessageReader {
  #parts: Buffer[] = [];
  #bytes = 0;
  /** Nothing can be done before as many bytes have arrived. */
  #neededBytes = PREFIX_BYTES;

  /** @throws Malformed for a compressed or oversized message. */
  take(chunk: Buffer, onMessage: (message: Buffer) => void): void {
    this.#parts.push(chunk);
    this.#bytes += chunk.length;
    while (this.#bytes >= this.#neededBytes) {
      const joined = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
      const endBytes = PREFIX_BYTES + lengthIn(joined);
      const isWhole = joined.length >= endBytes;
      if (isWhole) onMessage(joined.subarray(PREFIX_BYTES, endBytes));
      const rest = isWhole ? joined.subarray(endBytes) : joined;
      this.#parts = [rest];
      this.#bytes = rest.length;
      this.#neededBytes = isWhole ? PREFIX_BYTES : endBytes;
    }
  }
}

function lengthIn(prefixed: Buffer): number {
  if (prefixed[0] !== 0) throw new Malformed("a message without compression", `${prefixed[0]}`);
  const length = prefixed.readUInt32BE(1);
  if (length > MESSAGE_BYTES_MAX) throw new Malformed("a shorter message", `${length} bytes`);
  return length;
}
