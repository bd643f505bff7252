/**
 * Request bodies as values: strict UTF-8, bounded depth and number of values, and no member name
 * that reaches into an object's prototype. A body is refused before any other code sees it.
 */
import { isUtf8 } from "node:buffer";
import { parseInPieces } from "../../engine/layout/document.ts";
import type { FieldError } from "../../engine/results.ts";
import { normalLocalDateTime } from "../../engine/schema.ts";

const DEPTH_MAX = 32;
const FORBIDDEN = new Set(["__proto__", "constructor", "prototype"]);
/** An escape of half a character. In UTF-8, nothing else can leave a text with a lone surrogate. */
const HALF_ESCAPE = /\\u[dD][89a-fA-F]/;
/** A lone surrogate can be held in memory, but not written to a file. */
const HALF = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
const HALF_REASON = "The body has half of a character (a lone surrogate).";
/** A forbidden name, or an escape that could spell one or a lone surrogate. */
const SUSPICIOUS = /__proto__|constructor|prototype|\\u/;
/** The start of an escape. */
const ESCAPE = "\\u";
/** U+FEFF at the start of a text says that it is UTF-8. */
const BYTE_ORDER_MARK = 0xfeff;

export type Parsed =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false;
      readonly reason: string;
      /** For more values than the limit: counted before parsing, so it may be no JSON either. */
      readonly errors?: readonly FieldError[];
    };

/**
 * Limits in brackets and commas: a parsed object or member takes up to a hundred times as long as
 * its bytes.
 */
export interface ValueLimits {
  /** Objects, lists, members and items, about. */
  readonly values: number;
  /** Objects and lists. */
  readonly containers?: number;
  /** Members of an object in a list of the body, or of an object of the body, with those in it. */
  readonly membersOfObject?: number;
}

const NO_LIMITS: ValueLimits = { values: Infinity };
/** Of a layout: 200,000 seats with thirty members each, rows of one seat, and long outlines. */
export const LAYOUT_LIMITS: Required<ValueLimits> = {
  values: 6_000_000,
  containers: 1_000_000,
  membersOfObject: 32_768,
};

export const NO_MEMBERS: Parsed = { ok: true, value: {} };

/** Cost: O(bytes), usually 100. */
export function parseJson(bytes: Buffer, limits = NO_LIMITS): Parsed {
  if (!isUtf8(bytes)) return { ok: false, reason: "The body is not UTF-8." };
  const excess = excessOf(bytes, limits);
  if (excess !== null) return excess;
  const marked = bytes.toString("utf8");
  const text = marked.charCodeAt(0) === BYTE_ORDER_MARK ? marked.slice(1) : marked;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, reason: faultOf(text) };
  }
  const isSuspicious = SUSPICIOUS.test(text);
  const reason = isSuspicious ? objection(value, HALF_ESCAPE.test(text)) : null;
  if (reason !== null) return { ok: false, reason };
  return { ok: true, value };
}

/**
 * Does what `parseJson` does with an object of long lists, without having it as one text.
 * Cost: O(bytes).
 */
export function parseLongJson(bytes: Buffer, limits = NO_LIMITS): Parsed {
  if (!isUtf8(bytes)) return parseJson(bytes);
  const excess = excessOf(bytes, limits);
  if (excess !== null) return excess;
  let value: unknown;
  try {
    value = parseInPieces(bytes, (from, to) => bytes.toString("utf8", from, to));
  } catch {
    return parseJson(bytes);
  }
  const isSuspicious = [...FORBIDDEN, ESCAPE].some((text) => bytes.includes(text));
  const reason = isSuspicious ? objection(value, bytes.includes(ESCAPE)) : null;
  if (reason !== null) return { ok: false, reason };
  return { ok: true, value };
}

