/**
 * Shapes: JSON Schema with its TypeScript type. A shape is written once; validators, the OpenAPI
 * document and the type of the value (`TypeOf`) are derived from it.
 */
import { assert } from "./assert.ts";
import {
  AREA_CAPACITY_MAX,
  CHANNEL_KEY_LENGTH_MAX,
  NAME_LENGTH_MAX,
  PASSWORD_LENGTH_MAX,
  PASSWORD_LENGTH_MIN,
} from "./constants.ts";
import { hasTooManyMarks, isName } from "./names.ts";

declare const TYPE: unique symbol;

/** A JSON Schema. Matching values have type `T`, visible only to the compiler. */
export interface Shape<T = unknown> {
  readonly [TYPE]?: T;
  readonly [keyword: string]: unknown;
}

export type TypeOf<S> = S extends Shape<infer T> ? T : never;

/** Marks an optional member. */
export interface Optional<T = unknown> {
  readonly optional: Shape<T>;
}

/** The members of an object, by name. */
export type Members = Readonly<Record<string, Shape | Optional>>;

type OptionalKeys<M> = { [K in keyof M]: M[K] extends Optional ? K : never }[keyof M];
/** Written so to carry the comment of a member over to its value. */
type RequiredValues<M, K extends keyof M> = { readonly [P in K]: TypeOf<M[P]> };
type OptionalValues<M, K extends keyof M> = {
  readonly [P in K]?: (M[P] extends Optional<infer T> ? T : never) | undefined;
};

/** The type of an object with these members. */
export type ObjectOf<M> = RequiredValues<M, Exclude<keyof M, OptionalKeys<M>>> &
  OptionalValues<M, OptionalKeys<M>>;

interface TextLimits {
  /** Lengths are counted in code points. */
  readonly minLength?: number;
  readonly maxLength?: number;
  /** One of `FORMATS`. */
  readonly format?: string;
}

interface NumberLimits {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly format?: string;
}

interface ListLimits {
  readonly minItems?: number;
  readonly maxItems?: number;
}

export const ANYTHING: Shape = {};
export const BOOLEAN: Shape<boolean> = { type: "boolean" };
export const TEXT: Shape<string> = { type: "string" };
export const NULL: Shape<null> = { type: "null" };
/** An object with any members. */
export const RECORD: Shape<Readonly<Record<string, unknown>>> = { type: "object" };

export function text(limits: TextLimits): Shape<string> {
  return { type: "string", ...limits };
}

export function integer(limits: NumberLimits = {}): Shape<number> {
  return { type: "integer", ...limits };
}

export function number(limits: NumberLimits = {}): Shape<number> {
  return { type: "number", ...limits };
}

export function oneOf<const Value extends string>(values: readonly Value[]): Shape<Value> {
  return { type: "string", enum: values };
}

export function orNull<T>(shape: Shape<T>): Shape<T | null> {
  const { type, enum: values } = shape;
  const types = [type].flat();
  if (type === undefined || types.includes("null")) return shape;
  const orNullValue = Array.isArray(values) ? { enum: [...(values as unknown[]), null] } : {};
  return { ...shape, type: [...types, "null"], ...orNullValue };
}

export function list<T>(items: Shape<T>, limits: ListLimits = {}): Shape<readonly T[]> {
  return { type: "array", items, ...limits };
}

export function either<A, B, C = never>(
  ...shapes: [a: Shape<A>, b: Shape<B>, c?: Shape<C>]
): Shape<A | B | C> {
  return { anyOf: shapes };
}

/** An optional member of a request; null means the same. */
export function optional<T>(shape: Shape<T>): Optional<T | null> {
  return { optional: orNull(shape) };
}

/** A member of an answer, left out while it has no value. */
export function whenSet<T>(shape: Shape<T>): Optional<T> {
  return { optional: shape };
}

/** An object with values of one shape, at most so many. */
export function map<T>(
  values: Shape<T>,
  maxProperties: number,
): Shape<Readonly<Record<string, T>>> {
  return { type: "object", additionalProperties: values, maxProperties };
}

