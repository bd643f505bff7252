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
  return { field, code: "NOT_NULL", message: "must not be null", rejectedValue: null };
}

export function duplicate(field: string, value: unknown, message: string): Fault {
  return { field, code: "DUPLICATE", message, rejectedValue: value };
}
