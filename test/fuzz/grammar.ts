/** Valid requests, generated from the OpenAPI document. */
import fc, { type Arbitrary } from "fast-check";
import { routeTable } from "../../server/routes/table.ts";
import { DOCUMENT } from "../support/answers/documented.ts";
import { anyShare, type Value } from "./values.ts";

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly Value[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
}

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: "path" | "query";
  readonly required?: boolean;
  readonly schema: Schema;
}

interface Described {
  readonly parameters: readonly Parameter[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
  };
}

/** An operation, and what a valid request of it has. */
export interface Operation {
  readonly method: string;
  /** With its parameters in braces. */
  readonly path: string;
  readonly params: Arbitrary<Readonly<Record<string, Value>>>;
  readonly query: Arbitrary<Readonly<Record<string, Value>>>;
  /** Null for an operation without a body. */
  readonly body: Arbitrary<Value> | null;
}

const { schemas } = DOCUMENT.components as unknown as { schemas: Record<string, Schema> };
const ITEMS_MAX = 6;
const LETTERS = Array.from("abcXYZ019 -_;'\"\\/é€😀");
/** Before the name of a pool: without its first value, so that later requests have something. */
export const LATER = "later ";
const TEXT_LENGTH_MAX = 24;
/** An organization that leaves is closed. */
const MOVES = /\/organizations\/.*\/move/;
/** Limits of an organization: a low one would refuse most later requests. */
const RATES = [5, 5_000, 50_000, 500_000];
/** Seconds that a request may wait: a round must not take hours. */
const WAITS = [...Array.from({ length: 50 }, () => 0), 1];

/** The pool from which a member takes its values, by its name. */
const POOLS: Readonly<Record<string, string>> = {
  eventId: "events",
  schemaId: "schemas",
  venueId: "venues",
  seriesId: "series",
  assignmentId: "prices",
  priceId: "prices",
  objectId: "objects",
  parentId: "objects",
  sectionId: "objects",
  rowId: "objects",
  seatId: "objects",
  groupOfSeatsId: "objects",
  orgId: "organizations",
  tenantId: "tenants",
  sessionId: "sessions",
  holdType: "holdTypes",
  compositeKey: "keys",
  name: "names",
  sort: "sorts",
  guid: "guids",
  sectorGuid: "guids",
  rowGuid: "guids",
  groupOfSeatsGuid: "guids",
  asOf: "moments",
  refreshToken: "refreshTokens",
  email: "emails",
  password: "passwords",
  eventIds: "events",
  url: "urls",
  address: "urls",
  ticket: "ticket",
  receipt: "receipt",
  content: "content",
};
/** The pool of `id`, by the name of the schema that has it, or by the noun before it in a path. */
const POOLS_OF_ID: readonly (readonly [RegExp, string])[] = [
  [/webhook/i, "webhooks"],
  [/Selection|seat|Assignment/i, "objects"],
  [/schema|Layout/i, "schemas"],
  [/venue/i, "venues"],
  [/zone/i, "zones"],
  [/series/i, "series"],
  [/price/i, "prices"],
  [/event/i, "events"],
  [/organization/i, "organizations"],
];

/** The paths without parameters that the document does not describe. */
export function pagePaths(): readonly string[] {
  const paths = routeTable("0.0.0-fuzz").map(({ path }) => path);
  return paths.filter((path) => !(path in DOCUMENT.paths));
}

export function operations(): Operation[] {
  const paths = Object.entries(DOCUMENT.paths) as unknown as [string, Record<string, Described>][];
  return paths.flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => operationOf(method, path, described)),
  );
}

function operationOf(method: string, path: string, described: Described): Operation {
  const own = described.parameters.filter(({ $ref }) => $ref === undefined);
  const inPath = own.filter((parameter) => parameter.in === "path");
  const inQuery = own.filter((parameter) => parameter.in === "query");
  const schema = described.requestBody?.content["application/json"]?.schema;
  return {
    method,
    path,
    params: recordOf(inPath, (name) => path.slice(0, path.indexOf(`{${name}}`)), { method, path }),
    query: recordOf(inQuery, () => path, { method, path }),
    body: schema === undefined ? null : valueOf(schema, { name: "", owner: path }),
  };
}

