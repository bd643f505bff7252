/**
 * The table of refusals: public code, HTTP status and title of each. Refusals of the engine have a
 * `Result`; those of the front itself have codes above 1,000.
 */
import { Result } from "../../engine/results.ts";

/** Refusals that never reach the engine. */
export const FrontResult = {
  MALFORMED_REQUEST: 1_001,
  METHOD_NOT_ALLOWED: 1_002,
  UNSUPPORTED_MEDIA_TYPE: 1_004,
  INTERNAL_ERROR: 1_005,
  NOT_READY: 1_006,
  IDEMPOTENCY_IN_PROGRESS: 1_007,
  IDEMPOTENCY_KEY_REUSED: 1_008,
  RATE_LIMITED: 1_009,
  LENGTH_REQUIRED: 1_010,
  IDEMPOTENCY_REPLY_GONE: 1_011,
  HISTORY_GONE: 1_012,
  NOT_LEADER: 1_013,
} as const;
export type FrontResult = (typeof FrontResult)[keyof typeof FrontResult];

/** Everything that is answered with a problem document. */
export type Refused = Exclude<Result, typeof Result.OK> | FrontResult;

export interface Reply {
  readonly status: number;
  readonly errorCode: string;
  readonly title: string;
}

const { NO_ROOM, NOT_READY, ...NAMED } = { ...Result, ...FrontResult };
type Name = Exclude<keyof typeof NAMED, "OK">;

/** Status and title by `errorCode`. */
const TABLE: Readonly<Record<Name, readonly [status: number, title: string]>> = {
  PAYLOAD_TOO_LARGE: [413, "Payload too large"],
  LOG_UNAVAILABLE: [503, "Log unavailable"],
  OVERLOADED: [503, "Overloaded"],
  NOT_LEADER: [503, "Not the leader"],
  ORGANIZATION_MOVING: [503, "Organization moving"],
  ORGANIZATION_MOVED: [307, "Organization moved"],
  VALIDATION_FAILED: [400, "Validation failed"],
  ENTITY_NOT_FOUND: [404, "Not found"],
  ACCESS_DENIED: [403, "Access denied"],
  EVENT_ACCESS_DENIED: [403, "Access to the event denied"],
  ORGANIZATION_DISABLED: [402, "Organization disabled"],
  SALES_CONTROL_REQUIRED: [403, "Sales control required"],
  EVENT_NOT_PUBLISHED: [422, "Event not published"],
  EVENT_BOUND_TO_SERIES: [409, "Event bound to a series"],
  DUPLICATE_NAME: [409, "Duplicate name"],
  ACCOUNT_EMAIL_IN_USE: [409, "Account email in use"],
  INVALID_STATUS_TRANSITION: [409, "Invalid status transition"],
  ENTITY_IN_USE: [409, "Entity in use"],
  INVENTORY_IN_USE: [409, "Inventory in use"],
  INVENTORY_NOT_AVAILABLE: [400, "Inventory not available"],
  ORPHAN_SEAT: [422, "Orphan seat"],
  MALFORMED_REQUEST: [400, "Malformed request"],
  METHOD_NOT_ALLOWED: [405, "Method not allowed"],
  LENGTH_REQUIRED: [411, "Length required"],
  UNSUPPORTED_MEDIA_TYPE: [415, "Unsupported media type"],
  INTERNAL_ERROR: [500, "Internal error"],
  IDEMPOTENCY_IN_PROGRESS: [409, "Idempotency key in progress"],
  IDEMPOTENCY_REPLY_GONE: [409, "Idempotency reply gone"],
  HISTORY_GONE: [410, "History gone"],
  IDEMPOTENCY_KEY_REUSED: [422, "Idempotency key reused"],
  RATE_LIMITED: [429, "Rate limited"],
};

export const REPLIES = byCode();

function byCode(): Readonly<Record<Refused, Reply>> {
  const replies = new Map<number, Reply>();
  for (const [errorCode, [status, title]] of Object.entries(TABLE)) {
    replies.set(NAMED[errorCode as Name], { status, errorCode, title });
  }
  replies.set(NO_ROOM, { status: 429, errorCode: "RATE_LIMITED", title: "No room" });
  replies.set(NOT_READY, { status: 503, errorCode: "LOG_UNAVAILABLE", title: "Not ready" });
  return Object.fromEntries(replies) as Record<Refused, Reply>;
}

/** Seconds after which a client may try again when a refusal passes by itself. */
export const RETRY_AFTER_SECONDS = 1;