// A text that the end of the body cuts off is read to there.
const PLAIN = String.raw`[^"\\\x00-\x1f]*`;
const ESCAPED = String.raw`\\(?:["\\/bfnrt]|u[\da-fA-F]{4})`;
const TEXT = String.raw`"${PLAIN}(?:${ESCAPED}${PLAIN})*(?:"|\\?$)`;
const SCALAR = String.raw`(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])`;
/** A bracket, colon or comma; a text; a number or word; each with the blanks before it. */
const TOKEN = new RegExp(String.raw`[ \t\n\r]*(?:([[\]{}:,])|(${TEXT})|${SCALAR})`, "y");
const BLANKS = /[ \t\n\r]*/y;
/** Of a longer body the position is not looked for: a token takes ten times as long as to the parser. */
const LOCATED_LENGTH_MAX = 16_384;

/**
 * Explains why a text is not JSON. The parser's own message quotes the body, differs between
 * versions, and often has no position. Cost: O(characters).
 */
function faultOf(text: string): string {
  if (text.trim() === "") return "The body is empty: send JSON.";
  if (text.length > LOCATED_LENGTH_MAX) return "The body is not JSON.";
  const at = faultPosition(text);
  return at === text.length
    ? `The body is not JSON: it ends too early, after character ${at}.`
    : `The body is not JSON: there is a mistake at character ${at + 1}.`;
}

/** @returns The position of the first misplaced token; the length for an early end. */
function faultPosition(text: string): number {
  /** Closing brackets of the open objects and lists. */
  const open: string[] = [];
  let expected: "value" | "item" | "name" | "member" | "colon" | "next" = "value";
  let at = 0;
  for (;;) {
    BLANKS.lastIndex = at;
    BLANKS.test(text);
    const start = BLANKS.lastIndex;
    TOKEN.lastIndex = at;
    const [, sign, word] = TOKEN.exec(text) ?? [];
    at = TOKEN.lastIndex;
    if (at === 0) return start;
    const closes = sign !== undefined && sign === open.at(-1);
    if (expected === "next") {
      if (closes) open.pop();
      else if (sign !== "," || open.length === 0) return start;
      else expected = open.at(-1) === "}" ? "name" : "value";
    } else if (expected === "colon") {
      if (sign !== ":") return start;
      expected = "value";
    } else if (closes && (expected === "item" || expected === "member")) {
      open.pop();
      expected = "next";
    } else if (expected === "name" || expected === "member") {
      if (word === undefined) return start;
      expected = "colon";
    } else if (sign === "{" || sign === "[") {
      open.push(sign === "{" ? "}" : "]");
      expected = sign === "{" ? "member" : "item";
    } else if (sign === undefined) expected = "next";
    else return start;
  }
}

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

const TOO_DEEP: Parsed = { ok: false, reason: `The body is nested over ${DEPTH_MAX} levels.` };

/** In a body, an object of a list is two levels deep. */
const OBJECT_DEPTH = 3;

/**
 * Counts brackets, commas and colons outside of texts, before the parser spends time on them, and
 * stops at the first limit.
 *
 * @returns Why the body is not parsed; null when it is.
 */
function excessOf(
  bytes: Uint8Array,
  { values, containers = Infinity, membersOfObject = Infinity }: ValueLimits,
): Parsed | null {
  let [depth, valueCount, containerCount, memberCount, ownCount] = [0, 0, 0, 0, 0];
  let [isText, isInList] = [false, false];
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    if (isText) {
      if (byte === BACKSLASH) i += 1;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) {
      isText = true;
    } else if (byte === COMMA) {
      valueCount += 1;
      if (valueCount > values) return tooMuch(`${values} values`);
    } else if (byte === COLON) {
      const count = depth > 1 ? (memberCount += 1) : (ownCount += 1);
      if (count > membersOfObject) return tooMuch(`${membersOfObject} members in one object`);
    } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      depth += 1;
      if (depth > DEPTH_MAX) return TOO_DEEP;
      if (depth === OBJECT_DEPTH - 1) isInList = byte === OPEN_ARRAY;
      if (depth < OBJECT_DEPTH || (depth === OBJECT_DEPTH && isInList)) memberCount = 0;
      valueCount += 1;
      containerCount += 1;
      if (valueCount > values) return tooMuch(`${values} values`);
      if (containerCount > containers) return tooMuch(`${containers} objects and lists`);
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
      depth -= 1;
    }
  }
  return null;
}

