/**
 * An event laid on another layout, as the audit trail sees it: seats and areas that come and go,
 * and holds that get other slots, as `relay` gives them.
 */
import { SeatState } from "../engine/states.ts";
import type { AreaHold, AuditAreas } from "./audit-areas.ts";
import type { PlaceIds } from "./audit-catalog.ts";
import type { At, AuditPlaces } from "./audit-places.ts";

interface Parts {
  readonly places: AuditPlaces;
  readonly areas: AuditAreas;
}

interface Layouts {
  readonly before: PlaceIds;
  readonly after: PlaceIds;
}

const NOTHING = { priceId: 0, hold: 0, session: "", holdType: "", places: null, counts: null };

/** Cost: O(seats of both layouts + rows of the event). */
export function layAnew(parts: Parts, at: At, partition: number, { before, after }: Layouts): void {
  const { places, areas } = parts;
  const seatsBefore = new Set(before.seats);
  const seatsAfter = new Set(after.seats);
  for (const id of before.seats) {
    if (seatsAfter.has(id)) continue;
    const { state: from, hold, session, holdType } = places.seat(partition, id);
    const held = from === SeatState.LOCKED ? { hold, session, holdType } : {};
    places.write(partition, id, at, { ...NOTHING, ...held, from, state: null });
  }
  for (const id of after.seats) {
    if (seatsBefore.has(id)) continue;
    places.write(partition, id, at, { ...NOTHING, from: null, state: SeatState.UNPRICED });
  }
  for (const id of before.areas) {
    if (!after.areas.includes(id)) areas.vanish(at, { partition, id });
  }
  for (const id of after.areas) {
    if (!before.areas.includes(id)) areas.appear(at, { partition, id });
  }
  renumber(parts, partition);
}

/** What is left of each hold takes the slots from 0 on, in the order in which the holds began. */
function renumber({ places, areas }: Parts, partition: number): void {
  const held = areas.holds(partition);
  if (held.length === 0) return;
  const living = new Set(held.map(({ hold }) => hold));
  for (const [, { state, hold, counts }] of places.all(partition)) {
    if (counts === null && state === SeatState.LOCKED) living.add(hold);
  }
  const slots = new Map([...living].sort((a, b) => a - b).map((hold, slot) => [hold, slot]));
  areas.replaceHolds(
    partition,
    held.map((hold): AreaHold => ({ ...hold, slot: slots.get(hold.hold)! })),
  );
}
