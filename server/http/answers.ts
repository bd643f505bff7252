/** Answers as values: handlers return them, the socket sends them. */
import { promisify } from "node:util";
import { gunzipSync, gzip } from "node:zlib";
import type { LayoutRow } from "../../engine/catalog.ts";
import { EMPTY_DOCUMENT } from "../../engine/layout/layout.ts";
import { plainDocument } from "../../engine/layout/packed.ts";
import type { RefusedObject } from "../../engine/queries/alternatives.ts";
import { Result } from "../../engine/results.ts";
import type { LayoutVersion, SeatsInUse } from "../../engine/stored-replies.ts";
import { localDateTime, NumberLiteral } from "./json.ts";
import type { SocketHandler, SocketOpening } from "./sockets.ts";

// The table of refusals: public code, HTTP status and title of each. Refusals of the engine have a
// `Result`; those of the front itself have codes above 1,000.

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

const { NO_ROOM, NOT_READY: NOT_READY_CODE, ...NAMED } = { ...Result, ...FrontResult };
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
  ADMISSION_REQUIRED: [403, "Admission required"],
  ADMISSION_INVALID: [403, "Admission invalid"],
  EVENT_BOUND_TO_SERIES: [409, "Event bound to a series"],
  DUPLICATE_NAME: [409, "Duplicate name"],
  ACCOUNT_EMAIL_IN_USE: [409, "Account email in use"],
  INVALID_STATUS_TRANSITION: [409, "Invalid status transition"],
  ENTITY_IN_USE: [409, "Entity in use"],
  INVENTORY_IN_USE: [409, "Inventory in use"],
  CHANGED: [409, "Changed"],
  PRECONDITION_FAILED: [412, "Precondition failed"],
  INVENTORY_NOT_AVAILABLE: [400, "Inventory not available"],
  NOTHING_SUITABLE: [409, "Nothing suitable"],
  ORPHAN_SEAT: [422, "Orphan seat"],
  MALFORMED_REQUEST: [400, "Malformed request"],
  METHOD_NOT_ALLOWED: [405, "Method not allowed"],
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
  replies.set(NOT_READY_CODE, { status: 503, errorCode: "LOG_UNAVAILABLE", title: "Not ready" });
  return Object.fromEntries(replies) as Record<Refused, Reply>;
}

/** Seconds after which a client may try again when a refusal passes by itself. */
const RETRY_AFTER_SECONDS = 1;

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string | Uint8Array;
  /** The length of the body that a `HEAD` request does not get, when it is not in `body`. */
  readonly length?: number;
  /** Further headers; values are printable ASCII. */
  readonly headers: readonly (readonly [string, string])[];
  /** The layout that the body is. A stored reply refers to it instead of repeating it. */
  readonly layout?: LayoutVersion;
  /** Of status 101: the WebSocket that the connection becomes. */
  readonly opening?: SocketOpening;
  /** Sends server-sent events in place of a body. */
  readonly following?: SocketHandler;
  /** Stored for retries in place of the body. */
  readonly stored?: string;
}

const JSON_TYPE = "application/json; charset=utf-8";
const PROBLEM_TYPE = "application/problem+json; charset=utf-8";
const NO_HEADERS: Answer["headers"] = [];
/** Of every answer of the API: nobody on the way may guess its type, or keep it. */
export const SAFE_HEADERS: Answer["headers"] = [
  ["X-Content-Type-Options", "nosniff"],
  ["Cache-Control", "no-store"],
];
const compress = promisify(gzip);
const GZIP = ["Content-Encoding", "gzip"] as const;
const REJECTED_LENGTH_MAX = 256;

export function answer(status: number, value: unknown): Answer {
  return { status, type: JSON_TYPE, body: JSON.stringify(value), headers: SAFE_HEADERS };
}

/** @param sequence - The last record of the event that the answer reflects. */
export function asOfSequence(shown: Answer, sequence = 0): Answer {
  return { ...shown, headers: [...shown.headers, ["X-Sequence", String(sequence)]] };
}