function tooMuch(limit: string): Parsed {
  const message = `has more than ${limit}: send less in one request`;
  const errors = [{ field: "", code: "SIZE", message, rejectedValue: null }];
  return { ok: false, reason: `The body ${message}.`, errors };
}

/**
 * @param mayHaveHalves - Whether a text may have half of a character.
 * @returns Why the value is refused; null when all its names and texts are allowed.
 * Cost: O(values), and O(characters) when there may be halves.
 */
function objection(value: unknown, mayHaveHalves: boolean): string | null {
  if (typeof value === "string") return mayHaveHalves && HALF.test(value) ? HALF_REASON : null;
  if (value === null || typeof value !== "object") return null;
  if (Array.isArray(value)) {
    for (const item of value) {
      const inner = objection(item, mayHaveHalves);
      if (inner !== null) return inner;
    }
    return null;
  }
  for (const name of Object.keys(value)) {
    if (FORBIDDEN.has(name)) return `The member name ${name} is not allowed.`;
    const member = (value as Readonly<Record<string, unknown>>)[name];
    const inner = objection(name, mayHaveHalves) ?? objection(member, mayHaveHalves);
    if (inner !== null) return inner;
  }
  return null;
}

// Numbers as they were sent. JSON.parse rounds what a double cannot hold, so a refusal looks up the
// text of a rejected number in the body.

const LITERAL_LENGTH_MAX = 256;
/** A text, which is skipped, or a number. */
const TEXT_OR_NUMBER = /"(?:\\.|[^"\\])*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const STEPS = /[^.[\]]+/g;

/** A number in the notation of JSON, to be written into an answer unchanged. */
export class NumberLiteral {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * The errors with their rejected numbers as they are in the body.
 *
 * @param body - Null for a long one, which is a layout, and is not read again.
 */
export function errorsAsSent(
  errors: readonly FieldError[],
  body: Buffer | null,
): readonly FieldError[] {
  if (!errors.some(isRounded)) return errors;
  const sent = body === null ? null : withNumbersAsTexts(body.toString("utf8"));
  return errors.map((error) =>
    isRounded(error) ? { ...error, rejectedValue: literalAt(sent, error.field) } : error,
  );
}

/** True when the rejected value may differ from the number as sent. */
function isRounded({ rejectedValue }: FieldError): boolean {
  return typeof rejectedValue === "number" && !Number.isSafeInteger(rejectedValue);
}

/** @param text - JSON that was parsed before. */
function withNumbersAsTexts(text: string): unknown {
  return JSON.parse(
    text
      .replace(/^\ufeff/, "")
      .replace(TEXT_OR_NUMBER, (token) => (token.startsWith('"') ? token : `"${token}"`)),
  );
}

/** @param field - In the notation of the interface, such as `seats[1].id`. */
function literalAt(sent: unknown, field: string): NumberLiteral | null {
  let value = sent;
  // The name of a member may look like several steps, which lead nowhere.
  for (const step of field.match(STEPS) ?? []) {
    value = (value as Readonly<Record<string, unknown>> | null | undefined)?.[step];
  }
  const isShort = typeof value === "string" && value.length <= LITERAL_LENGTH_MAX;
  return isShort ? new NumberLiteral(value as string) : null;
}

// Moments as text: in queries, where a date stands for its midnight, and in answers.

/** In the form in which events keep their times, so that the two compare as text. */
export function momentOf(text: string): string {
  return normalLocalDateTime(text.includes("T") ? text : `${text}T00:00`);
}

/** Milliseconds since 1970 on the service clock, which is UTC. */
export function momentMs(text: string): number {
  return Date.parse(`${momentOf(text)}Z`);
}

/** The last second shown: most objects of a page changed in the same few seconds. */
const shown = { second: NaN, text: "" };

/** The service clock is UTC; the interface shows it without offset, with three decimals. */
export function localDateTime(timeMs: number): string {
  const second = Math.floor(timeMs / 1_000);
  if (second !== shown.second) {
    shown.text = new Date(second * 1_000).toISOString().slice(0, -"000Z".length);
    shown.second = second;
  }
  return shown.text + String(timeMs - second * 1_000).padStart(3, "0");
}
