/** Which sections, rows, tables, areas and seats of a schema are in which pricing zone. */
import type { ZoneAssignmentRow, CatalogPut } from "../../catalog.ts";
import type { AssignmentItem, CommandOf } from "../../commands.ts";
import { collectSeats, GroupType, type Layout } from "../../layout/layout.ts";
import { isRefusal } from "../../queries/access.ts";
import { zonedSchema } from "../../queries/lookups.ts";
import { type Decision, type FieldError, grant, refuseInvalid, notFound } from "../../results.ts";
import type { State } from "../../state.ts";
import { catalogRecord } from "../catalog-record.ts";
import { removesOfAssignments } from "../removals.ts";
import { findMissing } from "./prices.ts";

/** The zone that each object is to have, by its id; null for none of its own. */
type Zones = Map<number, number | null>;

/**
 * A group that is assigned takes what is in it along: rows and seats in it have no zone of their
 * own any more. Groups go first, in their order, then seats.
 *
 * @returns VALIDATION_FAILED or ACCESS_DENIED; else true. Cost: O(seats of the assigned groups).
 */
export function assignZones(
  state: State,
  { caller, schemaId, body }: CommandOf<"assignZones">,
): Decision<boolean> {
  const [groups, seats] = [body.groupOfSeats ?? [], body.seats ?? []];
  const incomplete = [...findMissing(groups, "groupOfSeats"), ...findMissing(seats, "seats")];
  if (incomplete.length > 0) return refuseInvalid(incomplete);
  const schema = zonedSchema(state, { caller, schemaId });
  if (isRefusal(schema)) return schema;

  const layout = state.layoutOf(schemaId);
  const wanted: Zones = new Map();
  const faults: FieldError[] = [];
  for (const [i, item] of groups.entries()) {
    const { objectId, zoneId } = namesOf(item);
    checkZone(state, { schemaId, zoneId, field: `groupOfSeats[${i}]` }, faults);
    if (layout.groups.has(objectId)) {
      for (const id of objectsIn(layout, objectId)) wanted.set(id, null);
      wanted.set(objectId, zoneId);
    } else {
      faults.push(notFound(`groupOfSeats[${i}].objectId`, objectId, "group in the layout"));
    }
  }
  for (const [i, item] of seats.entries()) {
    const { objectId, zoneId } = namesOf(item);
    checkZone(state, { schemaId, zoneId, field: `seats[${i}]` }, faults);
    if (layout.seatIndexes.has(objectId)) wanted.set(objectId, zoneId);
    else faults.push(notFound(`seats[${i}].objectId`, objectId, "seat in the layout"));
  }
  if (faults.length > 0) return refuseInvalid(faults);
  const change = changeOf(state, schemaId, wanted);
  if (change.puts.length + change.removes.length === 0) return grant(null, true);
  return grant(catalogRecord(caller, { nextId: state.catalog.nextId, ...change }), true);
}

/** To be called when neither is missing. */
function namesOf({ objectId, seatId, assignmentId }: AssignmentItem) {
  return { objectId: objectId ?? seatId ?? 0, zoneId: assignmentId ?? 0 };
}

function checkZone(
  { catalog }: State,
  { schemaId, zoneId, field }: { schemaId: number; zoneId: number; field: string },
  faults: FieldError[],
): void {
  if (catalog.zones.get(zoneId)?.schemaId === schemaId) return;
  faults.push(notFound(`${field}.assignmentId`, zoneId, "zone on the schema"));
}

/** Ids of the rows and seats in a group. */
function objectsIn(layout: Layout, groupId: number): number[] {
  const group = layout.groups.get(groupId)!;
  const seats = collectSeats(layout, group).map((seat) => layout.seatIds[seat]!);
  if (group.type === GroupType.GA || group.type === GroupType.ROW) return seats;
  const rows = layout.sections[group.index]!.rows.map((row) => layout.rows[row]!.id);
  return [...rows, ...seats];
}

/** Only what is to be other than it is. */
function changeOf({ catalog }: State, schemaId: number, wanted: Zones) {
  const puts: CatalogPut[] = [];
  const left: ZoneAssignmentRow[] = [];
  for (const [id, zoneId] of wanted) {
    const assigned = catalog.zoneAssignments.get(id);
    if (zoneId === null) {
      if (assigned !== undefined) left.push(assigned);
    } else if (assigned?.zoneId !== zoneId) {
      puts.push({ table: "zoneAssignments", row: { id, schemaId, zoneId } });
    }
  }
  return { puts, removes: removesOfAssignments(left) };
}
