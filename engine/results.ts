/**
 * The outcomes of a command. A refusal is a value, never an exception, because most answers of a
 * busy on-sale are refusals. Codes are in order of precedence: checks run in this order, so the
 * smallest applicable code is returned.
 */
import type { LogRecord } from "./records.ts";

export const Result = {
  OK: 0,
  LOG_UNAVAILABLE: 10,
  OVERLOADED: 11,
  PAYLOAD_TOO_LARGE: 12,
  NO_ROOM: 13,
  ORGANIZATION_MOVING: 14,
  ORGANIZATION_MOVED: 15,
  VALIDATION_FAILED: 20,
  ENTITY_NOT_FOUND: 30,
  ACCESS_DENIED: 31,
  EVENT_ACCESS_DENIED: 32,
  PRECONDITION_FAILED: 35,
  ORGANIZATION_DISABLED: 40,
  SALES_CONTROL_REQUIRED: 41,
  EVENT_NOT_PUBLISHED: 42,
  EVENT_BOUND_TO_SERIES: 43,
  ADMISSION_REQUIRED: 44,
  ADMISSION_INVALID: 45,
  DUPLICATE_NAME: 50,
  ACCOUNT_EMAIL_IN_USE: 51,
  INVALID_STATUS_TRANSITION: 52,
  ENTITY_IN_USE: 53,
  INVENTORY_IN_USE: 54,
  CHANGED: 55,
  INVENTORY_NOT_AVAILABLE: 60,
  ORPHAN_SEAT: 61,
  /** No command can have both. */
  NOTHING_SUITABLE: 62,
} as const;
export type Result = (typeof Result)[keyof typeof Result];

/** One error in a request, and its place. */
export interface FieldError {
  /** Path into the request body, such as `seats[1].id`. */
  readonly field: string;
  /** Machine-readable, such as NOT_NULL, SIZE, LOCKED. */
  readonly code: string;
  readonly message: string;
  readonly rejectedValue: unknown;
}

export interface Refusal {
  readonly refused: Exclude<Result, typeof Result.OK>;
  /** One sentence for a person. */
  readonly detail: string;
  /** Every refused object, in the order of the request. */
  readonly errors: readonly FieldError[];
  /** Further members of its problem document. */
  readonly members?: Readonly<Record<string, number>>;
}

/** The success of a command. */
export interface Grant<Value> {
  readonly refused: typeof Result.OK;
  /** Null when nothing changes. */
  readonly record: LogRecord | null;
  /** Records after it: in the log and in memory all of them are there, or none. */
  readonly more?: readonly LogRecord[];
  readonly value: Value;
}

export type Decision<Value> = Refusal | Grant<Value>;

/** The refusals of a union, of the engine or of the server. */
type RefusedOf<T> = T extends { readonly refused: typeof Result.OK }
  ? never
  : Extract<T, { readonly refused: number }>;

/** True for a refusal, false for a success, a row or an answer. */
export function isRefused<T extends object>(value: T): value is RefusedOf<T> {
  // Runs several times per request on objects of many shapes, for which `in` is slow.
  const { refused } = value as { readonly refused?: number };
  return refused !== undefined && refused !== Result.OK;
}

/** True for a success. */
export function isGranted<T extends { readonly refused: number }>(
  outcome: T,
): outcome is Exclude<T, RefusedOf<T>> {
  return outcome.refused === Result.OK;
}

const NO_ERRORS: readonly FieldError[] = [];

export function refuse(
  refused: Refusal["refused"],
  detail: string,
  errors: readonly FieldError[] = NO_ERRORS,
): Refusal {
  return { refused, detail, errors };
}

export function refuseInvalid(errors: readonly FieldError[]): Refusal {
  const fields = errors.length === 1 ? "1 field is" : `${errors.length} fields are`;
  return refuse(Result.VALIDATION_FAILED, `${fields} not valid.`, errors);
}

export function grant<Value>(record: LogRecord | null, value: Value): Grant<Value> {
  return { refused: Result.OK, record, value };
}

export function notFound(field: string, id: unknown, what: string): FieldError {
  return {
    field,
    code: "NOT_FOUND",
    message: `there is no such ${what}`,
    rejectedValue: id ?? null,
  };
}

export function missing(field: string, message = "must be given, and not null"): FieldError {
  return { field, code: "NOT_NULL", message, rejectedValue: null };
}

/** One error for each repeated id. */
export function repeatedIds(items: readonly { readonly id: number }[]): FieldError[] {
  const seen = new Set<number>();
  return items.flatMap(({ id }, i) => {
    if (seen.has(id)) return [duplicate(`[${i}].id`, id)];
    seen.add(id);
    return [];
  });
}

/** For a member bound to the id in the path. */
export function mismatch(field: string, value: unknown, what: string): FieldError {
  const message = `must be the ${what} of the path`;
  return { field, code: "MISMATCH", message, rejectedValue: value };
}

export function duplicate(field: string, value: unknown, message = "appears twice"): FieldError {
  return { field, code: "DUPLICATE", message, rejectedValue: value };
}
