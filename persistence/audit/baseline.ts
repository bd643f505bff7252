/**
 * The first rows of a trail whose log has lost its beginning: every existing event, price and
 * layout, and the state of each seat and area.
 */
import type { EventRow } from "../../engine/catalog.ts";
import { NONE } from "../../engine/constants.ts";
import type { Partition } from "../../engine/inventory/partition.ts";
import { BOOKING_STATES, SeatState } from "../../engine/inventory/states.ts";
import type { State } from "../../engine/state.ts";
import type { AreaHold, AuditAreas } from "./areas.ts";
import type { AuditCatalog } from "./catalog.ts";
import { type Counts, type Held, NO_HOLD } from "./blocks/rows.ts";
import type { AuditPlaces } from "./places.ts";

interface Parts {
  readonly catalog: AuditCatalog;
  readonly places: AuditPlaces;
  readonly areas: AuditAreas;
}

const { UNPRICED, ACTIVE } = SeatState;

/** @param sequence - The last record in the state. Cost: O(seats of all events). */
export function writeBaseline(parts: Parts, state: State, sequence: number): void {
  const { catalog, places } = parts;
  const { organizations, layouts, events, prices } = state.catalog;
  for (const organization of organizations.values()) {
    catalog.putOrganization({ sequence, timeMs: 0 }, organization);
  }
  for (const layout of layouts.values()) catalog.putLayout({ sequence, timeMs: 0 }, layout);
  for (const event of events.values()) {
    catalog.putEvent({ sequence, timeMs: event.createdAtMs }, event);
  }
  for (const price of prices.values()) catalog.putPrice({ sequence, timeMs: 0 }, price);
  for (const event of events.values()) {
    const partition = state.partitionOf(event);
    const slots = partition.holds.slots();
    const holds = new Map(slots.map((slot, i) => [slot, i - slots.length]));
    writeSeats(parts, { partition, event, holds });
    writeAreas(parts, { partition, event, holds });
    places.storeMap(places.event(event.partition), sequence);
    places.drop(event.partition);
  }
  parts.areas.flush();
}

interface Inventory {
  readonly partition: Partition;
  readonly event: EventRow;
  /** By slot: a negative number in place of the unknown record that began the hold. */
  readonly holds: ReadonlyMap<number, number>;
}

function writeSeats({ catalog, places }: Parts, { partition, event, holds }: Inventory): void {
  const live = places.event(event.partition);
  for (const [seat, id] of partition.layout.seatIds.entries()) {
    const state = partition.state[seat] as SeatState;
    const timeMs = partition.changedAtMs[seat]!;
    if (state === UNPRICED && timeMs === event.createdAtMs) continue;
    const slot = partition.hold[seat]!;
    const priceId = catalog.priceIn(event.partition, partition.price[seat]!);
    const held = slot === NONE ? NO_HOLD : heldBy(partition, holds, slot);
    live.table.put(live.seat(id), timeMs, { state, priceId, ...held, counts: null });
  }
}

function writeAreas(parts: Parts, { partition, event, holds }: Inventory): void {
  const live = parts.places.event(event.partition);
  const { areas, layout } = partition;
  const held: AreaHold[] = [];
  for (const [area, { id }] of layout.areas.entries()) {
    const [active, locked, sold, blocked] = BOOKING_STATES.map((state) =>
      areas.places(area, state),
    );
    const counts: Counts = [active!, locked!, sold!, blocked!];
    const priceId = parts.catalog.priceIn(event.partition, areas.price[area]!);
    const facts = { state: ACTIVE, priceId, ...NO_HOLD, counts };
    live.table.put(live.area(id), areas.changedAtMs[area]!, facts);
    for (const [slot, places] of areas.holdsIn(area)) {
      held.push({ areaId: id, slot, places, ...heldBy(partition, holds, slot) });
    }
  }
  parts.areas.replaceHolds(event.partition, held);
}

function heldBy({ holds }: Partition, numbers: Inventory["holds"], slot: number): Held {
  const { session, holdType } = holds.get(slot);
  return { hold: numbers.get(slot)!, session, holdType };
}
