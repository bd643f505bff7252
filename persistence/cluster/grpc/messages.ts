/**
 * The messages and calls of etcd that are used here: names and numbers as in etcd's own protocol
 * files, `api/etcdserverpb/rpc.proto` and `api/mvccpb/kv.proto` of https://github.com/etcd-io/etcd
 * (Apache-2.0). Fields that nothing here reads or writes are left out.
 */
import type { fromJSON } from "@grpc/proto-loader";

/** As the loader takes it. */
type Namespace = Parameters<typeof fromJSON>[0];

/** Fields as "type number", or "repeated type number". */
type Fields = Readonly<Record<string, string>>;

const MESSAGES: Readonly<Record<string, Fields>> = {
  ResponseHeader: { member_id: "uint64 2", revision: "int64 3" },
  KeyValue: {
    key: "bytes 1",
    create_revision: "int64 2",
    mod_revision: "int64 3",
    version: "int64 4",
    value: "bytes 5",
    lease: "int64 6",
  },
  Event: { type: "int32 1", kv: "KeyValue 2" },
  RangeRequest: {
    key: "bytes 1",
    range_end: "bytes 2",
    limit: "int64 3",
    sort_order: "int32 5",
    keys_only: "bool 8",
  },
  RangeResponse: { header: "ResponseHeader 1", kvs: "repeated KeyValue 2", more: "bool 3" },
  PutRequest: { key: "bytes 1", value: "bytes 2", lease: "int64 3" },
  PutResponse: { header: "ResponseHeader 1" },
  DeleteRangeRequest: { key: "bytes 1", range_end: "bytes 2" },
  DeleteRangeResponse: { header: "ResponseHeader 1", deleted: "int64 2" },
  RequestOp: {
    request_range: "RangeRequest 1",
    request_put: "PutRequest 2",
    request_delete_range: "DeleteRangeRequest 3",
  },
  ResponseOp: {
    response_range: "RangeResponse 1",
    response_put: "PutResponse 2",
    response_delete_range: "DeleteRangeResponse 3",
  },
  Compare: { result: "int32 1", target: "int32 2", key: "bytes 3", create_revision: "int64 5" },
  TxnRequest: {
    compare: "repeated Compare 1",
    success: "repeated RequestOp 2",
    failure: "repeated RequestOp 3",
  },
  TxnResponse: {
    header: "ResponseHeader 1",
    succeeded: "bool 2",
    responses: "repeated ResponseOp 3",
  },
  CompactionRequest: { revision: "int64 1", physical: "bool 2" },
  CompactionResponse: { header: "ResponseHeader 1" },
  WatchRequest: { create_request: "WatchCreateRequest 1" },
  WatchCreateRequest: { key: "bytes 1", range_end: "bytes 2", start_revision: "int64 3" },
  WatchResponse: {
    header: "ResponseHeader 1",
    created: "bool 3",
    canceled: "bool 4",
    compact_revision: "int64 5",
    cancel_reason: "string 6",
    events: "repeated Event 11",
  },
  LeaseGrantRequest: { TTL: "int64 1", ID: "int64 2" },
  LeaseGrantResponse: { header: "ResponseHeader 1", ID: "int64 2", TTL: "int64 3" },
  LeaseRevokeRequest: { ID: "int64 1" },
  LeaseRevokeResponse: { header: "ResponseHeader 1" },
  LeaseKeepAliveRequest: { ID: "int64 1" },
  LeaseKeepAliveResponse: { header: "ResponseHeader 1", ID: "int64 2", TTL: "int64 3" },
  StatusRequest: {},
  StatusResponse: {
    header: "ResponseHeader 1",
    version: "string 2",
    dbSize: "int64 3",
    leader: "uint64 4",
    errors: "repeated string 8",
  },
};

/** By service: its calls as "request response", with "stream" where the call is one. */
const SERVICES: Readonly<Record<string, Fields>> = {
  KV: {
    Range: "RangeRequest RangeResponse",
    Txn: "TxnRequest TxnResponse",
    Compact: "CompactionRequest CompactionResponse",
  },
  Watch: { Watch: "WatchRequest WatchResponse stream" },
  Lease: {
    LeaseGrant: "LeaseGrantRequest LeaseGrantResponse",
    LeaseRevoke: "LeaseRevokeRequest LeaseRevokeResponse",
    LeaseKeepAlive: "LeaseKeepAliveRequest LeaseKeepAliveResponse stream",
  },
  Maintenance: { Status: "StatusRequest StatusResponse" },
};

/** One message may have one of several kinds; which one it has matters only when it is written. */
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  RequestOp: ["request_range", "request_put", "request_delete_range"],
  ResponseOp: ["response_range", "response_put", "response_delete_range"],
  Compare: ["create_revision"],
};

/** All messages and calls, for the loader. */
export function protocol(): Namespace {
  const types = Object.entries(MESSAGES).map(([name, fields]) => {
    const choice = CHOICES[name];
    const oneofs = choice === undefined ? {} : { oneofs: { choice: { oneof: [...choice] } } };
    return [name, { ...oneofs, fields: mapValues(fields, fieldOf) }];
  });
  const services = Object.entries(SERVICES).map(([name, calls]) => [
    name,
    { methods: mapValues(calls, callOf) },
  ]);
  const nested = Object.fromEntries([...types, ...services]) as Namespace["nested"] & object;
  return { nested: { etcdserverpb: { nested } } };
}

function fieldOf(text: string) {
  const words = text.split(" ");
  const id = Number(words.at(-1));
  const type = words.at(-2)!;
  return words.length === 3 ? { rule: "repeated", type, id } : { type, id };
}

function callOf(text: string) {
  const [requestType, responseType, stream] = text.split(" ") as [string, string, string?];
  const isStream = stream !== undefined;
  return { requestType, responseType, requestStream: isStream, responseStream: isStream };
}

function mapValues<Value>(
  texts: Fields,
  map: (text: string) => Value,
): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, map(text)]));
}
