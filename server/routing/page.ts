/** Paged lists: the query parameters, the order, and the documented wrapper. */
import { nameKey } from "../../engine/queries/name-order.ts";
import { isRefused, refuseInvalid } from "../../engine/results.ts";
import { BOOLEAN, integer, list, object, type Shape, TEXT } from "../../engine/shapes/shape.ts";
import { answer, type Problem } from "../wire/answers.ts";
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

/**
 * Rows in wire form, sorted by any of their members that are plain values; ties break by id.
 *
 * @param rows - Where ids are UUIDs: in the order of their creation, which is that without a sort.
 */
export function pageOfRows(rows: readonly Identified[], query: PageQuery, item: Shape): Handled {
  const keys = sortKeys(item);
  const range = rangeOf(query, [...keys.keys()]);
  if (isRefused(range)) return range;
  const { sort, offset, limit } = range;
  const criteria = sort.map(({ property, descending }) => {
    const keyOf = keys.get(property)!;
    const keyed = new Map(rows.map((row) => [row, keyOf(row[property as keyof Identified])]));
    return { keyed, sign: descending ? -1 : 1 };
  });
  const sorted = [...rows].sort((a, b) => {
    for (const { keyed, sign } of criteria) {
      const order = compare(keyed.get(a)!, keyed.get(b)!);
      if (order !== 0) return sign * order;
    }
    return sort.length === 0 && typeof a.id === "string" ? 0 : compare(a.id, b.id);
  });
  return pageAnswer(sorted.slice(offset, offset + limit), rows.length, query);
}

interface ListRow<P extends Shapes, Q extends QueryParameters, Row> {
  readonly params?: P;
  /** Parameters besides those of the page. */
  readonly filters?: Q;
  /** Its members that are plain values sort the list. */
  readonly item: Shape;
  readonly rows: (context: Context<ParamsOf<P>, QueryOf<Q>>) => readonly Row[] | Problem;
}

/** Makes the row of a paged list. */
export function listRoute<P extends Shapes, Q extends QueryParameters, Row extends Identified>(
  base: RouteBase,
  endpoint: Endpoint,
  { params, filters, item, rows }: ListRow<P, Q, Row>,
): Route {
  return route(base, endpoint, {
    ...(params === undefined ? {} : { params }),
    query: { ...PAGE_QUERY, ...filters },
    answers: { 200: pageShape(item) },
    problems: [400, 403],
    handle: (context) => {
      const found = rows(context as unknown as Context<ParamsOf<P>, QueryOf<Q>>);
      return isRefused(found) ? found : pageOfRows(found, context.query, item);
    },
  });
}

type SortKey = (value: unknown) => number | string;

/** What sorts compare, by member of the rows; a missing value comes first. */
function sortKeys(item: Shape): ReadonlyMap<string, SortKey> {
  const members = Object.entries(item["properties"] as Readonly<Record<string, Shape>>);
  const keys = new Map<string, SortKey>();
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
): Handled {
  const { page: number, size } = query;
  const isSorted = query.sort.length > 0;
  const sort = { empty: !isSorted, sorted: isSorted, unsorted: !isSorted };
  const totalPages = Math.ceil(total / size);
  return answer(200, {
    content,
    pageable: {
      pageNumber: number,
      pageSize: size,
      sort,
      offset: number * size,
      paged: true,
      unpaged: false,
    },
    sort,
    totalElements: total,
    totalPages,
    size,
    number,
    numberOfElements: content.length,
    first: number === 0,
    last: number + 1 >= totalPages,
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
