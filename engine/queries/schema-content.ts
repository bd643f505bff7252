/** What belongs to a schema: its layout, its zones, and the zones of its objects. */
import type { Original } from "../layout/change/copy-schema.ts";
import type { State } from "../state.ts";
import { runsOfZones } from "../layout/zone-table.ts";

/** What `copyOriginal` copies of a schema. Cost: O(objects of the layout). */
export function originalOf(state: State, schemaId: number): Original {
  const { layouts, zones, zoneAssignments } = state.catalog;
  return {
    schemaId,
    document: layouts.get(schemaId)?.document ?? null,
    zones: [...zones.values()].filter((zone) => zone.schemaId === schemaId),
    assignments: runsOfZones(zoneAssignments.of(schemaId)),
  };
}
