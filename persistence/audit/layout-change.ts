/**
 * The transitions of an event that moves to another layout: seats and areas are added and removed,
 * and the remaining holds get the slots that `migrateToLayout` assigns.
 */
import { SeatState } from "../../engine/inventory/states.ts";
import type { AreaHold, AuditAreas } from "./areas.ts";
import type { PlaceIds } from "./catalog.ts";
import { type At, type AuditPlaces, NO_HOLD, seatMove } from "./places.ts";

interface Parts {
  readonly places: AuditPlaces;
  readonly areas: AuditAreas;
}

interface Layouts {
  readonly before: PlaceIds;
  readonly after: PlaceIds;
}

/** Cost: O(seats of both layouts + rows of the event). */
export function changeLayout(
  parts: Parts,
  at: At,
  partition: number,
  { before, after }: Layouts,
): void {
  const { places, areas } = parts;
  for (const id of idsMissingIn(after.seats, before.seats)) {
    const last = places.seat(partition, id);
    const held = last.state === SeatState.LOCKED ? last : NO_HOLD;
    places.write(partition, id, at, seatMove(last.state, null, 0, held));
  }
  for (const id of idsMissingIn(before.seats, after.seats)) {
    places.write(partition, id, at, seatMove(null, SeatState.UNPRICED, 0, NO_HOLD));
  }
  for (const id of before.areas) {
    if (!after.areas.includes(id)) areas.remove(at, { partition, id });
  }
  for (const id of after.areas) {
    if (!before.areas.includes(id)) areas.add(at, { partition, id });
  }
  renumber(parts, partition);
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
function renumber({ places, areas }: Parts, partition: number): void {
  const held = areas.holds(partition);
  if (held.length === 0) return;
  const holds = new Set(held.map(({ hold }) => hold));
  for (const [, { state, hold, counts }] of places.all(partition)) {
    if (counts === null && state === SeatState.LOCKED) holds.add(hold);
  }
  const slots = new Map([...holds].sort((a, b) => a - b).map((hold, slot) => [hold, slot]));
  areas.replaceHolds(
    partition,
    held.map((hold): AreaHold => ({ ...hold, slot: slots.get(hold.hold)! })),
  );
}