/** An object of one shape or a list of another, without a choice: each keyword applies to its type. */
export function mapOrList<A extends object, B>(
  values: Shape<A>,
  items: Shape<readonly B[]>,
): Shape<A | readonly B[]> {
  return { ...values, ...items, type: ["object", "array"] };
}

/** An object. Unnamed members are allowed and ignored. */
export function object<M extends Members>(members: M): Shape<ObjectOf<M>> {
  const entries = Object.entries(members);
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, member]) => [name, shapeOf(member)])),
    required: entries.flatMap(([name, member]) => (isOptional(member) ? [] : [name])),
  };
}

/** An object with further members, which are kept. */
export function openObject<M extends Members>(
  members: M,
): Shape<ObjectOf<M> & Readonly<Record<string, unknown>>> {
  return { ...object(members), additionalProperties: true };
}

/** An object without further members. */
export function exactObject<M extends Members>(members: M): Shape<ObjectOf<M>> {
  return { ...object(members), additionalProperties: false };
}

export function shapeOf(member: Shape | Optional): Shape {
  return isOptional(member) ? member.optional : member;
}

function isOptional(member: Shape | Optional): member is Optional {
  return "optional" in member;
}

// Shapes of single fields, shared by bodies, parameters and answers.

/** An id given out by the engine. */
export const LONG: Shape<number> = integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  format: "int64",
});
/** A number of the log; 0 is before its first record. */
export const SEQUENCE: Shape<number> = integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  format: "int64",
});
export const UUID: Shape<string> = text({ format: "uuid" });
/** A UUID inside a command; the front converts it to lower case. */
export const UUID_KEY: Shape<string> = text({ format: "lower-case-uuid" });
export const LOCAL_DATE_TIME: Shape<string> = text({ format: "local-date-time" });
export const LOCAL_DATE: Shape<string> = text({ format: "local-date" });
export const EMAIL: Shape<string> = text({ format: "email" });
export const NAME: Shape<string> = text({
  minLength: 1,
  maxLength: NAME_LENGTH_MAX,
  format: "name",
});
export const LINE: Shape<string> = text({ maxLength: NAME_LENGTH_MAX, format: "line" });
/** An ISO 4217 code, such as EUR; any three capitals. */
export const CURRENCY: Shape<string> = text({ format: "currency" });
/** The name of a channel in paths and calls; one of dots alone would change the path. */
export const CHANNEL_KEY: Shape<string> = text({
  minLength: 1,
  maxLength: CHANNEL_KEY_LENGTH_MAX,
  format: "channel-key",
});
export const PASSWORD: Shape<string> = text({
  minLength: PASSWORD_LENGTH_MIN,
  maxLength: PASSWORD_LENGTH_MAX,
});
/** Places of an area. */
export const CAPACITY: Shape<number> = integer({ minimum: 0, maximum: AREA_CAPACITY_MAX });
export const NUMBER_OR_NULL: Shape<number | null> = orNull(number());
export const EVENT_STATUS = oneOf(["DRAFT", "PUBLISHED", "ARCHIVED"]);
/**
 * Requests that would leave a single ACTIVE seat alone: all granted; all refused; or granted only
 * where they take every other seat of the stretch, as any choice of that size there leaves one.
 */
export const ORPHAN_MODE = oneOf(["off", "strict", "lenient"]);
/** Webhook topics: changes of places, expired holds, sold out, status of the event. */
export const WEBHOOK_TYPE = oneOf(["change", "expired", "soldout", "status"]);
export const ORGANIZATION_TYPE = oneOf(["VENUE", "DEFAULT"]);

// Formats of texts beyond length limits: the value of `format` in a shape.

const UUID_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const EMAIL_PATTERN = /^[^\s@\p{Cc}\p{Cs}]{1,64}@[^\s@\p{Cc}\p{Cs}]{1,190}$/u;
const CHANNEL_KEY_PATTERN = /^(?!\.{1,2}$)[A-Za-z0-9_.-]+$/;
const CURRENCY_PATTERN = /^[A-Z]{3}$/;
const SEQUENCE_TEXT = /^[1-9]\d{0,14}$/;
/** Control characters, and lone surrogates, without a form in UTF-8. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;
/** The control characters of a text with several lines. */
const LAYOUT_CONTROLS = /[\t\n\r]/g;

