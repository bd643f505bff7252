/** The layout of a schema: put whole and atomically, refused while inventory would be lost. */
import type { CommandOf } from "../../commands.ts";
import { SeatState } from "../../inventory/states.ts";
import type { LayoutDocument } from "../../layout/layout-document.ts";
import { EMPTY_DOCUMENT } from "../../layout/layout.ts";
import { isRefusal, ownRow } from "../../queries/access.ts";
import {
  type Decision,
  type FieldError,
  grant,
  refuse,
  refuseInvalid,
  Result,
} from "../../results.ts";
import type { State } from "../../state.ts";
import { catalogRecord } from "../catalog-record.ts";
import { assignmentsOf, objectIds, removesOfAssignments } from "../removals.ts";
import { checkDocument } from "./check-document.ts";
import { mergeLayout } from "./merge-layout.ts";

/**
 * @returns ENTITY_NOT_FOUND, ACCESS_DENIED, VALIDATION_FAILED, or INVENTORY_IN_USE when a removed
 * seat or area is held, sold or blocked in an event and `forceDelete` is false; else the document.
 * Cost: O(seats of the layout × events of the schema).
 */
export function putLayout(
  state: State,
  { caller, schemaId, body, forceDelete }: CommandOf<"putLayout">,
  timeMs: number,
): Decision<LayoutDocument> {
  const schema = ownRow(state.catalog.schemas.get(schemaId), caller, "schema");
  if (isRefusal(schema)) return schema;
  const stored = state.catalog.layouts.get(schemaId)?.document ?? EMPTY_DOCUMENT;
  const merged = mergeLayout(stored, body, state.catalog.nextId);
  const faults = merged.faults.length > 0 ? merged.faults : checkDocument(merged.document, body);
  if (faults.length > 0) return refuseInvalid(faults);
  const lost = forceDelete ? [] : removedInUse(state, schemaId, merged.document);
  if (lost.length > 0) {
    return refuse(Result.INVENTORY_IN_USE, "Seats that would go are held, sold or blocked.", lost);
  }
  const row = { id: schemaId, document: merged.document };
  const puts = [
    { table: "schemas", row: { ...schema, updatedAtMs: timeMs } },
    { table: "layouts", row },
  ] as const;
  const kept = new Set(objectIds(merged.document));
  const left = assignmentsOf(state, schemaId).filter(({ id }) => !kept.has(id));
  const removes = removesOfAssignments(left);
  const record = catalogRecord(caller, { nextId: merged.nextId, puts, removes });
  return grant(record, merged.document);
}

/** What the new document lacks and an event cannot do without. */
function removedInUse(state: State, schemaId: number, document: LayoutDocument): FieldError[] {
  const kept = new Set<number>();
  for (const { id } of document.seats) kept.add(id);
  for (const { id, ga } of document.sectors) if (ga) kept.add(id);
  const faults: FieldError[] = [];
  for (const event of state.catalog.events.values()) {
    if (event.schemaId !== schemaId) continue;
    const { layout, state: states, areas } = state.partitionOf(event);
    for (const [seat, id] of layout.seatIds.entries()) {
      if (kept.has(id) || states[seat]! <= SeatState.ACTIVE) continue;
      faults.push(inUse("seats", id, event.id));
    }
    for (const [area, { id }] of layout.areas.entries()) {
      const taken = areas.capacity(area) - areas.places(area, SeatState.ACTIVE);
      if (!kept.has(id) && taken > 0) faults.push(inUse("sectors", id, event.id));
    }
  }
  return faults;
}

function inUse(field: string, id: number, eventId: string): FieldError {
  const message = `is held, sold or blocked in event ${eventId}`;
  return { field, code: "INVENTORY_IN_USE", message, rejectedValue: id };
}
