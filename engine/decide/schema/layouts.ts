/** The layout of a schema: put atomically, and refused while inventory would be lost. */
import { assert } from "../../assert.ts";
import { SeatState } from "../../inventory/states.ts";
import type { LayoutDocument } from "../../layout/layout-document.ts";
import { EMPTY_DOCUMENT } from "../../layout/layout.ts";
import { ownRow } from "../../queries/access.ts";
import {
  type Decision,
  type FieldError,
  isRefused,
  refuse,
  refuseInvalid,
  Result,
} from "../../results.ts";
import type { LayoutBody } from "../../shapes/bodies.ts";
import type { CommandWith } from "../../shapes/caller.ts";
import type { State } from "../../state.ts";
import { grantChange } from "../catalog-record.ts";
import { assignmentsOf, objectIds, removesOfAssignments } from "../removals.ts";
import { checkDocument } from "./check-document.ts";
import { checkDrawing } from "./drawing-members.ts";
import { mergeLayout } from "./merge-layout.ts";

/**
 * Merges the sent layout into the stored one. Answers the whole document.
 *
 * @returns INVENTORY_IN_USE when a removed seat or area is held, sold or blocked in an event and
 * `forceDelete` is false.
 * Cost: O(seats of the layout × events of the schema).
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
  const row = layouts.get(schemaId);
  const stored = row?.document ?? EMPTY_DOCUMENT;
  const { document, newIds, errors } = mergeLayout(stored, body, { nextId, timeMs });
  if (errors.length > 0) return refuseInvalid(errors);
  const invalid = checkDocument(document, body);
  if (invalid.length > 0) return refuseInvalid(invalid);
  const lost = forceDelete ? [] : removedInUse(state, schemaId, document);
  if (lost.length > 0) {
    return refuse(Result.INVENTORY_IN_USE, "Seats that would go are held, sold or blocked.", lost);
  }
  const version = (row?.version ?? 0) + 1;
  const puts = [
    { table: "schemas", row: { ...schema, updatedAtMs: timeMs } },
    { table: "layouts", row: { id: schemaId, document, marksRelabelled: true, version } },
  ] as const;
  const kept = new Set(objectIds(document));
  const removes = removesOfAssignments(
    assignmentsOf(state, schemaId).filter(({ id }) => !kept.has(id)),
  );
  const count = document.sectors.length + document.rows.length + document.seats.length;
  assert(kept.size === count, "every object of a layout has an id of its own");
  return grantChange(state, caller, { newIds, puts, removes }, document);
}

/** Seats and areas that the new document lacks and that an event cannot do without. */
function removedInUse(state: State, schemaId: number, document: LayoutDocument): FieldError[] {
  const kept = new Set<number>();
  for (const { id } of document.seats) kept.add(id);
  for (const { id, ga } of document.sectors) if (ga) kept.add(id);
  const errors: FieldError[] = [];
  for (const event of state.catalog.events.values()) {
    if (event.schemaId !== schemaId) continue;
    const { layout, state: states, areas } = state.partitionOf(event);
    assert(states.length === layout.seatCount, "an event has a state for each seat of its layout");
    for (const [seat, id] of layout.seatIds.entries()) {
      if (kept.has(id) || states[seat]! <= SeatState.ACTIVE) continue;
      errors.push(inUse("seats", id, event.id));
    }
    for (const [area, { id }] of layout.areas.entries()) {
      const taken = areas.capacity(area) - areas.places(area, SeatState.ACTIVE);
      assert(taken >= 0, "the places of an area add up to its capacity");
      if (!kept.has(id) && taken > 0) errors.push(inUse("sectors", id, event.id));
    }
  }
  return errors;
}

function inUse(field: string, id: number, eventId: string): FieldError {
  const message = `is held, sold or blocked in event ${eventId}`;
  return { field, code: "INVENTORY_IN_USE", message, rejectedValue: id };
}
