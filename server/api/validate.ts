/**
 * Checks of requests that need nothing but the request and its row, so that a gateway makes them as
 * well as the engine's own front. Those of bodies and parameters are made from shapes at their
 * first use; the text of parameters is converted before.
 */
import { Ajv, type ValidateFunction } from "ajv";
import { type FieldError, isRefused, missing, refuseInvalid } from "../../engine/results.ts";
import { composerOf, fieldErrorOf } from "../../engine/violations.ts";
import { FORMATS, type Shape } from "../../engine/schema.ts";
import { type Answer, FrontResult, type Problem } from "../http/answers.ts";
import type { RequestHead } from "../http/front.ts";
import { errorsAsSent, NO_MEMBERS, NumberLiteral, type Parsed, parseJson } from "../http/json.ts";
import { Access } from "../auth/access.ts";
import { BODY_VALUES } from "../http/limits.ts";

/** Enough for a person to see what is wrong. */
const ERRORS_MAX = 100;
/**
 * A larger body is answered with its first error only: finding all of them takes memory for each,
 * and a hostile body can hold millions.
 */
const EXPLAINED_BYTES_MAX = 64 * 1_024;

/** Valid queries that are remembered: those of bookings on ten thousand events. At most twice. */
export const QUERIES_MIN = 10_000;
const QUERY_LENGTH_MAX = 200;

export interface QueryParameter<T = unknown> {
  readonly shape: Shape<T>;
  readonly description: string;
  readonly required?: boolean;
  readonly default?: T;
}

/** The parts of a row that say what its requests look like. */
interface RequestShape {
  readonly body?: Shape;
  readonly params?: Readonly<Record<string, Shape>>;
  readonly query?: Readonly<Record<string, QueryParameter>>;
  /** An empty body counts as an empty object. */
  readonly mayBeEmpty?: boolean;
  readonly bodyValuesMax?: number;
}

export interface RouteChecks {
  /** Normalizes the names and texts of a body; to be called before its check. */
  readonly compose: (value: unknown) => unknown;
  /** @returns The errors of the body; empty when it matches its shape. */
  readonly body: (value: unknown, bodyBytes?: number) => readonly FieldError[];
  readonly params: (raw: Readonly<Record<string, string>>) => Checked;
  /** @param raw - Without its question mark. */
  readonly query: (raw: string) => CheckedQuery;
}

export interface Checked {
  readonly values: Readonly<Record<string, unknown>>;
  readonly errors: readonly FieldError[];
}

export interface CheckedQuery extends Checked {
  /** Names of parameters that the route does not have. */
  readonly unknown: readonly string[];
}

const INTEGER = /^-?\d{1,19}$/;

const NO_ERRORS: readonly FieldError[] = [];
const NOTHING: CheckedQuery = { values: {}, errors: NO_ERRORS, unknown: [] };

/** Stops at the first error. */
const quick = newAjv(false);
/** Checks a value again that failed, for all its errors. */
const thorough = newAjv(true);

function newAjv(allErrors: boolean): Ajv {
  // Shapes are part of the program, and a test checks them; here that would take most of a start.
  const validateSchema = false;
  const strict = { strict: true, allowUnionTypes: true };
  const ajv = new Ajv({ allErrors, ...strict, verbose: true, validateSchema });
  for (const [name, validate] of Object.entries(FORMATS)) ajv.addFormat(name, validate);
  return ajv.addFormat("int64", true);
}

/**
 * The library compiles a shape once, however many routes have it. At the start of the server the
 * shapes of all routes would take a tenth of a second.
 */
function checkOf(shape: Shape): (value: unknown, bodyBytes?: number) => readonly FieldError[] {
  let check: ValidateFunction | undefined;
  return (value, bodyBytes = 0) => {
    check ??= quick.compile(shape);
    if (check(value)) return NO_ERRORS;
    if (bodyBytes > EXPLAINED_BYTES_MAX) return (check.errors ?? []).map(fieldErrorOf);
    const errors = new Map<string, FieldError>();
    explain(shape, value, "", errors);
    return [...errors.values()];
  };
}

/**
 * Adds the errors of a value, at most 100 in all and one for a field: a value of the wrong type is
 * often out of range as well. The library would find those of each of ten thousand items.
 *
 * @param errors - By field.
 */
function explain(
  shape: Shape,
  value: unknown,
  pointer: string,
  errors: Map<string, FieldError>,
): void {
  const { items, properties } = shape as { items?: Shape; properties?: Record<string, Shape> };
  const own = thorough.compile(ownOf(shape));
  if (!own(value)) {
    for (const error of own.errors ?? []) {
      if (errors.size >= ERRORS_MAX) return;
      const found = fieldErrorOf({ ...error, instancePath: pointer + error.instancePath });
      if (!errors.has(found.field)) errors.set(found.field, found);
    }
  }
  const part = (inner: Shape, name: string | number, member: unknown) => {
    if (quick.validate(inner, member)) return;
    explain(inner, member, `${pointer}/${name}`, errors);
  };
  if (items !== undefined && Array.isArray(value)) {
    for (let i = 0; i < value.length && errors.size < ERRORS_MAX; i++) part(items, i, value[i]);
  } else if (properties !== undefined && isObject(value)) {
    for (const [name, member] of Object.entries(properties)) {
      if (errors.size < ERRORS_MAX && Object.hasOwn(value, name)) part(member, name, value[name]);
    }
  }
}

