/** Paged lists: the query parameters, the order, and the documented wrapper. */
import { compareText } from "../../engine/layout/natural-order.ts";
import { type FieldError, Result } from "../../engine/results.ts";
import { list, object, type Shape } from "../../engine/shapes.ts";
import { answer } from "../wire/answers.ts";
import type { Handled, QueryParameter } from "./route.ts";

const SIZE_DEFAULT = 20;
const SIZE_MAX = 100;

export const PAGE_QUERY: Readonly<Record<string, QueryParameter>> = {
  page: {
    shape: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    description: "Page number, from 0.",
    default: 0,
  },
  size: {
    shape: { type: "integer", minimum: 1, maximum: SIZE_MAX },
    description: `Items a page, 1 to ${SIZE_MAX}.`,
    default: SIZE_DEFAULT,
  },
  sort: {
    shape: { type: "array", items: { type: "string" }, maxItems: 10 },
    description: "`property,asc` or `property,desc`; ascending without direction; may be repeated.",
    default: [],
  },
};

export interface Sort<Property extends string> {
  readonly property: Property;
  readonly descending: boolean;
}

/** @returns The criteria, or the fault of the first that names no sortable property. */
export function parseSort<Property extends string>(
  texts: unknown,
  properties: readonly Property[],
): readonly Sort<Property>[] | FieldError {
  const sorts: Sort<Property>[] = [];
  for (const text of texts as readonly string[]) {
    const [name, direction = "asc", ...rest] = text.split(",");
    const property = properties.find((known) => known === name);
    const isDirection = /^(asc|desc)$/i.test(direction) && rest.length === 0;
    if (property === undefined || !isDirection) {
      const message = `must be one of ${properties.join(", ")}, then asc or desc`;
      return { field: "sort", code: "UNKNOWN", message, rejectedValue: text };
    }
    sorts.push({ property, descending: direction.toLowerCase() === "desc" });
  }
  return sorts;
}

export function refuseSort(fault: FieldError): Handled {
  return { refused: Result.VALIDATION_FAILED, detail: "The sort is not valid.", errors: [fault] };
}

type Query = Readonly<Record<string, unknown>>;

export function offsetOf(query: Query): number {
  return Number(query["page"]) * Number(query["size"]);
}

/** Rows in wire form, sorted by any of their members that are plain values; ties break by id. */
export function pageOfRows<Row extends { readonly id: number | string }>(
  rows: readonly Row[],
  query: Query,
  properties: readonly (keyof Row & string)[],
): Handled {
  const sorts = parseSort(query["sort"], properties);
  if (!Array.isArray(sorts)) return refuseSort(sorts as FieldError);
  const sorted = [...rows].sort((a, b) => {
    for (const { property, descending } of sorts as readonly Sort<keyof Row & string>[]) {
      const order = compareValues(a[property], b[property]);
      if (order !== 0) return descending ? -order : order;
    }
    return compareValues(a.id, b.id);
  });
  const offset = offsetOf(query);
  return pageAnswer(sorted.slice(offset, offset + Number(query["size"])), rows.length, query);
}

/** Numbers by size, everything else as text; what is missing comes first. */
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
  query: Query,
  more: object = {},
): Handled {
  const [number, size] = [Number(query["page"]), Number(query["size"])];
  const isSorted = (query["sort"] as readonly string[]).length > 0;
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

const BOOLEAN: Shape = { type: "boolean" };
const INTEGER: Shape = { type: "integer" };
const SORT = object({ empty: BOOLEAN, sorted: BOOLEAN, unsorted: BOOLEAN }, [
  "empty",
  "sorted",
  "unsorted",
]);

/**
 * The shape of the documented page wrapper around items of a shape.
 * @param more - Shapes of further members.
 */
export function pageShape(item: Shape, more: Readonly<Record<string, Shape>> = {}): Shape {
  const pageable = {
    pageNumber: INTEGER,
    pageSize: INTEGER,
    sort: SORT,
    offset: INTEGER,
    paged: BOOLEAN,
    unpaged: BOOLEAN,
  };
  const properties = {
    content: list(item),
    pageable: object(pageable, Object.keys(pageable)),
    sort: SORT,
    totalElements: INTEGER,
    totalPages: INTEGER,
    size: INTEGER,
    number: INTEGER,
    numberOfElements: INTEGER,
    first: BOOLEAN,
    last: BOOLEAN,
    empty: BOOLEAN,
    ...more,
  };
  return object(properties, Object.keys(properties));
}
