/** Paged lists: the query parameters, the order, and the documented wrapper. */
import { nameKey } from "../../engine/layout/layout.ts";
import { pageOf, sortInSteps, type SortKey } from "../../engine/queries/order.ts";
import { isRefused, refuseInvalid } from "../../engine/results.ts";
import {
  BOOLEAN,
  integer,
  list,
  LONG,
  number,
  object,
  oneOf,
  openObject,
  orNull,
  type Shape,
  TEXT,
} from "../../engine/schema.ts";
import { type Answer, answer, type Problem } from "../http/answers.ts";
import { AREA_COUNTS } from "./entities.ts";
import { inSlices } from "./overload.ts";
import {
  type Context,
  type Endpoint,
  type Handled,
  type ParamsOf,
  type QueryOf,
  type QueryParameters,
  route,
  type Route,
  type RouteBase,
  type Shapes,
} from "./route.ts";

/** Rows that are looked at between two points where a long sort may be interrupted. */
const ROWS_PER_STEP = 500;
const SIZE_DEFAULT = 20;
const SIZE_MAX = 100;
const NO_SORTS: readonly string[] = [];

export const PAGE_QUERY = {
  page: {
    shape: integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    description: "Page number, from 0.",
    default: 0,
  },
  size: {
    shape: integer({ minimum: 1, maximum: SIZE_MAX }),
    description: `Items a page, 1 to ${SIZE_MAX}.`,
    default: SIZE_DEFAULT,
  },
  sort: {
    shape: list(TEXT, { maxItems: 10 }),
    description: "`property,asc` or `property,desc`; ascending without direction; may be repeated.",
    default: NO_SORTS,
  },
};
export type PageQuery = QueryOf<typeof PAGE_QUERY>;

export interface Sort<Property extends string> {
  readonly property: Property;
  readonly descending: boolean;
}

/** The rows that a query asks for. */
export interface Range<Property extends string> {
  readonly sort: readonly Sort<Property>[];
  readonly offset: number;
  readonly limit: number;
}

/** @returns VALIDATION_FAILED for a page too far, or a sort by no sortable property. */
export function rangeOf<Property extends string>(
  { page, size, sort: texts }: PageQuery,
  properties: readonly Property[],
): Range<Property> | Problem {
  const lastPage = Math.floor(Number.MAX_SAFE_INTEGER / size);
  if (page > lastPage) {
    const message = `must be at most ${lastPage} for pages of this size`;
    return refuseInvalid([{ field: "page", code: "RANGE", message, rejectedValue: page }]);
  }
  const sort: Sort<Property>[] = [];
  for (const text of texts) {
    const [name, direction = "asc", ...rest] = text.split(",");
    const property = properties.find((known) => known === name);
    const isDirection = /^(asc|desc)$/i.test(direction) && rest.length === 0;
    if (property === undefined || !isDirection) {
      const message = `must be one of ${properties.join(", ")}, then asc or desc`;
      const errors = [{ field: "sort", code: "UNKNOWN", message, rejectedValue: text }];
      return refuseInvalid(errors);
    }
    sort.push({ property, descending: direction.toLowerCase() === "desc" });
  }
  return { sort, offset: page * size, limit: size };
}

interface Identified {
  readonly id: number | string;
}

interface Showing<Row> {
  /** True for a row of the list; by default for all. */
  readonly isWanted: (row: Row) => boolean;
  /** Makes the wire form of a row: of those on the page, or of all to sort them. */
  readonly view: (row: Row) => Identified;
  /** Whose list it is: each has one list sorted at a time. */
  readonly organizationId?: number;
}

const AS_IT_IS: Showing<Identified> = { isWanted: () => true, view: (row) => row };

/**
 * Rows in wire form, sorted by any of their members that are plain values; ties break by id.
 *
 * @param rows - Where ids are UUIDs: in the order of their creation, which is that without a sort.
 */
export function pageOfRows<Row extends Identified>(
  rows: readonly Row[],
  query: PageQuery,
  item: Shape,
  showing: Showing<Row> = AS_IT_IS,
): Handled | Promise<Handled> {
  const keys = sortKeys(item);
  const range = rangeOf(query, [...keys.keys()]);
  if (isRefused(range)) return range;
  return inSlices(pageInSteps(rows, { query, keys, range }, showing), showing.organizationId);
}

interface Paging {
  readonly query: PageQuery;
  readonly keys: ReadonlyMap<string, MemberKey>;
  readonly range: Range<string>;
}

