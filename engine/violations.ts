/**
 * The report on a value outside its shape: the field in the notation of the interface, a constraint
 * code, and a sentence. The front and the library report the same.
 */
import { type FieldError, missing } from "./results.ts";
import type { Shape } from "./schema.ts";

/** A violation as a JSON Schema validator reports it. */
export interface Violation {
  readonly keyword: string;
  /** JSON pointer to the value. */
  readonly instancePath: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** The value of the keyword in the shape. */
  readonly schema?: unknown;
  /** The rejected value. */
  readonly data?: unknown;
}

type Rule = readonly [code: string, describe: (limit: unknown) => string];

const RULES: Readonly<Record<string, Rule>> = {
  type: ["TYPE", (type) => `must be ${[type].flat().map(withArticle).join(" or ")}`],
  minLength: ["SIZE", (length) => `must have at least ${String(length)} characters`],
  maxLength: ["SIZE", (length) => `must have at most ${String(length)} characters`],
  minItems: ["SIZE", (count) => `must have at least ${String(count)} items`],
  maxItems: ["SIZE", (count) => `must have at most ${String(count)} items`],
  maxProperties: ["SIZE", (count) => `must have at most ${String(count)} members`],
  minimum: ["RANGE", (limit) => `must be at least ${String(limit)}`],
  maximum: ["RANGE", (limit) => `must be at most ${String(limit)}`],
  enum: ["ENUM", (values) => `must be one of ${[values].flat().join(", ")}`],
  format: ["FORMAT", (format) => FORMAT_MESSAGES[String(format)] ?? "is not well formed"],
};

const FORMAT_MESSAGES: Readonly<Record<string, string>> = {
  uuid: "must be a UUID",
  "lower-case-uuid": "must be a UUID",
  email: "must be an email address",
  line: "must be one line of text without control characters",
  name: "must be one line of text without control characters",
  text: "must be text without control characters other than line breaks and tabs",
  "local-date-time": "must be a local date-time such as 2026-03-19T10:00:00",
  moment: "must be a sequence number, a date or a local date-time",
  "local-date": "must be a date or a local date-time, such as 2026-03-19T10:00:00",
};

export function fieldErrorOf({
  keyword,
  instancePath,
  params,
  schema,
  data,
}: Violation): FieldError {
  const field = fieldOf(instancePath);
  const member = (name: unknown) => (field === "" ? String(name) : `${field}.${String(name)}`);
  if (keyword === "required") return missing(member(params["missingProperty"]));
  const rejectedValue = data ?? null;
  if (keyword === "additionalProperties") {
    const message = "is not a known member";
    const name = member(params["additionalProperty"]);
    return { field: name, code: "UNKNOWN", message, rejectedValue: null };
  }
  if (keyword === "type" && rejectedValue === null) return missing(field);
  const [code, describe] = RULES[keyword] ?? [keyword.toUpperCase(), () => "is not valid"];
  return { field, code, message: describe(schema), rejectedValue };
}

/** `/seats/0/id` becomes `seats[0].id`. */
function fieldOf(pointer: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .map((part, i) => (/^\d+$/.test(part) ? `[${part}]` : i === 0 ? part : `.${part}`))
    .join("");
}

/** "string" becomes "a string". */
function withArticle(type: unknown): string {
  const name = String(type);
  return name === "null" ? name : `${/^[aeiou]/.test(name) ? "an" : "a"} ${name}`;
}

// Unicode composition: names and other texts for people are stored, compared and searched in the
// composed form (NFC). Session ids, passwords and keys stay as they are.

const COMPOSED_FORMATS: ReadonlySet<unknown> = new Set(["email", "name", "text"]);

type Compose = (value: unknown) => unknown;

/** True for a text stored in the composed form. */
export function isComposed(shape: Shape): boolean {
  return COMPOSED_FORMATS.has(shape["format"]);
}

/**
 * Makes the function to compose the texts in a value of the shape. It accepts values outside the
 * shape, and changes nothing in place.
 *
 * @returns Null for a shape without such texts.
 */
export function composerOf(shape: Shape): Compose | null {
  if (isComposed(shape)) {
    return (value) => (typeof value === "string" ? value.normalize("NFC") : value);
  }
  const { items, properties } = shape as { items?: Shape; properties?: Record<string, Shape> };
  if (items !== undefined) {
    const compose = composerOf(items);
    if (compose === null) return null;
    return (value) => (Array.isArray(value) ? value.map(compose) : value);
  }
  const members = Object.entries(properties ?? {}).flatMap(([name, member]) => {
    const compose = composerOf(member);
    return compose === null ? [] : [[name, compose] as const];
  });
  return members.length === 0 ? null : (value) => composeMembers(value, members);
}

function composeMembers(value: unknown, members: readonly (readonly [string, Compose])[]): unknown {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  const given = value as Readonly<Record<string, unknown>>;
  const changed: Record<string, unknown> = {};
  for (const [name, compose] of members) {
    const composed = compose(given[name]);
    if (composed !== given[name]) changed[name] = composed;
  }
  return Object.keys(changed).length === 0 ? value : { ...given, ...changed };
}
