/**
 * The methods of etcd that a host calls, and the fields that it needs of their messages: numbers
 * and types from etcd's published `rpc.proto` and `kv.proto`
 * (https://github.com/etcd-io/etcd/tree/main/api), which are the same from etcd 3.4 on.
 */
import type { Message } from "./protobuf.ts";

export const SortOrder = { NONE: 0, DESCEND: 2 } as const;
export const CompareTarget = { CREATE: 1 } as const;
export const EventType = { PUT: 0, DELETE: 1 } as const;

const HEADER = {
  memberId: { number: 2, type: "id" },
  revision: { number: 3, type: "int64" },
} as const satisfies Message;

export const KEY_VALUE = {
  key: { number: 1, type: "string" },
  createRevision: { number: 2, type: "int64" },
  modRevision: { number: 3, type: "int64" },
  value: { number: 5, type: "bytes" },
} as const satisfies Message;

export const EVENT = {
  type: { number: 1, type: "int64" },
  pair: { number: 2, type: KEY_VALUE },
} as const satisfies Message;

const RANGE_REQUEST = {
  key: { number: 1, type: "string" },
  rangeEnd: { number: 2, type: "string" },
  limit: { number: 3, type: "int64" },
  sortOrder: { number: 5, type: "int64" },
  keysOnly: { number: 8, type: "bool" },
} as const satisfies Message;

const RANGE_RESPONSE = {
  header: { number: 1, type: HEADER },
  pairs: { number: 2, type: KEY_VALUE, isRepeated: true },
  more: { number: 3, type: "bool" },
} as const satisfies Message;

const PUT_REQUEST = {
  key: { number: 1, type: "string" },
  value: { number: 2, type: "bytes" },
  leaseId: { number: 3, type: "id" },
} as const satisfies Message;

const DELETE_REQUEST = {
  key: { number: 1, type: "string" },
  rangeEnd: { number: 2, type: "string" },
} as const satisfies Message;

const COMPARE = {
  /** Without `result`, the value must be equal. */
  target: { number: 2, type: "int64" },
  key: { number: 3, type: "string" },
  createRevision: { number: 5, type: "int64" },
} as const satisfies Message;

/** One of them. */
const REQUEST_OPERATION = {
  range: { number: 1, type: RANGE_REQUEST },
  put: { number: 2, type: PUT_REQUEST },
  delete: { number: 3, type: DELETE_REQUEST },
} as const satisfies Message;

const TRANSACTION_REQUEST = {
  compares: { number: 1, type: COMPARE, isRepeated: true },
  success: { number: 2, type: REQUEST_OPERATION, isRepeated: true },
  failure: { number: 3, type: REQUEST_OPERATION, isRepeated: true },
} as const satisfies Message;

const TRANSACTION_RESPONSE = {
  header: { number: 1, type: HEADER },
  succeeded: { number: 2, type: "bool" },
  responses: {
    number: 3,
    type: { range: { number: 1, type: RANGE_RESPONSE } },
    isRepeated: true,
  },
} as const satisfies Message;

const WATCH_REQUEST = {
  create: {
    number: 1,
    type: {
      key: { number: 1, type: "string" },
      rangeEnd: { number: 2, type: "string" },
      startRevision: { number: 3, type: "int64" },
    },
  },
} as const satisfies Message;

const WATCH_RESPONSE = {
  isCanceled: { number: 4, type: "bool" },
  compactRevision: { number: 5, type: "int64" },
  cancelReason: { number: 6, type: "string" },
  events: { number: 11, type: EVENT, isRepeated: true },
} as const satisfies Message;

const LEASE = { id: { number: 1, type: "id" } } as const satisfies Message;

const STATUS_RESPONSE = {
  header: { number: 1, type: HEADER },
  version: { number: 2, type: "string" },
  databaseBytes: { number: 3, type: "int64" },
  leader: { number: 4, type: "id" },
  errors: { number: 8, type: "string", isRepeated: true },
} as const satisfies Message;

const NOTHING = {} as const satisfies Message;

export interface Method {
  readonly path: string;
  readonly request: Message;
  readonly response: Message;
}

export const RANGE = {
  path: "/etcdserverpb.KV/Range",
  request: RANGE_REQUEST,
  response: RANGE_RESPONSE,
} as const satisfies Method;

export const TRANSACT = {
  path: "/etcdserverpb.KV/Txn",
  request: TRANSACTION_REQUEST,
  response: TRANSACTION_RESPONSE,
} as const satisfies Method;

export const COMPACT = {
  path: "/etcdserverpb.KV/Compact",
  request: { revision: { number: 1, type: "int64" } },
  response: NOTHING,
} as const satisfies Method;

export const LEASE_GRANT = {
  path: "/etcdserverpb.Lease/LeaseGrant",
  request: { ttlSeconds: { number: 1, type: "int64" } },
  response: { id: { number: 2, type: "id" }, ttlSeconds: { number: 3, type: "int64" } },
} as const satisfies Method;

export const LEASE_KEEP_ALIVE = {
  path: "/etcdserverpb.Lease/LeaseKeepAlive",
  request: LEASE,
  response: { ttlSeconds: { number: 3, type: "int64" } },
} as const satisfies Method;

export const LEASE_REVOKE = {
  path: "/etcdserverpb.Lease/LeaseRevoke",
  request: LEASE,
  response: NOTHING,
} as const satisfies Method;

export const WATCH = {
  path: "/etcdserverpb.Watch/Watch",
  request: WATCH_REQUEST,
  response: WATCH_RESPONSE,
} as const satisfies Method;

export const STATUS = {
  path: "/etcdserverpb.Maintenance/Status",
  request: NOTHING,
  response: STATUS_RESPONSE,
} as const satisfies Method;
