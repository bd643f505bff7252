/** What belongs to a schema: its layout, its zones, and the zones of its objects. */
import { assert } from "../assert.ts";
import type { ZoneAssignmentRow } from "../catalog.ts";
import type { Original } from "../layout/change/copy-schema.ts";
import type { State } from "../state.ts";

/** With more rows for each seat of the layout, these are searched for. */
const ROWS_PER_SEAT_MAX = 4;

/** The zone assignments of the schema's objects. Cost: O(objects of the layout), at most. */
export function assignmentsOf(state: State, schemaId: number): ZoneAssignmentRow[] {
  const { zoneAssignments } = state.catalog;
  const { groups, seatIds } = state.layoutOf(schemaId);
  // A visit to all rows takes less time than a search for each object.
  if (zoneAssignments.size < ROWS_PER_SEAT_MAX * seatIds.length) {
    return [...zoneAssignments.values()].filter((row) => row.schemaId === schemaId);
  }
  const rows: ZoneAssignmentRow[] = [];
  const add = (id: number) => {
    const row = zoneAssignments.get(id);
    if (row !== undefined) rows.push(row);
  };
  for (const id of groups.keys()) add(id);
  for (const id of seatIds) add(id);
  const [first] = rows;
  if (first !== undefined) {
    assert(first.schemaId === schemaId, "an object has a zone of its own schema");
  }
  return rows;
}

/** What `copyOriginal` copies of a schema. Cost: O(objects of the layout). */
export function originalOf(state: State, schemaId: number): Original {
  const { layouts, zones } = state.catalog;
  return {
    schemaId,
    document: layouts.get(schemaId)?.document ?? null,
    zones: [...zones.values()].filter((zone) => zone.schemaId === schemaId),
    assignments: assignmentsOf(state, schemaId),
  };
}
