/**
 * The transitions of an event that moves to another layout: seats and areas are added and removed,
 * and the remaining holds get the slots that `migrateToLayout` assigns.
 */
import { SeatState } from "../../engine/inventory/states.ts";
import type { AreaHold, AuditAreas } from "./areas.ts";
import { isAreaKey, NO_HOLD, seatMove } from "./blocks/rows.ts";
import type { PlaceIds } from "./catalog.ts";
import type { AuditPlaces, LiveEvent } from "./places.ts";

interface Parts {
  readonly places: AuditPlaces;
  readonly areas: AuditAreas;
}

interface Layouts {
  readonly before: PlaceIds;
  readonly after: PlaceIds;
}

/** Cost: O(seats of both layouts). */
export function changeLayout(parts: Parts, event: LiveEvent, { before, after }: Layouts): void {
  const { places, areas } = parts;
  for (const id of idsMissingIn(after.seats, before.seats)) {
    const slot = event.seat(id);
    const state = event.table.state(slot);
    const held = state === SeatState.LOCKED ? event.table.held(slot) : NO_HOLD;
    places.write(event, slot, seatMove(state, null, 0, held));
  }
  for (const id of idsMissingIn(before.seats, after.seats)) {
    places.write(event, event.seat(id), seatMove(null, SeatState.UNPRICED, 0, NO_HOLD));
  }
  for (const id of before.areas) if (!after.areas.includes(id)) areas.remove({ event, id });
  for (const id of after.areas) if (!before.areas.includes(id)) areas.add({ event, id });
  renumber(areas, event);
}

/**
 * @returns Those of the ids that the other list lacks. Both lists are in ascending order, so no set
 * is needed, which would take a hundred times as long for every event of a large layout.
 */
function idsMissingIn(others: Float64Array, ids: Float64Array): readonly number[] {
  const missing: number[] = [];
  let at = 0;
  for (const id of ids) {
    while (at < others.length && others[at]! < id) at++;
    if (others[at] !== id) missing.push(id);
  }
  return missing;
}

/** Gives the remaining holds the slots from 0 on, in the order in which they began. */
function renumber(areas: AuditAreas, { partition, table }: LiveEvent): void {
  const held = areas.holds(partition);
  if (held.length === 0) return;
  const holds = new Set(held.map(({ hold }) => hold));
  for (const [key, slot] of table.list()) {
    if (!isAreaKey(key) && table.state(slot) === SeatState.LOCKED) holds.add(table.held(slot).hold);
  }
  const slots = new Map([...holds].sort((a, b) => a - b).map((hold, slot) => [hold, slot]));
  areas.replaceHolds(
    partition,
    held.map((hold): AreaHold => ({ ...hold, slot: slots.get(hold.hold)! })),
  );
}