/** @param body - JSON in UTF-8. */
export function jsonBytes(status: number, body: Uint8Array, layout?: Answer["layout"]): Answer {
  const facts = { status, type: JSON_TYPE, body, headers: SAFE_HEADERS };
  return layout === undefined ? facts : { ...facts, layout };
}

/**
 * @param kept - With a body that is compressed by gzip.
 * @param acceptEncoding - The header of the request.
 * @returns The answer as the client takes it.
 */
export function inflated(kept: Answer, acceptEncoding = ""): Answer {
  const varied = varying(kept, "Accept-Encoding");
  const isTaken = /\bgzip\b/i.test(acceptEncoding);
  return isTaken ? zipped(varied) : { ...varied, body: gunzipSync(kept.body) };
}

/** A long answer, compressed in another thread if the client takes it so. */
export async function compressed(long: Answer, acceptEncoding = ""): Promise<Answer> {
  const varied = varying(long, "Accept-Encoding");
  if (!/\bgzip\b/i.test(acceptEncoding)) return varied;
  return zipped({ ...varied, body: await compress(long.body, { level: 1 }) });
}

/** @param made - Its body is compressed by gzip. */
export function zipped(made: Answer): Answer {
  return { ...made, headers: [...made.headers, GZIP] };
}

/** @param names - Headers of the request that decide the form of the answer. */
export function varying(shown: Answer, names: string): Answer {
  const others = shown.headers.filter(([name]) => name !== "Vary");
  const before = shown.headers.find(([name]) => name === "Vary")?.[1];
  const all = before === undefined ? names : `${before}, ${names}`;
  return { ...shown, headers: [...others, ["Vary", all]] };
}

/** The layout of a schema; an empty one when none is stored. */
export function layoutAnswer(row: LayoutRow | undefined): Answer {
  return withVersion(answer(200, row?.document ?? EMPTY_DOCUMENT), row?.version ?? 0);
}

/** The answer of a PUT of a layout. */
export function layoutPutAnswer({ id, document, version }: LayoutRow, inUse: SeatsInUse): Answer {
  const shown = answer(200, { ...plainDocument(document), inUse });
  return withVersion({ ...shown, layout: { schemaId: id, version, inUse } }, version);
}

/** A strong entity tag: a layout of one version is always the same text. */
export function withVersion(shown: Answer, version: number): Answer {
  return { ...shown, headers: [...shown.headers, ["ETag", `"v${version}"`]] };
}

/** @param tag - Of a body that is always the same: letters, digits, `-` and `_`. */
export function withTag(shown: Answer, tag: string): Answer {
  return { ...shown, headers: [...shown.headers, ["ETag", `"${tag}"`]] };
}

/**
 * @param head - Of the request.
 * @returns 304 in place of an answer that the client has, by weak comparison (RFC 9110).
 */
export function unlessKnown(
  shown: Answer,
  { ifNoneMatch = "" }: { readonly ifNoneMatch?: string },
): Answer {
  if (ifNoneMatch === "") return shown;
  const own = shown.headers.find(([name]) => name === "ETag")?.[1];
  const isKnown = ifNoneMatch.split(",").some((listed) => {
    const tag = listed.trim();
    return tag === "*" || tag.replace(/^W\//, "") === own;
  });
  return isKnown ? { ...shown, status: 304, type: "", body: "" } : shown;
}

const LISTED_TAG = /^(W\/)?"([^"]*)"$/;

/**
 * @param ifMatch - The header, empty when it is missing.
 * @returns The versions that it names, by strong comparison (RFC 9110); null for any.
 */
export function versionsIn(ifMatch: string): readonly number[] | null {
  if (ifMatch === "" || ifMatch.trim() === "*") return null;
  return ifMatch.split(",").flatMap((listed) => {
    const [, weak, tag = ""] = LISTED_TAG.exec(listed.trim()) ?? [];
    return weak === undefined && /^v\d{1,15}$/.test(tag) ? [Number(tag.slice(1))] : [];
  });
}

