/** The faults that more than one command reports, with their texts. */
import type { Fault } from "../results.ts";

export function notFound(field: string, id: unknown, what: string): Fault {
  return {
    field,
    code: "NOT_FOUND",
    message: `there is no such ${what}`,
    rejectedValue: id ?? null,
  };
}

export function missing(field: string): Fault {
  return { field, code: "NOT_NULL", message: "must be given, and not null", rejectedValue: null };
}

/** For an array of items with ids: each item whose id an earlier one has. */
export function repeatedIds(items: readonly { readonly id: number }[]): Fault[] {
  const seen = new Set<number>();
  return items.flatMap(({ id }, i) => {
    if (seen.has(id)) return [duplicate(`[${i}].id`, id, "is there twice")];
    seen.add(id);
    return [];
  });
}

/** For a member that repeats what the path says. */
export function mismatch(field: string, value: unknown, what: string): Fault {
  const message = `must be the ${what} of the path`;
  return { field, code: "MISMATCH", message, rejectedValue: value };
}

export function duplicate(field: string, value: unknown, message: string): Fault {
  return { field, code: "DUPLICATE", message, rejectedValue: value };
}
