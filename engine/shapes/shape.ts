/**
 * Shapes: JSON Schema that carries its TypeScript type. A shape is written once; validators, the
 * OpenAPI document and the type of the value (`TypeOf`) are derived from it.
 */

declare const TYPE: unique symbol;

/** A JSON Schema. The values that match it have type `T`, which only the compiler sees. */
export interface Shape<T = unknown> {
  readonly [TYPE]?: T;
  readonly [keyword: string]: unknown;
}

export type TypeOf<S> = S extends Shape<infer T> ? T : never;

/** Marks a member that may be missing. */
export interface Optional<T = unknown> {
  readonly optional: Shape<T>;
}

/** The members of an object, by name. */
export type Members = Readonly<Record<string, Shape | Optional>>;

type OptionalKeys<M> = { [K in keyof M]: M[K] extends Optional ? K : never }[keyof M];
/** Written so that the comment of a member is also that of its value. */
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

export function either<A, B>(a: Shape<A>, b: Shape<B>): Shape<A | B> {
  return { anyOf: [a, b] };
}

/** A member of a request that may be left out; null means the same. */
export function optional<T>(shape: Shape<T>): Optional<T | null> {
  return { optional: orNull(shape) };
}

/** A member of an answer that is left out while it has no value. */
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

/** An object. Members that it does not name are allowed and ignored. */
export function object<M extends Members>(members: M): Shape<ObjectOf<M>> {
  const entries = Object.entries(members);
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, member]) => [name, shapeOf(member)])),
    required: entries.flatMap(([name, member]) => (isOptional(member) ? [] : [name])),
  };
}

/** An object that may have further members, which are kept. */
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