function* pageInSteps<Row extends Identified>(
  all: readonly Row[],
  { query, keys, range: { sort, offset, limit } }: Paging,
  { isWanted, view }: Showing<Row>,
): Generator<void, Handled> {
  const rows: Row[] = [];
  for (const [i, row] of all.entries()) {
    if (isWanted(row)) rows.push(row);
    if (i % ROWS_PER_STEP === 0) yield;
  }
  let sorted: readonly Row[];
  if (sort.length > 0) {
    const sortedBy = yield* keysOf(rows, { sort, keys }, view);
    const indexes = Uint32Array.from(rows.keys());
    const page = yield* pageOf(indexes, sortedBy, offset, offset + limit);
    sorted = Array.from(page, (i) => rows[i]!);
  } else {
    const isByCreation = typeof rows[0]?.id === "string";
    const byId = isByCreation ? rows : rows.toSorted((a, b) => compare(a.id, b.id));
    sorted = byId.slice(offset, offset + limit);
  }
  return pageAnswer(sorted.map(view), rows.length, query);
}

/** @returns By the index of a row: its keys. */
function* keysOf<Row extends Identified>(
  rows: readonly Row[],
  { sort, keys }: Pick<Paging, "keys"> & { readonly sort: Range<string>["sort"] },
  view: Showing<Row>["view"],
): Generator<void, SortKey[]> {
  /** By property. Only its first criterion can matter. */
  const columns = new Map<string, unknown[]>();
  const criteria = sort.filter(
    ({ property }) => !columns.has(property) && columns.set(property, []),
  );
  const ids: (number | string)[] = [];
  for (const [i, row] of rows.entries()) {
    const shown = view(row);
    ids.push(shown.id);
    for (const [property, column] of columns) column.push(shown[property as keyof Identified]);
    if (i % ROWS_PER_STEP === 0) yield;
  }
  const sortedBy: SortKey[] = [];
  for (const { property, descending } of criteria) {
    const ranks = yield* ranksOf(columns.get(property)!, keys.get(property)!);
    sortedBy.push({ keyOf: (i) => ranks[i]!, descending });
  }
  if (!columns.has("id")) {
    const ranks = yield* ranksOf(ids, (id) => id as number | string);
    sortedBy.push({ keyOf: (i) => ranks[i]!, descending: false });
  }
  return sortedBy;
}

/** @returns The rank of each value by its key; equal keys have the same rank. */
function* ranksOf(values: readonly unknown[], keyOf: MemberKey): Generator<void, Uint32Array> {
  const keyOfValue = new Map<unknown, number | string>();
  for (const [i, value] of values.entries()) {
    if (!keyOfValue.has(value)) keyOfValue.set(value, keyOf(value));
    if (i % ROWS_PER_STEP === 0) yield;
  }
  const sorted = yield* sortInSteps([...new Set(keyOfValue.values())]);
  const rankOf = new Map(sorted.map((key, rank) => [key, rank]));
  yield;
  return Uint32Array.from(values, (value) => rankOf.get(keyOfValue.get(value)!)!);
}

interface ListRow<P extends Shapes, Q extends QueryParameters, Row> {
  readonly params?: P;
  /** Parameters besides those of the page. */
  readonly filters?: Q;
  /** Its members that are plain values sort the list. */
  readonly item: Shape;
  readonly rows: (context: Context<ParamsOf<P>, QueryOf<Q>>) => readonly Row[] | Problem;
  /** True for a row of the list; by default for all. */
  readonly isWanted?: (row: Row, context: Context<ParamsOf<P>, QueryOf<Q>>) => boolean;
  /** Makes the wire form of a row; by default it has that form already. */
  readonly view?: (row: Row, context: Context) => Identified;
}

/** Makes the row of a paged list. */
export function listRoute<P extends Shapes, Q extends QueryParameters, Row extends Identified>(
  base: RouteBase,
  endpoint: Endpoint,
  { params, filters, item, rows, isWanted, view }: ListRow<P, Q, Row>,
): Route {
  return route(base, endpoint, {
    ...(params === undefined ? {} : { params }),
    query: { ...PAGE_QUERY, ...filters },
    answers: { 200: pageShape(item) },
    problems: [400, 403],
    handle: (context) => {
      const given = context as unknown as Context<ParamsOf<P>, QueryOf<Q>>;
      const found = rows(given);
      if (isRefused(found)) return found;
      return pageOfRows(found, context.query, item, {
        isWanted: (row) => isWanted?.(row, given) ?? true,
        view: (row) => view?.(row, context) ?? row,
        organizationId: context.caller.organizationId,
      });
    },
  });
}

