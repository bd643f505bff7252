/**
 * Shapes made into checks, once at start: bodies as they are, path and query parameters after their
 * text was converted. Faults carry the field in the interface's notation and its constraint codes.
 */
import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { type FieldError, missing } from "../../engine/results.ts";
import { FORMATS, type Shape } from "../../engine/shapes.ts";
import type { QueryParameter, Route } from "./route.ts";

/** Enough for a person to see what is wrong. */
const FAULTS_MAX = 100;
/**
 * Of a larger body only the first fault is told: looking for all of them costs memory for each, and
 * a hostile body can hold millions.
 */
const EXPLAINED_BYTES_MAX = 64 * 1_024;

/** Good queries that are remembered: bookings of ten thousand events. Twice as many at most. */
const QUERIES_MIN = 10_000;
const QUERY_LENGTH_MAX = 200;

export interface RouteChecks {
  /** @returns Faults of the body; empty when it has its shape. */
  readonly body: (value: unknown, bodyBytes?: number) => readonly FieldError[];
  readonly params: (raw: Readonly<Record<string, string>>) => Checked;
  /** @param raw - Without its question mark. */
  readonly query: (raw: string) => Checked;
}

export interface Checked {
  readonly values: Readonly<Record<string, unknown>>;
  readonly faults: readonly FieldError[];
}

const NO_FAULTS: readonly FieldError[] = [];
const NOTHING: Checked = { values: {}, faults: NO_FAULTS };

const quick = newAjv(false);
/** Checks again what failed, for all that is wrong. */
const thorough = newAjv(true);

function newAjv(allErrors: boolean): Ajv {
  const ajv = new Ajv({ allErrors, strict: true, allowUnionTypes: true, verbose: true });
  for (const [name, validate] of Object.entries(FORMATS)) ajv.addFormat(name, validate);
  return ajv.addFormat("int64", true);
}

/** The library compiles a shape once, however many routes have it. */
function checkOf(shape: Shape): (value: unknown, bodyBytes?: number) => readonly FieldError[] {
  const check: ValidateFunction = quick.compile(shape);
  return (value, bodyBytes = 0) => {
    if (check(value)) return NO_FAULTS;
    if (bodyBytes > EXPLAINED_BYTES_MAX) return (check.errors ?? []).map(faultOf);
    const explain = thorough.compile(shape);
    explain(value);
    return firstByField((explain.errors ?? []).map(faultOf)).slice(0, FAULTS_MAX);
  };
}

export function checksOf({ body, params, query }: Route): RouteChecks {
  return {
    body: body === undefined ? () => NO_FAULTS : checkOf(body),
    params: params === undefined ? () => NOTHING : paramsCheck(params),
    query: query === undefined ? () => NOTHING : queryCheck(query),
  };
}

function paramsCheck(shapes: Readonly<Record<string, Shape>>): RouteChecks["params"] {
  const checks = Object.entries(shapes).map(
    ([name, shape]) => ({ name, shape, check: checkOf(shape) }) as const,
  );
  return (raw) => {
    const values: Record<string, unknown> = {};
    const faults: FieldError[] = [];
    for (const { name, shape, check } of checks) {
      const value = convert(raw[name] ?? "", shape);
      values[name] = value;
      for (const fault of check(value)) faults.push({ ...fault, field: name });
    }
    return { values, faults };
  };
}

function queryCheck(parameters: Readonly<Record<string, QueryParameter>>): RouteChecks["query"] {
  const checks = Object.entries(parameters).map(
    ([name, parameter]) => ({ name, parameter, check: checkOf(parameter.shape) }) as const,
  );
  const checkAfresh = (raw: string): Checked => {
    const values: Record<string, unknown> = {};
    const faults: FieldError[] = [];
    const given = new URLSearchParams(raw);
    for (const { name, parameter, check } of checks) {
      const texts = given.getAll(name);
      if (texts.length === 0) {
        if (parameter.required === true) faults.push(missing(name));
        values[name] = parameter.default;
        continue;
      }
      const value = convertAll(texts, parameter.shape);
      values[name] = value;
      for (const fault of check(value)) faults.push({ ...fault, field: name });
    }
    return { values, faults };
  };
  // Lists are asked in too many ways, and cost more than looking at a query.
  return checks.length === 1 ? remembering(checkAfresh) : checkAfresh;
}

