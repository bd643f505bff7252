/** Whether somebody holds or has bought something of an event, so that it must not just vanish. */
import { assert } from "../assert.ts";
import type { EventRow } from "../catalog.ts";
import type { Partition } from "../inventory/partition.ts";
import { SeatState } from "../inventory/states.ts";
import type { State } from "../state.ts";

const { ACTIVE, LOCKED, SOLD } = SeatState;

/** Whether any seat or place of the event is LOCKED or SOLD. Cost: O(areas). */
export function isHeldOrSold({ partitions }: State, { partition: number }: EventRow): boolean {
  // Mostly nothing is, on whatever layout; then the event need not be migrated to find that out.
  return hasTaken(partitions.peek(number)!) && hasTaken(partitions.get(number)!);
}

function hasTaken({ seatsIn, areas }: Partition): boolean {
  if (seatsIn[LOCKED]! + seatsIn[SOLD]! > 0) return true;
  for (let area = 0; area < areas.count; area++) {
    if (areas.places(area, LOCKED) + areas.places(area, SOLD) > 0) return true;
  }
  return false;
}

/** How many seats and areas with LOCKED, SOLD or BLOCKED inventory prevent a price's deletion. */
interface PriceUse {
  readonly seats: number;
  readonly areas: number;
}

/** Whether the area has LOCKED, SOLD or BLOCKED places. */
export function isAreaInUse({ areas }: Partition, area: number): boolean {
  return areas.capacity(area) > areas.places(area, ACTIVE);
}

/** Cost: O(seats and areas). */
export function usesOfPrice(partition: Partition, slot: number): PriceUse {
  const { state, price, areas } = partition;
  assert(slot > 0, "slot 0 stands for no price");
  let seats = 0;
  for (let seat = 0; seat < state.length; seat++) {
    if (price[seat] === slot && state[seat]! > ACTIVE) seats++;
  }
  let used = 0;
  for (let area = 0; area < areas.count; area++) {
    if (areas.price[area] === slot && isAreaInUse(partition, area)) used++;
  }
  return { seats, areas: used };
}