type MemberKey = (value: unknown) => number | string;

/** Keys of sorts, by member of the rows; a missing value comes first. */
function sortKeys(item: Shape): ReadonlyMap<string, MemberKey> {
  const members = Object.entries(item["properties"] as Readonly<Record<string, Shape>>);
  const keys = new Map<string, MemberKey>();
  for (const [name, { type, format, enum: values }] of members) {
    const isOf = (wanted: string) => [wanted, `${wanted},null`].includes(String(type));
    if (isOf("integer") || isOf("number")) {
      keys.set(name, (value) => (typeof value === "number" ? value : -Infinity));
    } else if (isOf("boolean") || format !== undefined || values !== undefined) {
      keys.set(name, textOf);
    } else if (isOf("string")) {
      keys.set(name, (value) => nameKey(textOf(value)));
    }
  }
  return keys;
}

function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "boolean" ? String(value) : "";
}

function compare(a: number | string, b: number | string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** @param more - Further members of the answer. */
export function pageAnswer(
  content: readonly unknown[],
  total: number,
  query: PageQuery,
  more: object = {},
): Answer {
  const { page: pageNumber, size } = query;
  const isSorted = query.sort.length > 0;
  const sort = { empty: !isSorted, sorted: isSorted, unsorted: !isSorted };
  const totalPages = Math.ceil(total / size);
  return answer(200, {
    content,
    pageable: {
      pageNumber: pageNumber,
      pageSize: size,
      sort,
      offset: pageNumber * size,
      paged: true,
      unpaged: false,
    },
    sort,
    totalElements: total,
    totalPages,
    size,
    number: pageNumber,
    numberOfElements: content.length,
    first: pageNumber === 0,
    last: pageNumber + 1 >= totalPages,
    empty: content.length === 0,
    ...more,
  });
}

export const SORT = object({ empty: BOOLEAN, sorted: BOOLEAN, unsorted: BOOLEAN });
export const PAGEABLE = object({
  pageNumber: integer(),
  pageSize: integer(),
  sort: SORT,
  offset: integer(),
  paged: BOOLEAN,
  unpaged: BOOLEAN,
});

/**
 * The shape of the documented page wrapper around items of a shape.
 * @param more - Shapes of further members.
 */
export function pageShape(item: Shape, more: Readonly<Record<string, Shape>> = {}): Shape {
  return object({
    content: list(item),
    pageable: PAGEABLE,
    sort: SORT,
    totalElements: integer(),
    totalPages: integer(),
    size: integer(),
    number: integer(),
    numberOfElements: integer(),
    first: BOOLEAN,
    last: BOOLEAN,
    empty: BOOLEAN,
    ...more,
  });
}

// The shapes of answers in columns, which are compact, and fast to read.

const COUNT = integer({ minimum: 0 });
const INTEGERS = list(integer());
/** The drawing of a layout, in columns. */
export const GEOMETRY = object({
  schemaId: LONG,
  version: COUNT,
  step: number(),
  sections: list(object({ id: LONG, name: TEXT, type: oneOf(["SECTION", "TABLE"]) })),
  areas: list(object({ id: LONG, name: TEXT, capacity: orNull(COUNT) })),
  rows: object({ ids: INTEGERS, names: list(TEXT), sections: INTEGERS }),
  labels: list(TEXT),
  seats: object({
    ids: INTEGERS,
    rows: INTEGERS,
    labels: INTEGERS,
    x: INTEGERS,
    y: INTEGERS,
    accessible: INTEGERS,
  }),
  shapes: list(openObject({ groupOfSeatsId: orNull(LONG) })),
});

/** Changes in columns. */
export const EVENT_HISTORY = object({
  sequence: COUNT,
  more: BOOLEAN,
  prices: list(LONG),
  calls: list(TEXT),
  changes: object({
    sequences: INTEGERS,
    times: INTEGERS,
    calls: INTEGERS,
    seatCounts: INTEGERS,
    areaCounts: INTEGERS,
  }),
  seats: object({ ids: INTEGERS, states: TEXT, priceIndexes: INTEGERS }),
  areas: list(AREA_COUNTS),
});
