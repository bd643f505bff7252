/**
 * Prepares a layout that was sent: merges it into the stored one and checks it. This is the long
 * part of putting a layout. It depends on nothing but its arguments.
 */
import { assert } from "../../assert.ts";
import { type LayoutDocument, objectIds } from "../layout-document.ts";
import type { FieldError } from "../../results.ts";
import type { LayoutBody } from "../../shapes/bodies.ts";
import { checkDocument } from "./check-document.ts";
import { mergeLayout } from "./merge-layout.ts";

/** What a new layout lacks of the stored one. */
export interface GoneObjects {
  /** Ids of sectors, rows and seats, rising. */
  readonly goneIds: readonly number[];
  /** Ids of areas that it lacks, or has as sections. */
  readonly goneAreaIds: readonly number[];
}

export interface PreparedLayout extends GoneObjects {
  readonly document: LayoutDocument;
  /** Whether it differs from the stored one. */
  readonly isChanged: boolean;
  /** How many ids the new objects take. */
  readonly newIds: number;
  /** Why it is refused; empty when it is not. */
  readonly errors: readonly FieldError[];
}

/**
 * @param next - The first id for new objects, and the time: milliseconds since 1970.
 * Cost: O(objects and bytes of both layouts).
 */
export function prepareLayout(
  stored: LayoutDocument,
  body: LayoutBody,
  next: { readonly nextId: number; readonly timeMs: number },
): PreparedLayout {
  const { document, isChanged, newIds, errors: conflicts } = mergeLayout(stored, body, next);
  const errors = conflicts.length > 0 ? conflicts : checkDocument(document, body);
  if (errors.length > 0 || !isChanged) {
    return { document, isChanged, newIds, goneIds: [], goneAreaIds: [], errors };
  }
  const kept = new Set(objectIds(document));
  const count = document.sectors.length + document.rows.length + document.seats.length;
  assert(kept.size === count, "every object of a layout has an id of its own");
  const goneIds = objectIds(stored).filter((id) => !kept.has(id));
  goneIds.sort((a, b) => a - b);
  const areas = new Set(areaIds(document));
  const goneAreaIds = areaIds(stored).filter((id) => !areas.has(id));
  return { document, isChanged, newIds, goneIds, goneAreaIds, errors };
}

function areaIds({ sectors }: LayoutDocument): number[] {
  return sectors.filter(({ ga }) => ga).map(({ id }) => id);
}