/** A stored answer. Its status tells which of the two types it had. */
export function jsonAnswer(status: number, body: string): Answer {
  const type = status < 400 ? JSON_TYPE : PROBLEM_TYPE;
  return status === 204 ? NO_CONTENT : { status, type, body, headers: SAFE_HEADERS };
}

/** Most answers of a sale are one of these two. */
export const TRUE: Answer = answer(200, true);
export const FALSE: Answer = answer(200, false);
export const NO_CONTENT: Answer = { status: 204, type: "", body: "", headers: SAFE_HEADERS };
/** For metrics and the access log alone, as nginx has it: nothing was carried out, nor sent. */
export const CLIENT_GONE: Answer = { ...NO_CONTENT, status: 499 };

export function page(type: string, body: string | Uint8Array): Answer {
  return { status: 200, type, body, headers: SAFE_HEADERS };
}

export function redirect(location: string): Answer {
  return { status: 302, type: "", body: "", headers: headersOf(302, [["Location", location]]) };
}

/** Makes the connection a WebSocket. */
export function upgrade(opening: SocketOpening): Answer {
  return { status: 101, type: "", body: "", headers: NO_HEADERS, opening };
}

/** Server-sent events, which the handler sends. */
export function eventStream(following: SocketHandler): Answer {
  // nginx would keep the events back until its buffer is full.
  const headers = [...SAFE_HEADERS, ["X-Accel-Buffering", "no"]] as const;
  return { status: 200, type: "text/event-stream", body: "", headers, following };
}

/** Pages of every origin may read it: there is no cookie, and what is secret is in the path. */
const ANY_ORIGIN: Answer["headers"] = [
  ["Access-Control-Allow-Origin", "*"],
  ["Access-Control-Expose-Headers", "ETag, Retry-After"],
];

export function forAnyOrigin(shown: Answer): Answer {
  return { ...shown, headers: [...shown.headers, ...ANY_ORIGIN] };
}

const PREFLIGHT_SECONDS = 86_400;

/** @param methods - In capitals: a page of any origin may use them. */
export function preflight(methods: readonly string[]): Answer {
  const headers = [
    ["Access-Control-Allow-Methods", methods.join(", ")],
    ["Access-Control-Allow-Headers", "*"],
    ["Access-Control-Max-Age", String(PREFLIGHT_SECONDS)],
  ] as const;
  return forAnyOrigin({ ...NO_CONTENT, headers });
}

export const HEALTHY = answer(200, { status: "ok" });

export interface Problem {
  readonly refused: Refused;
  readonly detail: string;
  readonly errors?: readonly RefusedObject[];
  readonly headers?: Answer["headers"];
  /** Replaces the status of the refusal. */
  readonly status?: number;
  /** Further members of the document. */
  readonly members?: Readonly<Record<string, number>>;
  /** True when it is sent after a delay: its client may try again at once. */
  readonly isDelayed?: boolean;
}

/** RFC 9457, with the members that the interface documents. */
export function problemAnswer(problem: Problem, path: string, timeMs: number): Answer {
  const { title, errorCode, ...reply } = REPLIES[problem.refused];
  const status = problem.status ?? reply.status;
  const errors = (problem.errors ?? []).map(errorText);
  const body = JSON.stringify({
    type: `/docs/errors/${errorCode}`,
    title,
    status,
    detail: problem.detail,
    instance: path,
    timestamp: `${localDateTime(timeMs)}Z`,
    path,
    errorCode,
    ...problem.members,
  });
  return {
    status,
    type: PROBLEM_TYPE,
    body: `${body.slice(0, -1)},"errors":[${errors.join(",")}]}`,
    headers: headersOf(status, problem.headers),
  };
}

