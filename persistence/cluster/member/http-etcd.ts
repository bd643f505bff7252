/**
 * A member of etcd over its JSON interface (https://etcd.io/docs/v3.4/dev-guide/api_grpc_gateway/),
 * which needs no package: keys and values are Base64, numbers of 64 bits are texts, and members
 * that are 0 are left out. It runs in a thread of its own.
 */
import http from "node:http";
import { text } from "node:stream/consumers";
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
import { linesOf } from "./lines.ts";

/** A member whose host has gone without a word is noticed by probes of the connection. */
const PROBE_AFTER_MS = 2_000;

interface Header {
  readonly member_id: string;
  readonly revision: string;
}
interface RawPair {
  readonly key: string;
  readonly value?: string;
  readonly create_revision?: string;
  readonly mod_revision: string;
}
interface RawRange {
  readonly header: Header;
  readonly kvs?: readonly RawPair[];
  readonly more?: boolean;
}
interface RawTransaction {
  readonly header: Header;
  readonly succeeded?: boolean;
  readonly responses?: readonly { readonly response_range?: RawRange }[];
}
interface RawWatch {
  readonly canceled?: boolean;
  readonly compact_revision?: string;
  readonly cancel_reason?: string;
  readonly events?: readonly { readonly type?: "PUT" | "DELETE"; readonly kv: RawPair }[];
}
interface RawStatus {
  readonly version: string;
  readonly dbSize?: string;
  readonly leader?: string;
  readonly errors?: readonly string[];
  readonly header: Header;
}

/** A refusal; the message of a stream has one more level. */
interface RawError {
  readonly message?: string;
  readonly error?: string | RawError;
  readonly code?: number;
  readonly grpc_code?: number;
}

/** Codes of gRPC: the request is wrong, or not permitted. */
const NEVER_DONE: ReadonlySet<number> = new Set([3, 7, 12, 16]);

interface Call {
  readonly path: string;
  readonly request: object;
  readonly deadlineMs: number;
}

export class HttpEtcd implements Etcd {
  readonly #host: string;
  readonly #port: string;
  readonly #agent = new http.Agent({ keepAlive: true });
  readonly #sent = new Set<http.ClientRequest>();

  /** @param address - Host and port. */
  constructor(address: string) {
    const { hostname, port } = new URL(`http://${address}`);
    this.#host = hostname;
    this.#port = port;
  }

  grant(ttlMs: number, deadlineMs: number, answer: Answer<LeaseGrant>): void {
    const request = { TTL: Math.ceil(ttlMs / 1_000) };
    this.#call({ path: "lease/grant", request, deadlineMs }, answer, (response) => {
      const { ID, TTL } = response as { readonly ID: string; readonly TTL: string };
      return { leaseId: ID, ttlMs: Number(TTL) * 1_000 };
    });
  }

  keepAlive(leaseId: string, deadlineMs: number, answer: Answer<{ readonly ttlMs: number }>): void {
    const call = { path: "lease/keepalive", request: { ID: leaseId }, deadlineMs };
    const judge: Answer<{ readonly ttlMs: number }> = (reply) => {
      const hasEnded = reply.kind === "done" && reply.value.ttlMs === 0;
      answer(hasEnded ? GONE : reply);
    };
    this.#call(call, judge, (response) => {
      const { result } = response as { readonly result: { readonly TTL?: string } };
      return { ttlMs: Number(result.TTL ?? 0) * 1_000 };
    });
  }

  revoke(leaseId: string, deadlineMs: number, answer: Answer<null>): void {
    const gone: Answer<null> = (reply) => {
      const isGone = reply.kind === "refused" && reply.refusal === EtcdRefusal.LEASE_GONE;
      answer(isGone ? { kind: "done", value: null } : reply);
    };
    const call = { path: "lease/revoke", request: { ID: leaseId }, deadlineMs };
    this.#call(call, gone, () => null);
  }

  transact(change: Transaction, deadlineMs: number, answer: Answer<TransactionResult>): void {
    const request = {
      compare: change.compares.map(({ key, createRevision }) => ({
        result: "EQUAL",
        target: "CREATE",
        key: base64(key),
        create_revision: String(createRevision),
      })),
      success: [
        ...change.puts.map(({ key, value, leaseId }) => ({
          request_put: { key: base64(key), value: bytesAsBase64(value), lease: leaseId ?? "0" },
        })),
        ...change.deletes.map((range) => ({ request_delete_range: rangeOf(range) })),
      ],
      failure: change.otherwiseGet.map((key) => ({ request_range: { key: base64(key) } })),
    };
    this.#call({ path: "kv/txn", request, deadlineMs }, answer, (response) => {
      const { succeeded = false, header, responses = [] } = response as RawTransaction;
      const pairs = responses.flatMap(({ response_range: range }) => range?.kvs ?? []);
      const revision = Number(header.revision);
      return { isDone: succeeded, revision, found: succeeded ? [] : pairs.map(pairOf) };
    });
  }

  range(range: RangeRequest, deadlineMs: number, answer: Answer<RangeResult>): void {
    const request = {
      ...rangeOf(range),
      limit: String(range.limit),
      sort_order: range.descending === true ? "DESCEND" : "NONE",
      keys_only: range.keysOnly === true,
    };
    this.#call({ path: "kv/range", request, deadlineMs }, answer, (response) => {
      const { kvs = [], more = false, header } = response as RawRange;
      return { pairs: kvs.map(pairOf), more, revision: Number(header.revision) };
    });
  }

  watch({ startRevision, onEvents, onEnd, ...range }: WatchRequest): () => void {
    const wanted = { ...rangeOf(range), start_revision: String(startRevision) };
    const sent = this.#post("watch", { create_request: wanted });
    let hasEnded = false;
    const end = (refusal: EtcdRefusal | null, reason: string) => {
      if (hasEnded) return;
      hasEnded = true;
      sent.destroy();
      onEnd(refusal, reason);
    };
    const take = (line: string) => {
      const { result, error } = JSON.parse(line) as { result?: RawWatch; error?: RawError };
      if (hasEnded) return;
      if (result === undefined) {
        end(null, messageOf(error ?? {}));
        return;
      }
      const { events = [], canceled = false, cancel_reason = "", compact_revision = "0" } = result;
      if (events.length > 0) onEvents(events.map(eventOf));
      if (canceled) end(compact_revision === "0" ? null : EtcdRefusal.COMPACTED, cancel_reason);
    };
    sent.on("error", ({ message }) => end(null, message));
    sent.on("response", (response) => {
      linesOf(response, take).then(
        () => end(null, "the stream has ended"),
        (error: unknown) => end(null, String(error)),
      );
    });
    return () => {
      hasEnded = true;
      sent.destroy();
    };
  }

  compact(revision: number, deadlineMs: number, answer: Answer<null>): void {
    const request = { revision: String(revision) };
    this.#call({ path: "kv/compaction", request, deadlineMs }, answer, () => null);
  }

  status(deadlineMs: number, answer: Answer<MemberStatus>): void {
    this.#call({ path: "maintenance/status", request: {}, deadlineMs }, answer, (response) => {
      const { version, dbSize = "0", leader = "0", errors = [], header } = response as RawStatus;
      const leaderId = leader === "0" ? null : hex(leader);
      return {
        version,
        databaseBytes: Number(dbSize),
        memberId: hex(header.member_id),
        leaderId,
        errors,
      };
    });
  }

  close(): Promise<void> {
    for (const sent of this.#sent)
      sent
        .removeAllListeners()
        .on("error", () => {})
        .destroy();
    this.#agent.destroy();
    return Promise.resolve();
  }

  #post(path: string, request: object): http.ClientRequest {
    const body = JSON.stringify(request);
    const sent = http.request({
      method: "POST",
      host: this.#host,
      port: this.#port,
      path: `/v3/${path}`,
      agent: this.#agent,
      headers: { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) },
    });
    this.#sent.add(sent);
    sent.on("socket", (socket) => void socket.setKeepAlive(true, PROBE_AFTER_MS));
    sent.on("close", () => this.#sent.delete(sent));
    sent.end(body);
    return sent;
  }

  #call<Value>(
    { path, request, deadlineMs }: Call,
    answer: Answer<Value>,
    read: (response: unknown) => Value,
  ): void {
    const sent = this.#post(path, request);
    let isAnswered = false;
    const reply = (value: Reply<Value>) => {
      if (isAnswered) return;
      isAnswered = true;
      clearTimeout(timer);
      answer(value);
    };
    const unknown = (reason: string) => reply({ kind: "unknown", reason });
    const timer = setTimeout(() => {
      unknown("no answer in time");
      sent.destroy();
    }, deadlineMs);
    sent.on("error", ({ message }) => unknown(message));
    sent.on("response", (response) => {
      text(response).then(
        (body) => reply(replyTo(response.statusCode!, body, read)),
        (error: unknown) => unknown(String(error)),
      );
    });
  }
}

