/** The layout of a schema: put atomically, and refused while inventory would be lost. */
import { assert } from "../../assert.ts";
import type { MadeLayout, SchemaRow } from "../../catalog.ts";
import { INVENTORY_ERRORS_MAX, NONE } from "../../constants.ts";
import type { Partition } from "../../inventory/partition.ts";
import { SeatState } from "../../inventory/states.ts";
import type { LayoutDocument } from "../../layout/layout-document.ts";
import { EMPTY_DOCUMENT, type Layout, seatIndexOf } from "../../layout/layout.ts";
import { plainDocument } from "../../layout/packed-layout.ts";
import { ownRow } from "../../queries/access.ts";
import {
  type Decision,
  type FieldError,
  grant,
  isRefused,
  refuse,
  refuseInvalid,
  Result,
} from "../../results.ts";
import type { LayoutBody } from "../../shapes/bodies.ts";
import type { CommandWith } from "../../shapes/caller.ts";
import type { State } from "../../state.ts";
import { grantChange } from "../catalog-record.ts";
import { withoutZones } from "../removals.ts";
import { checkDrawing } from "../../layout/change/drawing-members.ts";
import { type GoneObjects, prepareLayout } from "../../layout/change/prepare-layout.ts";

const { LOCKED, SOLD, BLOCKED, ACTIVE } = SeatState;

/**
 * Merges the sent layout into the stored one. Answers the whole document. A layout that changes
 * nothing writes nothing.
 *
 * @returns INVENTORY_IN_USE when a removed seat or area is held, sold or blocked in an event and
 * `forceDelete` is false.
 * Cost: O(seats of the layout + removed seats × events of the schema).
 */
export function putLayout(
  state: State,
  command: CommandWith<{ schemaId: number; body: LayoutBody; forceDelete: boolean }>,
  timeMs: number,
): Decision<LayoutDocument> {
  const { caller, schemaId, body, forceDelete } = command;
  const { schemas, layouts, nextId } = state.catalog;
  const schema = ownRow(schemas.get(schemaId), caller, "schema");
  if (isRefused(schema)) return schema;
  const tooLong = checkDrawing(body);
  if (tooLong.length > 0) return refuseInvalid(tooLong);
  const stored = layouts.get(schemaId)?.document;
  const before = plainDocument(stored ?? EMPTY_DOCUMENT);
  const prepared = prepareLayout(before, body, { nextId, timeMs });
  const { document, newIds, errors, isChanged } = prepared;
  if (errors.length > 0) return refuseInvalid(errors);
  if (stored !== undefined && !isChanged) return grant(null, stored);
  return grantLayout(
    state,
    { caller, forceDelete, timeMs },
    { schema, document, newIds, gone: prepared },
  );
}

interface LayoutGrant {
  readonly schema: SchemaRow;
  readonly document: LayoutDocument;
  readonly made?: MadeLayout;
  readonly newIds: number;
  readonly gone: GoneObjects;
}

/** The grant of a layout that was merged and checked, unless inventory would be lost. */
export function grantLayout(
  state: State,
  { caller, forceDelete, timeMs }: CommandWith<{ forceDelete: boolean; timeMs: number }>,
  { schema, document, made, newIds, gone }: LayoutGrant,
): Decision<LayoutDocument> {
  const { layouts, zoneAssignments } = state.catalog;
  const lost = forceDelete ? [] : goneInUse(state, schema.id, gone);
  if (lost.length > 0) {
    return refuse(Result.INVENTORY_IN_USE, "Seats that would go are held, sold or blocked.", lost);
  }
  const version = (layouts.get(schema.id)?.version ?? 0) + 1;
  const row = { id: schema.id, document, version };
  const puts = [
    { table: "schemas", row: { ...schema, updatedAtMs: timeMs } },
    { table: "layouts", row, ...(made === undefined ? {} : { made }) },
  ] as const;
  const zoned = zoneAssignments.of(schema.id);
  const zones = withoutZones(
    schema.id,
    gone.goneIds.filter((id) => zoned.has(id)),
  );
  return grantChange(state, caller, { newIds, puts, zones }, document);
}

/** Seats and areas that would go and that an event cannot do without; the first thousand. */
function goneInUse(
  state: State,
  schemaId: number,
  { goneIds, goneAreaIds }: GoneObjects,
): FieldError[] {
  const errors: FieldError[] = [];
  if (goneIds.length + goneAreaIds.length === 0) return errors;
  let layout: Layout | null = null;
  let goneSeats: Uint32Array = new Uint32Array();
  for (const event of state.catalog.events.values()) {
    if (event.schemaId !== schemaId) continue;
    // In most events nothing is in use, on whatever layout: these need not be migrated for it.
    if (!hasInUse(state.partitions.peek(event.partition)!)) continue;
    const partition = state.partitionOf(event);
    // They are searched for once: all events of a schema have its layout.
    if (layout !== partition.layout) goneSeats = seatsOf((layout = partition.layout), goneIds);
    for (const id of seatsInUse(partition, goneSeats)) errors.push(inUse("seats", id, event.id));
    for (const id of areasInUse(partition, goneAreaIds))
      errors.push(inUse("sectors", id, event.id));
    if (errors.length >= INVENTORY_ERRORS_MAX) break;
  }
  return errors.slice(0, INVENTORY_ERRORS_MAX);
}

function hasInUse({ seatsIn, areas }: Partition): boolean {
  if (seatsIn[LOCKED]! + seatsIn[SOLD]! + seatsIn[BLOCKED]! > 0) return true;
  for (let area = 0; area < areas.count; area++) {
    if (areas.capacity(area) > areas.places(area, ACTIVE)) return true;
  }
  return false;
}

/** @returns The indexes of those ids that are seats. */
function seatsOf(layout: Layout, ids: readonly number[]): Uint32Array {
  return Uint32Array.from(ids, (id) => seatIndexOf(layout, id)).filter((seat) => seat !== NONE);
}

/** @returns Ids. */
function seatsInUse({ layout, state }: Partition, seats: Uint32Array): readonly number[] {
  assert(state.length === layout.seatCount, "an event has a state for each seat of its layout");
  const ids: number[] = [];
  for (const seat of seats) if (state[seat]! > ACTIVE) ids.push(layout.seatIds[seat]!);
  return ids;
}

function areasInUse({ layout, areas }: Partition, ids: readonly number[]): readonly number[] {
  return ids.filter((id) => {
    const area = layout.areaIndexes.get(id)!;
    const taken = areas.capacity(area) - areas.places(area, ACTIVE);
    assert(taken >= 0, "the places of an area add up to its capacity");
    return taken > 0;
  });
}

function inUse(field: string, id: number, eventId: string): FieldError {
  const message = `is held, sold or blocked in event ${eventId}`;
  return { field, code: "INVENTORY_IN_USE", message, rejectedValue: id };
}