/** The headers of a problem. One that passes by itself says when to try again. */
export function headersOf(
  status: number,
  headers: Answer["headers"] = NO_HEADERS,
): Answer["headers"] {
  // The same list for most refusals, so that its bytes are made once.
  if (headers.length === 0 && status !== 503) return SAFE_HEADERS;
  const retryAfter = ["Retry-After", String(RETRY_AFTER_SECONDS)] as const;
  return [...SAFE_HEADERS, ...headers, ...(status === 503 ? [retryAfter] : [])];
}

/** An error as JSON. A number literal is written as it is. */
function errorText({ field, message, rejectedValue, ...rest }: RefusedObject): string {
  const value = printable(field, rejectedValue);
  const { code, alternatives, available } = rest;
  const head = JSON.stringify({ field, message });
  const tail = JSON.stringify({ code, alternatives, available });
  const text = value instanceof NumberLiteral ? value.text : JSON.stringify(value);
  return `${head.slice(0, -1)},"rejectedValue":${text},${tail.slice(1)}`;
}

/** A rejected value is shown only if it is harmless: no secret, nothing large or deep. */
function printable(field: string, value: unknown): unknown {
  if (/password|token|secret/i.test(field)) return null;
  if (value instanceof NumberLiteral) return value;
  if (typeof value === "string") return value.slice(0, REJECTED_LENGTH_MAX);
  return typeof value === "object" ? null : (value ?? null);
}

export const NOT_READY: Problem = {
  refused: FrontResult.NOT_READY,
  detail: "The service is starting or stopping; try again shortly.",
};

// The header `Prefer` (RFC 7240), of which the service knows `return=representation`.

const RETURN = /^\s*return\s*=\s*"?([^";\s]*)"?\s*(;|$)/i;
const HANDLING = /^\s*handling\s*=\s*"?([^";\s]*)"?\s*(;|$)/i;
const APPLIED = ["Preference-Applied", "return=representation"] as const;
const STRICT = ["Preference-Applied", "handling=strict"] as const;
const BOTH = [APPLIED[0], `${APPLIED[1]}, ${STRICT[1]}`] as const;

/** @param prefer - Empty when the header is missing. */
export function wantsRepresentation(prefer: string): boolean {
  return prefers(prefer, RETURN, "representation");
}

/** @param prefer - Empty when the header is missing. */
export function wantsStrict(prefer: string): boolean {
  return prefer === STRICT[1] || prefers(prefer, HANDLING, "strict");
}

/** The first of several values counts. */
function prefers(prefer: string, preference: RegExp, wanted: string): boolean {
  if (prefer === "") return false;
  for (const given of prefer.split(",")) {
    const value = preference.exec(given)?.[1];
    if (value !== undefined) return value.toLowerCase() === wanted;
  }
  return false;
}

/** Confirms strict handling, beside a representation in one header. */
export function withStrict(shown: Answer): Answer {
  const headers = shown.headers.filter((header) => header !== APPLIED);
  const applied = headers.length < shown.headers.length ? BOTH : STRICT;
  return { ...shown, headers: [...headers, applied] };
}

/** Marks the replay of a stored answer. */
export function withReplayed(shown: Answer | Problem): Answer | Problem {
  if (!("body" in shown)) return shown;
  return { ...shown, headers: [...shown.headers, ["Idempotency-Replayed", "true"]] };
}

/** Says that the answer is a representation, if it is one and does not say so yet. */
export function withApplied<Shown extends Answer | Problem>(shown: Shown): Shown {
  const isAnswer = "body" in shown && shown.status === 200;
  if (!isAnswer || !String(shown.body).startsWith("{")) return shown;
  if (shown.headers.includes(APPLIED)) return shown;
  return { ...shown, headers: [...shown.headers, APPLIED] };
}

const REPEATABLE: ReadonlySet<Problem["refused"]> = new Set<Problem["refused"]>([
  Result.VALIDATION_FAILED,
  Result.ADMISSION_REQUIRED,
  Result.ADMISSION_INVALID,
]);

/** True for a refusal that does not use up an idempotency key: the client may mend its request. */
export function isRepeatable({ refused }: Problem): boolean {
  return REPEATABLE.has(refused);
}
