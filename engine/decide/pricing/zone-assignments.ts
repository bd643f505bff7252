/** Which sections, rows, tables, areas and seats of a schema are in which pricing zone. */
import { assert } from "../../assert.ts";
import type { CatalogPut, ZoneAssignmentRow } from "../../catalog.ts";
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
import { assignmentsOf } from "../../queries/schema-content.ts";
import { removesOfAssignments } from "../removals.ts";
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
  const assigned = last.length === 0 ? [] : assignmentsOf(state, schemaId).map(({ id }) => id);
  const inside = membersOf(layout, [...assigned, ...last.map(({ id }) => id)]);
  const { zoneAssignments } = state.catalog;
  for (const { id: groupId, zoneId } of last) {
    for (const id of inside.get(groupId) ?? []) {
      if (zoneAssignments.has(id) || wanted.has(id)) wanted.set(id, null);
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
  const change = changeOf(state, schemaId, wanted);
  if (change.puts.length + change.removes.length === 0) return grant(null, true);
  return grantChange(state, caller, change, true);
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

/** Only the assignments that differ from the stored ones. */
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
  assert(puts.length + left.length <= wanted.size, "an object changes its zone once");
  return { puts, removes: removesOfAssignments(left) };
}
