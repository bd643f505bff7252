/**
 * The state with which a trail begins that cannot begin with the log: every living event, price and
 * layout, and how each seat and area was left.
 */
import type { EventRow } from "../../engine/catalog.ts";
import { NONE } from "../../engine/constants.ts";
import type { Partition } from "../../engine/inventory/partition.ts";
import { SeatState } from "../../engine/inventory/states.ts";
import type { State } from "../../engine/state.ts";
import type { AreaHold, AuditAreas } from "./areas.ts";
import type { AuditCatalog } from "./catalog.ts";
import { type AuditPlaces, type Counts, NO_HOLD, seatMove } from "./places.ts";

interface Parts {
  readonly catalog: AuditCatalog;
  readonly places: AuditPlaces;
  readonly areas: AuditAreas;
}

const { UNPRICED, LOCKED, ACTIVE, SOLD, BLOCKED } = SeatState;

/** Cost: O(seats of all events). @param sequence - The record behind which the state is. */
export function writeBaseline(parts: Parts, state: State, sequence: number): void {
  const { catalog, places } = parts;
  const { layouts, events, prices } = state.catalog;
  places.begin();
  for (const layout of layouts.values()) catalog.putLayout({ sequence, timeMs: 0 }, layout);
  for (const event of events.values()) {
    catalog.putEvent({ sequence, timeMs: event.createdAtMs }, event);
  }
  for (const price of prices.values()) catalog.putPrice({ sequence, timeMs: 0 }, price);
  for (const event of events.values()) {
    const partition = state.partitionOf(event);
    const holds = namesOfHolds(partition);
    writeSeats(parts, { partition, event, sequence, holds });
    writeAreas(parts, { partition, event, sequence, holds });
  }
}

interface Laid {
  readonly partition: Partition;
  readonly event: EventRow;
  readonly sequence: number;
  /** By slot: stands for the lock, which is not known; below all that are. */
  readonly holds: ReadonlyMap<number, number>;
}

function namesOfHolds({ holds }: Partition): Map<number, number> {
  const slots = holds.slots();
  return new Map(slots.map((slot, i) => [slot, i - slots.length]));
}

function writeSeats({ catalog, places }: Parts, { partition, event, sequence, holds }: Laid): void {
  for (const [seat, id] of partition.layout.seatIds.entries()) {
    const state = partition.state[seat] as SeatState;
    const timeMs = partition.changedAtMs[seat]!;
    if (state === UNPRICED && timeMs === event.createdAtMs) continue;
    const slot = partition.hold[seat]!;
    const priceId = catalog.priceIn(event.partition, partition.price[seat]!);
    const held = slot === NONE ? NO_HOLD : heldBy(partition, holds, slot);
    const row = seatMove(null, state, priceId, held);
    places.write(event.partition, id, { sequence, timeMs }, row);
  }
}

function writeAreas(parts: Parts, { partition, event, sequence, holds }: Laid): void {
  const { areas, layout } = partition;
  const held: AreaHold[] = [];
  for (const [area, { id }] of layout.areas.entries()) {
    const counts: Counts = [
      areas.places(area, ACTIVE),
      areas.places(area, LOCKED),
      areas.places(area, SOLD),
      areas.places(area, BLOCKED),
    ];
    const priceId = parts.catalog.priceIn(event.partition, areas.price[area]!);
    const row = { from: null, state: ACTIVE, priceId, ...NO_HOLD, places: 0, counts };
    parts.places.write(event.partition, id, { sequence, timeMs: areas.changedAtMs[area]! }, row);
    for (const [slot, places] of areas.holdsIn(area)) {
      held.push({ areaId: id, slot, places, ...heldBy(partition, holds, slot) });
    }
  }
  parts.areas.replaceHolds(event.partition, held);
}

function heldBy({ holds }: Partition, names: Laid["holds"], slot: number) {
  const { session, holdType } = holds.get(slot);
  return { hold: names.get(slot)!, session, holdType };
}