function recordOf(
  parameters: readonly Parameter[],
  ownerOf: (name: string) => string,
  { method, path }: { readonly method: string; readonly path: string },
) {
  const isDeleted = method === "delete" || MOVES.test(path);
  const values = parameters.map(({ name, schema }) => [
    name,
    valueOf(schema, { name, owner: ownerOf(name), isDeleted }),
  ]);
  const required = parameters.filter((parameter) => parameter.required === true);
  return fc.record(Object.fromEntries(values) as Record<string, Arbitrary<Value>>, {
    requiredKeys: required.map(({ name }) => name),
  }) as Arbitrary<Readonly<Record<string, Value>>>;
}

interface Place {
  /** Of the member or parameter. */
  readonly name: string;
  /** The schema or path that has it. */
  readonly owner: string;
  /** The request may delete or close the named object. */
  readonly isDeleted?: boolean;
}

/** @param schema - Of the document; a shape is one, too. */
export function valueOf(schema: Schema, place: Place): Arbitrary<Value> {
  if (schema.$ref !== undefined) {
    const owner = schema.$ref.split("/").at(-1)!;
    return valueOf(schemas[owner]!, { ...place, owner });
  }
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return fc.oneof(...choices.map((choice) => valueOf(choice, place)));
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? ["object"]);
  return fc.oneof(
    ...types.map((type) => ({
      arbitrary: typed(type, schema, place),
      weight: type === "null" ? 1 : 4,
    })),
  );
}

function typed(type: string, schema: Schema, place: Place): Arbitrary<Value> {
  switch (type) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "number":
      return fc.double({ min: schema.minimum ?? -1e6, max: schema.maximum ?? 1e6, noNaN: true });
    case "integer":
      return integerOf(schema, place);
    case "string":
      return stringOf(schema, place);
    case "array": {
      const maxLength = Math.min(schema.maxItems ?? ITEMS_MAX, ITEMS_MAX);
      return fc.array(valueOf(schema.items ?? {}, place), { maxLength });
    }
    default:
      return objectOf(schema, place);
  }
}

function objectOf({ properties = {}, required = [] }: Schema, { owner }: Place): Arbitrary<Value> {
  const members = Object.entries(properties).map(([name, member]) => [
    name,
    valueOf(member, { name, owner }),
  ]);
  return fc.record(Object.fromEntries(members) as Record<string, Arbitrary<Value>>, {
    requiredKeys: [...required],
  }) as Arbitrary<Value>;
}

function integerOf({ minimum, maximum }: Schema, place: Place): Arbitrary<Value> {
  if (place.name === "wait") return fc.constantFrom(...WAITS);
  if (place.name.endsWith("PerSecond")) return fc.constantFrom(...RATES);
  const pool = poolOf(place);
  const min = Math.max(minimum ?? -1_000, -1e9);
  const any = fc.oneof(
    { arbitrary: fc.integer({ min, max: Math.min(maximum ?? 1_000, min + 300) }), weight: 9 },
    { arbitrary: fc.constantFrom(min, maximum ?? 1_000), weight: 1 },
  );
  return pool === undefined ? any : mostly(pool, any);
}

function stringOf(schema: Schema, place: Place): Arbitrary<Value> {
  const { format, pattern, minLength = 0, maxLength = TEXT_LENGTH_MAX } = schema;
  const pool = poolOf(place);
  const free = fc.string({
    minLength,
    maxLength: Math.max(minLength, Math.min(maxLength, TEXT_LENGTH_MAX)),
    unit: fc.constantFrom(...LETTERS),
  });
  const any =
    pattern !== undefined && /T.*d\{2\}:/.test(pattern)
      ? fc.constantFrom(...TIMES)
      : pattern !== undefined
        ? fc.stringMatching(new RegExp(pattern))
        : format === "uuid"
          ? fc.uuid()
          : free;
  return pool === undefined ? any : mostly(pool, any);
}

const TIMES = [
  "2031-05-01T20:00:00",
  "2031-05-01T22:30:00.5",
  "2031-05-02T00:00",
  "2020-02-29T23:59:59.999999999",
  "9999-12-31T23:59:59",
];

function poolOf({ name, owner, isDeleted = false }: Place): string | undefined {
  const isId = name === "id";
  const pool = isId ? POOLS_OF_ID.find(([pattern]) => pattern.test(owner))?.[1] : POOLS[name];
  return isDeleted && pool !== undefined ? `${LATER}${pool}` : pool;
}

/** Values that exist, and now and then any. */
function mostly(pool: string, any: Arbitrary<Value>): Arbitrary<Value> {
  const pick = anyShare().map((at): Value => ({ $pool: pool, at }));
  return fc.oneof({ arbitrary: pick, weight: 9 }, { arbitrary: any, weight: 1 });
}