export const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  uuid: (value) => UUID_PATTERN.test(value),
  /** The engine's form of UUIDs. */
  "lower-case-uuid": (value) => UUID_PATTERN.test(value) && value === value.toLowerCase(),
  email: (value) => EMAIL_PATTERN.test(value) && !hasTooManyMarks(value),
  "channel-key": (value) => CHANNEL_KEY_PATTERN.test(value),
  currency: (value) => CURRENCY_PATTERN.test(value),
  "local-date-time": isLocalDateTime,
  "local-date": isLocalDate,
  /** A sequence number of the log, a date-time or a date. */
  moment: (value) => SEQUENCE_TEXT.test(value) || isLocalDate(value),
  /** Taken as it is, such as a session id. */
  line: (value) => !UNPRINTABLE.test(value),
  /** A line in the stored form of names. */
  name: isName,
  /** Lines stored in the composed form. */
  text: (value) => !UNPRINTABLE.test(value.replace(LAYOUT_CONTROLS, "")) && !hasTooManyMarks(value),
};

/** A date-time, or a date for its midnight. */
function isLocalDate(value: string): boolean {
  return isLocalDateTime(value) || isLocalDateTime(`${value}T00:00`);
}

// Local date-times of the interface (`2026-03-19T10:00:00.123`, without an offset). They are
// handled as text, because the engine does not use the machine's calendar.

const PATTERN = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?$/;
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** True for a valid local date-time. */
export function isLocalDateTime(value: string): boolean {
  const match = PATTERN.exec(value);
  if (match === null) return false;
  const [year, month, day, hour, minute, second] = match.slice(1).map((part) => Number(part ?? 0));
  const isLeap = (year! % 4 === 0 && year! % 100 !== 0) || year! % 400 === 0;
  const days = month === 2 && isLeap ? 29 : (MONTH_DAYS[month! - 1] ?? 0);
  return day! >= 1 && day! <= days && hour! <= 23 && minute! <= 59 && second! <= 59;
}

/** @returns The canonical text of the date-time: with seconds, without trailing zeros. */
export function normalLocalDateTime(value: string): string {
  const withSeconds = value.length === "2026-03-19T10:00".length ? `${value}:00` : value;
  return withSeconds.includes(".") ? withSeconds.replace(/\.?0+$/, "") : withSeconds;
}

// Sizes of values as JSON.

/**
 * Bytes of the value as JSON in UTF-8. Unlike `JSON.stringify` it takes any depth, and it builds no
 * text of the whole. Cost: O(size of the value).
 */
export function jsonBytes(value: unknown): number {
  let bytes = 0;
  const left: unknown[] = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next !== "object" || next === null) {
      bytes += utf8Bytes(JSON.stringify(next) ?? "null");
      continue;
    }
    const isList = Array.isArray(next);
    const names = isList ? [] : Object.keys(next).filter((name) => isWritten(next, name));
    const items: unknown[] = isList ? next : names.map((name) => memberOf(next, name));
    // Brackets and commas; a name has its colon.
    bytes += 2 + Math.max(0, items.length - 1);
    for (const name of names) bytes += utf8Bytes(JSON.stringify(name)) + 1;
    for (const item of items) left.push(item);
  }
  return bytes;
}

/** Bytes of the text as UTF-8. Cost: O(length). */
export function utf8Bytes(value: string): number {
  let bytes = value.length;
  for (let i = 0; i < value.length; i++) {
    const unit = value.charCodeAt(i);
    // A surrogate counts two of the four bytes of its pair.
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1;
  }
  assert(bytes <= 3 * value.length, "a UTF-16 unit takes at most three bytes of UTF-8");
  return bytes;
}

/** JSON leaves out undefined members. */
function isWritten(row: object, name: string): boolean {
  return memberOf(row, name) !== undefined;
}

function memberOf(row: object, name: string): unknown {
  return (row as Readonly<Record<string, unknown>>)[name];
}
