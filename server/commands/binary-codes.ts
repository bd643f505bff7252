/** The numbers in binary answers. A number never changes its meaning; new ones are added. */
import { REPLIES } from "../wire/replies.ts";

/** `errorCode` by number. 0 and 1 are the answers `false` and `true`. */
export const RESULT_CODES = [
  "",
  "",
  "VALIDATION_FAILED",
  "MALFORMED_REQUEST",
  "INVENTORY_NOT_AVAILABLE",
  "ORGANIZATION_DISABLED",
  "ACCESS_DENIED",
  "EVENT_ACCESS_DENIED",
  "SALES_CONTROL_REQUIRED",
  "EVENT_NOT_PUBLISHED",
  "ORPHAN_SEAT",
  "IDEMPOTENCY_IN_PROGRESS",
  "IDEMPOTENCY_REPLY_GONE",
  "IDEMPOTENCY_KEY_REUSED",
  "RATE_LIMITED",
  "INTERNAL_ERROR",
  "OVERLOADED",
  "LOG_UNAVAILABLE",
  "PAYLOAD_TOO_LARGE",
  "NOT_LEADER",
  "ORGANIZATION_MOVING",
  "ORGANIZATION_MOVED",
] as const;

/** What an error is about, by number. An error about a seat or an area has its position. */
export const FIELDS = [
  "",
  "seats[].id",
  "seats[].capacity",
  "groupOfSeats[].id",
  "groupOfSeats[].capacity",
  "seats",
  "groupOfSeats",
  "sessionId",
  "holdType",
  "eventId",
  "call",
  "Idempotency-Key",
] as const;

/** `code` of an error, by number; 0 for any other. */
export const REASONS = [
  "",
  "LOCKED",
  "SOLD",
  "BLOCKED",
  "ACTIVE",
  "NO_PRICE",
  "NOT_FOUND",
  "HELD_BY_ANOTHER_SESSION",
  "INSUFFICIENT_CAPACITY",
  "ORPHAN_SEAT",
  "HELD_LIMIT",
  "DUPLICATE",
  "NOT_NULL",
  "NULL",
  "RANGE",
  "SIZE",
  "TYPE",
  "FORMAT",
  "UNKNOWN",
] as const;

const resultCodes = numbersOf(RESULT_CODES);
const fields = numbersOf(FIELDS);
const reasons = numbersOf(REASONS);
const POSITION = /\[(\d+)\]/;

function numbersOf(names: readonly string[]): ReadonlyMap<string, number> {
  return new Map(names.map((name, number) => [name, number]));
}

/** By the code of a refusal. */
export const RESULT_NUMBERS: ReadonlyMap<number, number> = new Map(
  Object.entries(REPLIES).map(([refused, { errorCode }]) => [
    Number(refused),
    resultCodes.get(errorCode) ?? 0,
  ]),
);

export function resultNumberOf(errorCode: string): number {
  return resultCodes.get(errorCode) ?? 0;
}

export function reasonNumberOf(code: string): number {
  return reasons.get(code) ?? 0;
}

/** @returns The number of the field, times 65,536, plus its position. */
export function placeOf(field: string): number {
  const bracket = field.indexOf("[");
  if (bracket === -1) return (fields.get(field) ?? 0) * 0x1_0000;
  const position = Number(POSITION.exec(field)?.[1] ?? 0);
  const name = field.slice(0, bracket) + "[]" + field.slice(field.indexOf("]") + 1);
  return (fields.get(name) ?? 0) * 0x1_0000 + position;
}