const GONE = {
  kind: "refused",
  refusal: EtcdRefusal.LEASE_GONE,
  reason: "the lease has ended",
} as const;

function replyTo<Value>(
  status: number,
  body: string,
  read: (response: unknown) => Value,
): Reply<Value> {
  let response: unknown;
  try {
    response = JSON.parse(body);
  } catch {
    // A proxy, or an answer that was cut off.
    return { kind: "unknown", reason: `status ${status} without JSON` };
  }
  const { error } = response as { readonly error?: unknown };
  if (status === 200 && error === undefined) return { kind: "done", value: read(response) };
  return refusalIn(response as RawError);
}

/** Only answers that say so mean that nothing changed. */
function refusalIn(failed: RawError): Exclude<Reply<never>, { readonly kind: "done" }> {
  const reason = messageOf(failed);
  const within = typeof failed.error === "object" ? failed.error : failed;
  const refusal = refusalOf(within.code ?? within.grpc_code ?? 0, reason);
  return refusal === null ? { kind: "unknown", reason } : { kind: "refused", refusal, reason };
}

function messageOf({ message, error }: RawError): string {
  return typeof error === "object" ? messageOf(error) : (message ?? error ?? "no reason");
}

function refusalOf(code: number, reason: string): EtcdRefusal | null {
  if (reason.includes("lease not found")) return EtcdRefusal.LEASE_GONE;
  if (reason.includes("has been compacted")) return EtcdRefusal.COMPACTED;
  if (reason.includes("database space exceeded")) return EtcdRefusal.NO_SPACE;
  return NEVER_DONE.has(code) ? EtcdRefusal.OTHER : null;
}

function rangeOf({ from, to }: KeyRange) {
  return { key: base64(from), range_end: base64(to) };
}

function pairOf({ key, value = "", create_revision = "0", mod_revision }: RawPair): KeyValue {
  return {
    key: Buffer.from(key, "base64").toString("utf8"),
    value: Buffer.from(value, "base64"),
    createRevision: Number(create_revision),
    modRevision: Number(mod_revision),
  };
}

function eventOf({ type = "PUT", kv }: Required<RawWatch>["events"][number]): WatchEvent {
  const pair = pairOf(kv);
  if (type === "PUT") return { kind: "put", pair };
  return { kind: "delete", key: pair.key, modRevision: pair.modRevision };
}

function base64(key: string): string {
  return Buffer.from(key, "utf8").toString("base64");
}

function bytesAsBase64({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}

function hex(number: string): string {
  return BigInt(number).toString(16);
}