const ownShapes = new WeakMap<Shape, Shape>();

/** The shape without those of its items and members. */
function ownOf(shape: Shape): Shape {
  let own = ownShapes.get(shape);
  if (own === undefined) {
    const { items: _, properties, ...rest } = shape;
    const names = Object.keys(properties ?? {}).map((name) => [name, {}]);
    own = properties === undefined ? rest : { ...rest, properties: Object.fromEntries(names) };
    ownShapes.set(shape, own);
  }
  return own;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

// Strict handling (RFC 7240): what a route does not know is refused in place of ignored.

/**
 * @param parameters - The unknown ones of the query.
 * @returns Errors for these and for members of the body that its shape does not have: at most 100.
 */
export function findUnknown(
  shape: Shape | undefined,
  body: unknown,
  parameters: readonly string[],
): readonly FieldError[] {
  const errors = parameters.slice(0, ERRORS_MAX).map(unknown);
  if (shape !== undefined) addUnknownMembers(shape, body, "", errors);
  return errors;
}

function addUnknownMembers(
  shape: Shape,
  value: unknown,
  field: string,
  errors: FieldError[],
): void {
  if (typeof value !== "object" || value === null || errors.length >= ERRORS_MAX) return;
  if (Array.isArray(value)) {
    const items = shape["items"] as Shape | undefined;
    if (items === undefined) return;
    for (let i = 0; i < value.length && errors.length < ERRORS_MAX; i++)
      addUnknownMembers(items, value[i], `${field}[${i}]`, errors);
    return;
  }
  const properties = shape["properties"] as Readonly<Record<string, Shape>> | undefined;
  if (properties === undefined) return;
  // Further members of an open object are kept, those of an exact one are refused anyway.
  const isKnown = shape["additionalProperties"] !== undefined;
  for (const [name, member] of Object.entries(value)) {
    const path = field === "" ? name : `${field}.${name}`;
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (known !== undefined) addUnknownMembers(known, member, path, errors);
    else if (!isKnown && errors.length < ERRORS_MAX) errors.push(unknown(path));
  }
}

/** The value may be a secret under a misspelled name. */
function unknown(field: string): FieldError {
  return { field, code: "UNKNOWN", message: "is not known to this path", rejectedValue: null };
}

export function checksOf({ body, params, query }: RequestShape): RouteChecks {
  return {
    compose: (body === undefined ? null : composerOf(body)) ?? ((value) => value),
    body: body === undefined ? () => NO_ERRORS : checkOf(body),
    params: params === undefined ? () => NOTHING : paramsCheck(params),
    query: query === undefined ? noQuery : queryCheck(query),
  };
}

const bodyChecks = new Map<Shape, RouteChecks>();

/** Memoized checks of a shape chosen by query. There are few such shapes. */
export function bodyChecksOf(shape: Shape): RouteChecks {
  const known = bodyChecks.get(shape) ?? checksOf({ body: shape });
  bodyChecks.set(shape, known);
  return known;
}

function noQuery(raw: string): CheckedQuery {
  return raw === "" ? NOTHING : { ...NOTHING, unknown: [...new URLSearchParams(raw).keys()] };
}

function paramsCheck(shapes: Readonly<Record<string, Shape>>): RouteChecks["params"] {
  const checks = Object.entries(shapes).map(([name, shape]) => {
    return { name, shape, check: checkOf(shape) };
  });
  return (raw) => {
    const values: Record<string, unknown> = {};
    const errors: FieldError[] = [];
    for (const { name, shape, check } of checks) {
      const value = convert(raw[name] ?? "", shape);
      values[name] = value;
      for (const error of check(value)) errors.push(errorOf(error, name, raw[name]));
    }
    return { values, errors };
  };
}

function queryCheck(parameters: Readonly<Record<string, QueryParameter>>): RouteChecks["query"] {
  const checks = Object.entries(parameters).map(([name, parameter]) => {
    return { name, parameter, check: checkOf(parameter.shape) };
  });
  const parse = (raw: string): CheckedQuery => {
    const values: Record<string, unknown> = {};
    const errors: FieldError[] = [];
    const given = new URLSearchParams(raw);
    for (const { name, parameter, check } of checks) {
      const texts = textsOf(given.getAll(name));
      if (texts.length === 0) {
        if (parameter.required === true) errors.push(missing(name));
        values[name] = parameter.default;
        continue;
      }
      const isList = parameter.shape["type"] === "array";
      if (!isList && texts.length > 1) {
        values[name] = texts;
        errors.push(ambiguous(name, texts));
        continue;
      }
      const value = isList ? texts : convert(texts[0]!, parameter.shape);
      values[name] = value;
      for (const error of check(value)) errors.push(errorOf(error, name, texts[0]));
    }
    const others = [...given.keys()].filter((name) => !Object.hasOwn(parameters, name));
    return { values, errors, unknown: others };
  };
  // The queries of lists differ too much to be worth remembering.
  return checks.length === 1 ? remembering(parse) : parse;
}

/** An error of a parameter; a number is given back as it was sent. */
function errorOf(error: FieldError, field: string, text = ""): FieldError {
  const isRounded = typeof error.rejectedValue === "number" && INTEGER.test(text);
  const sent = isRounded ? new NumberLiteral(String(BigInt(text))) : error.rejectedValue;
  return { ...error, field, rejectedValue: sent };
}

/** Queries that all routes of this process remember, for the metrics. */
export const rememberedQueries = { count: 0 };

/**
 * The requests of a sale repeat the same queries, so valid ones are remembered and shared. There
 * are two generations: when the younger is full it becomes the older, and of the older only the
 * queries that are used again survive.
 */
function remembering(parse: RouteChecks["query"]): RouteChecks["query"] {
  let younger = new Map<string, CheckedQuery>();
  let older = new Map<string, CheckedQuery>();
  const remember = (raw: string, checked: CheckedQuery): CheckedQuery => {
    if (younger.size === QUERIES_MIN) {
      rememberedQueries.count -= older.size;
      [younger, older] = [new Map(), younger];
    }
    younger.set(raw, checked);
    rememberedQueries.count += 1;
    return checked;
  };
  return (raw) => {
    const known = younger.get(raw);
    if (known !== undefined) return known;
    const knownBefore = older.get(raw);
    if (knownBefore !== undefined) return remember(raw, knownBefore);
    const checked = parse(raw);
    if (checked.errors.length > 0 || raw.length > QUERY_LENGTH_MAX) return checked;
    for (const value of Object.values(checked.values)) Object.freeze(value);
    Object.freeze(checked.values);
    return remember(raw, checked);
  };
}

/** An empty text counts as not given, and an equal one counts once. */
function textsOf(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].filter((text) => text !== "");
}

