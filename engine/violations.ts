/**
 * The report on a value outside its shape: the field in the notation of the interface, a constraint
 * code, and a sentence. The front and the library report the same.
 */
import { composedForm, MARKS_IN_A_ROW_MAX, normalName } from "./names.ts";
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
  minLength: ["SIZE", (length) => `must have at least ${counted(length, "character")}`],
  maxLength: ["SIZE", (length) => `must have at most ${counted(length, "character")}`],
  minItems: ["SIZE", (count) => `must have at least ${counted(count, "item")}`],
  maxItems: ["SIZE", (count) => `must have at most ${counted(count, "item")}`],
  maxProperties: ["SIZE", (count) => `must have at most ${counted(count, "member")}`],
  minimum: ["RANGE", (limit) => `must be at least ${String(limit)}`],
  maximum: ["RANGE", (limit) => `must be at most ${String(limit)}`],
  enum: ["ENUM", (values) => `must be one of ${namesIn(values as readonly unknown[])}`],
  format: ["FORMAT", (format) => FORMAT_MESSAGES[String(format)] ?? "is not well formed"],
};

const FORMAT_MESSAGES: Readonly<Record<string, string>> = {
  uuid: "must be a UUID",
  "lower-case-uuid": "must be a UUID",
  email: "must be an email address",
  "channel-key": "must be letters from A to Z, digits, and _ - . (not . or .. alone)",
  currency: "must be three capital letters, such as EUR",
  line: "must be one line of text without control characters",
  name:
    "must be one line of text without control characters and without invisible ones, such as " +
    "direction marks and zero-width blanks; joiners may stand between letters or emoji, and at " +
    `most ${MARKS_IN_A_ROW_MAX} accents and other marks in a row`,
  text:
    "must be text without control characters other than line breaks and tabs, with at most " +
    `${MARKS_IN_A_ROW_MAX} accents and other marks in a row`,
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

/** Without null, the value of a missing member. */
function namesIn(values: readonly unknown[]): string {
  return values.filter((value) => typeof value === "string").join(", ");
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

/** "1 item", "2 items". */
function counted(count: unknown, noun: string): string {
  return `${String(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** "string" becomes "a string". */
function withArticle(type: unknown): string {
  const name = String(type);
  return name === "null" ? name : `${/^[aeiou]/.test(name) ? "an" : "a"} ${name}`;
}

// Normalization: names are stored, compared and searched in their stored form, other texts for people
// in the composed one (NFC). Session ids, passwords, keys and external ids stay as they are.

/** By format. */
const NORMALIZERS: Readonly<Record<string, (text: string) => string>> = {
  name: normalName,
  email: (text) => composedForm(text),
  text: (text) => composedForm(text),
};

type Compose = (value: unknown) => unknown;

/**
 * Makes the function to normalize the texts in a value of the shape. It accepts values outside the
 * shape, and changes nothing in place: a value without such a change is returned itself.
 *
 * @returns Null for a shape without such texts.
 */
export function composerOf(shape: Shape): Compose | null {
  const normalize = NORMALIZERS[String(shape["format"])];
  if (normalize !== undefined) {
    return (value) => (typeof value === "string" ? normalize(value) : value);
  }
  const { items, properties } = shape as { items?: Shape; properties?: Record<string, Shape> };
  if (items !== undefined) {
    const compose = composerOf(items);
    return compose === null ? null : (value) => composeItems(value, compose);
  }
  const members = Object.entries(properties ?? {}).flatMap(([name, member]) => {
    const compose = composerOf(member);
    return compose === null ? [] : [[name, compose] as const];
  });
  return members.length === 0 ? null : (value) => composeMembers(value, members);
}

function composeItems(value: unknown, compose: Compose): unknown {
  if (!Array.isArray(value)) return value;
  const given: readonly unknown[] = value;
  let changed: unknown[] | null = null;
  for (const [i, item] of given.entries()) {
    const composed = compose(item);
    if (composed !== item) (changed ??= [...given])[i] = composed;
  }
  return changed ?? given;
}

function composeMembers(value: unknown, members: readonly (readonly [string, Compose])[]): unknown {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  const given = value as Readonly<Record<string, unknown>>;
  let changed: Record<string, unknown> | null = null;
  for (const [name, compose] of members) {
    const composed = compose(given[name]);
    if (composed !== given[name]) (changed ??= { ...given })[name] = composed;
  }
  return changed ?? given;
}
