/** Paged lists: the query parameters, the order, and the documented wrapper. */
import { compareText } from "../../engine/layout/natural-order.ts";
import { isRefused, Result } from "../../engine/results.ts";
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

/** @returns The criteria, or VALIDATION_FAILED for the first that names no sortable property. */
export function parseSort<Property extends string>(
  texts: readonly string[],
  properties: readonly Property[],
): readonly Sort<Property>[] | Problem {
  const sorts: Sort<Property>[] = [];
  for (const text of texts) {
    const [name, direction = "asc", ...rest] = text.split(",");
    const property = properties.find((known) => known === name);
    const isDirection = /^(asc|desc)$/i.test(direction) && rest.length === 0;
    if (property === undefined || !isDirection) {
      const message = `must be one of ${properties.join(", ")}, then asc or desc`;
      const errors = [{ field: "sort", code: "UNKNOWN", message, rejectedValue: text }];
      return { refused: Result.VALIDATION_FAILED, detail: "The sort is not valid.", errors };
    }
    sorts.push({ property, descending: direction.toLowerCase() === "desc" });
  }
  return sorts;
}

export function offsetOf({ page, size }: Pick<PageQuery, "page" | "size">): number {
  return page * size;
}

/** Rows in wire form, sorted by any of their members that are plain values; ties break by id. */
export function pageOfRows<Row extends { readonly id: number | string }>(
  rows: readonly Row[],
  query: PageQuery,
  properties: readonly (keyof Row & string)[],
): Handled {
  const sorts = parseSort(query.sort, properties);
  if (isRefused(sorts)) return sorts;
  const sorted = [...rows].sort((a, b) => {
    for (const { property, descending } of sorts) {
      const order = compareValues(a[property], b[property]);
      if (order !== 0) return descending ? -order : order;
    }
    return compareValues(a.id, b.id);
  });
  const offset = offsetOf(query);
  return pageAnswer(sorted.slice(offset, offset + query.size), rows.length, query);
}

interface ListRow<P extends Shapes, Q extends QueryParameters, Row> {
  readonly summary: string;
  readonly params?: P;
  /** Parameters beside those of the page. */
  readonly filters?: Q;
  readonly item: Shape;
  /** Members by which the list can be sorted. */
  readonly sorts: readonly (keyof Row & string)[];
  readonly rows: (context: Context<ParamsOf<P>, QueryOf<Q>>) => readonly Row[] | Problem;
}

/** Makes the row of a paged list. */
export function listRoute<
  P extends Shapes,
  Q extends QueryParameters,
  Row extends { readonly id: number | string },
>(
  base: RouteBase,
  endpoint: Endpoint,
  { summary, params, filters, item, sorts, rows }: ListRow<P, Q, Row>,
): Route {
  return route(base, endpoint, {
    summary,
    ...(params === undefined ? {} : { params }),
    query: { ...PAGE_QUERY, ...filters },
    answers: { 200: pageShape(item) },
    problems: [400, 403],
    handle: (context) => {
      const found = rows(context as unknown as Context<ParamsOf<P>, QueryOf<Q>>);
      return isRefused(found) ? found : pageOfRows(found, context.query, sorts);
    },
  });
}

/** Compares numbers by size and everything else as text; missing values come first. */
function compareValues(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return compareText(textOf(a), textOf(b));
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
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
      offset: offsetOf(query),
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