function ambiguous(field: string, texts: readonly string[]): FieldError {
  const message = "must not be given with different values";
  return { field, code: "TYPE", message, rejectedValue: texts };
}

/** Text to the type of the shape. Text that does not convert stays text and fails the check. */
function convert(text: string, shape: Shape): unknown {
  if (shape["type"] === "integer") return INTEGER.test(text) ? Number(text) : text;
  if (shape["type"] === "boolean") return text === "true" ? true : text === "false" ? false : text;
  if (shape["format"] === "uuid") return text.toLowerCase();
  const compose = composerOf(shape);
  return compose === null ? text : compose(text);
}

const NOT_JSON: Problem = {
  refused: FrontResult.UNSUPPORTED_MEDIA_TYPE,
  detail: "The body must be application/json.",
};

const ENCODED: Problem = {
  refused: FrontResult.UNSUPPORTED_MEDIA_TYPE,
  detail: "The body must not be compressed: Content-Encoding must be identity.",
};

/** @returns What is wrong with the headers; null for nothing. */
export function refuseHead(
  route: RequestShape & { readonly access: Access },
  head: RequestHead,
): Problem | null {
  if (route.body !== undefined) {
    if (!isJson(head.contentType)) return NOT_JSON;
    if (!isIdentity(head.contentEncoding)) return ENCODED;
  }
  if (head.repeatedHeader === "" || route.access === Access.PUBLIC) return null;
  const detail = `The header ${head.repeatedHeader} may come only once.`;
  return { refused: FrontResult.MALFORMED_REQUEST, detail };
}

function isIdentity(contentEncoding: string): boolean {
  return contentEncoding === "" || contentEncoding.trim().toLowerCase() === "identity";
}

/** A body without a type counts as JSON. */
function isJson(contentType: string): boolean {
  if (contentType === "" || contentType === "application/json") return true;
  return contentType.split(";", 1)[0]!.trim().toLowerCase() === "application/json";
}

interface ReadBody {
  readonly body: unknown;
  readonly errors: readonly FieldError[];
}

/** A body in any form, with what is wrong with it. */
export function readBody(
  { mayBeEmpty, bodyValuesMax = BODY_VALUES.usual }: RequestShape,
  checks: RouteChecks,
  bytes: Buffer,
): ReadBody | Problem {
  const isLeftOut = bytes.length === 0 && mayBeEmpty === true;
  const parsed = isLeftOut ? NO_MEMBERS : parseJson(bytes, { values: bodyValuesMax });
  if (!parsed.ok) return refuseUnparsed(parsed);
  const body = checks.compose(parsed.value);
  return { body, errors: checks.body(body, bytes.length) };
}

function refuseUnparsed({ reason, errors }: Extract<Parsed, { readonly ok: false }>): Problem {
  if (errors !== undefined) return refuseInvalid(errors);
  return { refused: FrontResult.MALFORMED_REQUEST, detail: reason };
}

/** Shows rejected numbers as they were sent. */
export function asSent(handled: Answer | Problem, body: Buffer): Answer | Problem {
  if (!isRefused(handled) || handled.errors === undefined) return handled;
  return { ...handled, errors: errorsAsSent(handled.errors, body) };
}
