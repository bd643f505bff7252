/** Which sections, rows, tables, areas and seats of a schema are in which pricing zone. */
import { assert } from "../../assert.ts";
import { GroupType, lastOfGroup, type Layout } from "../../layout/layout.ts";
import { zonedSchema } from "../../queries/lookups.ts";
import {
  type Decision,
  type FieldError,
  grant,
  isRefused,
  notFound,
  refuseInvalid,
} from "../../results.ts";
import type { AssignmentItem, AssignmentSelection } from "../../shapes/bodies.ts";
import type { CommandWith } from "../../shapes/caller.ts";
import type { State } from "../../state.ts";
import { grantChange } from "../catalog-record.ts";
import { type ZoneChange, ZoneRuns } from "../../layout/zone-table.ts";
import { findMissing } from "./prices.ts";

/** The zone that each object gets, by the object's id; null removes its zone. */
type Zones = Map<number, number | null>;

/**
 * The rows and seats in an assigned group lose their own zones. Groups go first, in their order,
 * then seats. Cost: O(items), and with groups O(assignments of the schema).
 */
export function assignZones(
  state: State,
  { caller, schemaId, body }: CommandWith<{ schemaId: number; body: AssignmentSelection }>,
): Decision<boolean> {
  const [groups, seats] = [body.groupOfSeats ?? [], body.seats ?? []];
  const incomplete = [...findMissing(groups, "groupOfSeats"), ...findMissing(seats, "seats")];
  if (incomplete.length > 0) return refuseInvalid(incomplete);
  const schema = zonedSchema(state, { caller, schemaId });
  if (isRefused(schema)) return schema;

  const layout = state.layoutOf(schemaId);
  const wanted: Zones = new Map();
  const found: { readonly id: number; readonly zoneId: number }[] = [];
  const errors: FieldError[] = [];
  for (const [i, item] of groups.entries()) {
    const { objectId, zoneId } = namesOf(item);
    checkZone(state, { schemaId, zoneId, field: `groupOfSeats[${i}]` }, errors);
    if (layout.groups.has(objectId)) found.push({ id: objectId, zoneId });
    else errors.push(notFound(`groupOfSeats[${i}].objectId`, objectId, "group in the layout"));
  }
  const last = lastOfGroup(found);
  const zoned = state.catalog.zoneAssignments.of(schemaId);
  const assigned = last.length === 0 ? [] : [...zoned.keys()];
  const inside = membersOf(layout, [...assigned, ...last.map(({ id }) => id)]);
  for (const { id: groupId, zoneId } of last) {
    for (const id of inside.get(groupId) ?? []) {
      if (zoned.has(id) || wanted.has(id)) wanted.set(id, null);
    }
    wanted.set(groupId, zoneId);
  }
  for (const [i, item] of seats.entries()) {
    const { objectId, zoneId } = namesOf(item);
    checkZone(state, { schemaId, zoneId, field: `seats[${i}]` }, errors);
    if (layout.seatIndexes.has(objectId)) wanted.set(objectId, zoneId);
    else errors.push(notFound(`seats[${i}].objectId`, objectId, "seat in the layout"));
  }
  if (errors.length > 0) return refuseInvalid(errors);
  const zones = changesOf(state, schemaId, wanted);
  return zones.length === 0 ? grant(null, true) : grantChange(state, caller, { zones }, true);
}

/** To be called only when neither id is missing. */
function namesOf({ objectId, seatId, assignmentId }: AssignmentItem) {
  const id = objectId ?? seatId ?? null;
  const zoneId = assignmentId ?? null;
  assert(id !== null, "an item without an object was refused");
  assert(zoneId !== null, "an item without a zone was refused");
  return { objectId: id, zoneId };
}

function checkZone(
  { catalog }: State,
  { schemaId, zoneId, field }: { schemaId: number; zoneId: number; field: string },
  errors: FieldError[],
): void {
  if (catalog.zones.get(zoneId)?.schemaId === schemaId) return;
  errors.push(notFound(`${field}.assignmentId`, zoneId, "zone on the schema"));
}

/**
 * @param ids - Of rows and seats; others are in no group.
 * @returns By the id of a group: those of the objects that are in it.
 */
function membersOf(layout: Layout, ids: readonly number[]): ReadonlyMap<number, readonly number[]> {
  const members = new Map<number, number[]>();
  const add = (groupId: number, id: number) => {
    const known = members.get(groupId);
    if (known === undefined) members.set(groupId, [id]);
    else known.push(id);
  };
  for (const id of ids) {
    const seat = layout.seatIndexes.get(id);
    const group = layout.groups.get(id);
    const index = seat === undefined ? group?.index : layout.rowOfSeat[seat];
    if (index === undefined || (seat === undefined && group?.type !== GroupType.ROW)) continue;
    const row = layout.rows[index]!;
    if (seat !== undefined) add(row.id, id);
    add(layout.sections[row.section]!.id, id);
  }
  return members;
}

/** Only what differs from the stored zones; no change when nothing does. */
function changesOf({ catalog }: State, schemaId: number, wanted: Zones): ZoneChange[] {
  const zoned = catalog.zoneAssignments.of(schemaId);
  const runs = new ZoneRuns();
  for (const [id, zoneId] of wanted) {
    if ((zoned.get(id) ?? null) !== zoneId) runs.add(id, zoneId ?? 0);
  }
  return runs.isEmpty ? [] : [{ schemaId, runs: runs.runs }];
}
