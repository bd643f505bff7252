/**
 * The table of refusals: public code, HTTP status and title of each. Refusals of the engine have a
 * `Result`; those of the front itself have codes above 1,000.
 */
import { Result } from "../../engine/results.ts";

/** Refusals that never reach the engine. */
export const FrontResult = {
  MALFORMED_REQUEST: 1_001,
  METHOD_NOT_ALLOWED: 1_002,
  PAYLOAD_TOO_LARGE: 1_003,
  UNSUPPORTED_MEDIA_TYPE: 1_004,
  INTERNAL_ERROR: 1_005,
  NOT_READY: 1_006,
  IDEMPOTENCY_IN_PROGRESS: 1_007,
  IDEMPOTENCY_KEY_REUSED: 1_008,
  RATE_LIMITED: 1_009,
} as const;
export type FrontResult = (typeof FrontResult)[keyof typeof FrontResult];

/** Everything that is answered with a problem document. */
export type Refused = Exclude<Result, typeof Result.OK> | FrontResult;

export interface Reply {
  readonly status: number;
  readonly errorCode: string;
  readonly title: string;
}

function reply(status: number, errorCode: string, title: string): Reply {
  return { status, errorCode, title };
}

export const REPLIES: Readonly<Record<Refused, Reply>> = {
  [Result.LOG_UNAVAILABLE]: reply(503, "LOG_UNAVAILABLE", "Log unavailable"),
  [Result.OVERLOADED]: reply(503, "OVERLOADED", "Overloaded"),
  [Result.VALIDATION_FAILED]: reply(400, "VALIDATION_FAILED", "Validation failed"),
  [Result.ENTITY_NOT_FOUND]: reply(404, "ENTITY_NOT_FOUND", "Not found"),
  [Result.ACCESS_DENIED]: reply(403, "ACCESS_DENIED", "Access denied"),
  [Result.EVENT_ACCESS_DENIED]: reply(403, "EVENT_ACCESS_DENIED", "Access to the event denied"),
  [Result.ORGANIZATION_DISABLED]: reply(402, "ORGANIZATION_DISABLED", "Organization disabled"),
  [Result.SALES_CONTROL_REQUIRED]: reply(403, "SALES_CONTROL_REQUIRED", "Sales control required"),
  [Result.EVENT_NOT_PUBLISHED]: reply(422, "EVENT_NOT_PUBLISHED", "Event not published"),
  [Result.EVENT_BOUND_TO_SERIES]: reply(409, "EVENT_BOUND_TO_SERIES", "Event bound to a series"),
  [Result.DUPLICATE_NAME]: reply(409, "DUPLICATE_NAME", "Duplicate name"),
  [Result.ACCOUNT_EMAIL_IN_USE]: reply(409, "ACCOUNT_EMAIL_IN_USE", "Account email in use"),
  [Result.INVALID_STATUS_TRANSITION]: reply(
    409,
    "INVALID_STATUS_TRANSITION",
    "Invalid status transition",
  ),
  [Result.ENTITY_IN_USE]: reply(409, "ENTITY_IN_USE", "Entity in use"),
  [Result.INVENTORY_IN_USE]: reply(409, "INVENTORY_IN_USE", "Inventory in use"),
  [Result.INVENTORY_NOT_AVAILABLE]: reply(
    400,
    "INVENTORY_NOT_AVAILABLE",
    "Inventory not available",
  ),
  [Result.ORPHAN_SEAT]: reply(422, "ORPHAN_SEAT", "Orphan seat"),
  [FrontResult.MALFORMED_REQUEST]: reply(400, "MALFORMED_REQUEST", "Malformed request"),
  [FrontResult.METHOD_NOT_ALLOWED]: reply(405, "METHOD_NOT_ALLOWED", "Method not allowed"),
  [FrontResult.PAYLOAD_TOO_LARGE]: reply(413, "PAYLOAD_TOO_LARGE", "Payload too large"),
  [FrontResult.UNSUPPORTED_MEDIA_TYPE]: reply(
    415,
    "UNSUPPORTED_MEDIA_TYPE",
    "Unsupported media type",
  ),
  [FrontResult.INTERNAL_ERROR]: reply(500, "INTERNAL_ERROR", "Internal error"),
  [FrontResult.IDEMPOTENCY_IN_PROGRESS]: reply(
    409,
    "IDEMPOTENCY_IN_PROGRESS",
    "Idempotency key in progress",
  ),
  [FrontResult.IDEMPOTENCY_KEY_REUSED]: reply(
    422,
    "IDEMPOTENCY_KEY_REUSED",
    "Idempotency key reused",
  ),
  [FrontResult.RATE_LIMITED]: reply(429, "RATE_LIMITED", "Rate limited"),
  [FrontResult.NOT_READY]: reply(503, "LOG_UNAVAILABLE", "Not ready"),
};

/** Seconds after which a client may try again when a refusal passes by itself. */
export const RETRY_AFTER_SECONDS = 1;