/**
 * A sale asks with the same queries again and again: what was good is remembered, and shared. The
 * younger half is kept when there are too many, with what was asked for since it was begun.
 */
function remembering(check: RouteChecks["query"]): RouteChecks["query"] {
  let younger = new Map<string, Checked>();
  let older = new Map<string, Checked>();
  const remember = (raw: string, checked: Checked): Checked => {
    if (younger.size === QUERIES_MIN) [younger, older] = [new Map(), younger];
    younger.set(raw, checked);
    return checked;
  };
  return (raw) => {
    const known = younger.get(raw);
    if (known !== undefined) return known;
    const knownBefore = older.get(raw);
    if (knownBefore !== undefined) return remember(raw, knownBefore);
    const checked = check(raw);
    if (checked.faults.length > 0 || raw.length > QUERY_LENGTH_MAX) return checked;
    for (const value of Object.values(checked.values)) Object.freeze(value);
    Object.freeze(checked.values);
    return remember(raw, checked);
  };
}

/** What has the wrong type is out of range as well; once is enough. */
function firstByField(faults: readonly FieldError[]): FieldError[] {
  const byField = new Map<string, FieldError>();
  for (const fault of faults) {
    if (!byField.has(fault.field)) byField.set(fault.field, fault);
  }
  return [...byField.values()];
}

function convertAll(texts: readonly string[], shape: Shape): unknown {
  if (shape["type"] === "array") return texts;
  // The same parameter twice says two things; the list is of no other type, so it is refused.
  return texts.length === 1 ? convert(texts[0]!, shape) : texts;
}

/**
 * Text to the type of the shape; what does not convert stays text, which the check then refuses.
 */
function convert(text: string, shape: Shape): unknown {
  if (shape["type"] === "integer") return /^-?\d{1,19}$/.test(text) ? Number(text) : text;
  if (shape["type"] === "boolean") return text === "true" ? true : text === "false" ? false : text;
  return shape["format"] === "uuid" ? text.toLowerCase() : text;
}

/** The interface's constraint codes by JSON Schema keyword, and what to say to a person. */
const RULES: Readonly<Record<string, readonly [code: string, say: (limit: unknown) => string]>> = {
  type: ["TYPE", (type) => `must be ${[type].flat().join(" or ")}`],
  minLength: ["SIZE", (length) => `must have at least ${String(length)} characters`],
  maxLength: ["SIZE", (length) => `must have at most ${String(length)} characters`],
  minItems: ["SIZE", (count) => `must have at least ${String(count)} items`],
  maxItems: ["SIZE", (count) => `must have at most ${String(count)} items`],
  minimum: ["RANGE", (limit) => `must be at least ${String(limit)}`],
  maximum: ["RANGE", (limit) => `must be at most ${String(limit)}`],
  enum: ["ENUM", (values) => `must be one of ${[values].flat().join(", ")}`],
  format: ["FORMAT", (format) => FORMAT_WORDS[String(format)] ?? "is not well formed"],
};

const FORMAT_WORDS: Readonly<Record<string, string>> = {
  uuid: "must be a UUID",
  email: "must be an email address",
  line: "must be one line of text without control characters",
  "local-date-time": "must be a local date-time such as 2026-03-19T10:00:00",
  moment: "must be a sequence number, a date or a local date-time",
  "local-date": "must be a date or a local date-time, such as 2026-03-19T10:00:00",
};

function faultOf({
  keyword,
  instancePath,
  params,
  schema,
  data,
  message,
}: ErrorObject): FieldError {
  const path = fieldOf(instancePath);
  if (keyword === "required") {
    const { missingProperty } = params as { missingProperty: string };
    return missing(path === "" ? missingProperty : `${path}.${missingProperty}`);
  }
  const rejectedValue: unknown = data ?? null;
  if (keyword === "type" && rejectedValue === null) return missing(path);
  const rule = RULES[keyword];
  if (rule !== undefined) {
    return { field: path, code: rule[0], message: rule[1](schema), rejectedValue };
  }
  const said = message ?? "is not valid";
  return { field: path, code: keyword.toUpperCase(), message: said, rejectedValue };
}

/** `/seats/0/id` to `seats[0].id`. */
function fieldOf(pointer: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .map((part, i) => (/^\d+$/.test(part) ? `[${part}]` : i === 0 ? part : `.${part}`))
    .join("");
}
