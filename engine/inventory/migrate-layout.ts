/**
 * An event's inventory laid anew on another version of its layout: seats and areas are matched by
 * id; what is new has no price yet, what is gone leaves its hold.
 */
import { NONE } from "../constants.ts";
import type { Layout } from "../layout/layout.ts";
import { Partition } from "./partition.ts";
import { SeatState } from "./states.ts";

/** Cost: O(seats). Does not change `source`. */
export function migrateToLayout(source: Partition, layout: Layout, timeMs: number): Partition {
  const target = new Partition(layout, timeMs);
  carrySeats(source, target);
  carryAreas(source, target);
  carryHolds(source, target);
  return target;
}

/** Survivors keep their order of change; new seats come last, as the latest change. */
function carrySeats(source: Partition, target: Partition): void {
  for (const seat of source.changes.oldestFirst()) {
    const copy = targetSeat(source, target, seat);
    if (copy === NONE) continue;
    target.state[copy] = source.state[seat]!;
    target.price[copy] = source.price[seat]!;
    target.changedAtMs[copy] = source.changedAtMs[seat]!;
    target.changes.touch(copy);
  }
  for (const [seat, id] of target.layout.seatIds.entries()) {
    if (!source.layout.seatIndexes.has(id)) target.changes.touch(seat);
  }
}

function carryAreas(source: Partition, target: Partition): void {
  for (let area = 0; area < source.areas.count; area++) {
    const copy = targetArea(source, target, area);
    if (copy === NONE) continue;
    target.areas.price[copy] = source.areas.price[area]!;
    target.areas.changedAtMs[copy] = source.areas.changedAtMs[area]!;
    for (const state of [SeatState.ACTIVE, SeatState.LOCKED, SeatState.SOLD, SeatState.BLOCKED]) {
      target.areas.add(copy, state, source.areas.places(area, state));
    }
  }
}

/** In the order in which the holds began, so that the queues of their ends stay sorted. */
function carryHolds(source: Partition, target: Partition): void {
  for (const slot of source.holds.slots()) {
    const hold = source.holds.get(slot);
    const seats = source
      .seatsOf(slot)
      .map((seat) => targetSeat(source, target, seat))
      .filter((seat) => seat !== NONE);
    const places = placesOf(source, target, slot);
    const size = places.reduce((sum, [, count]) => sum + count, seats.length);
    if (size === 0) continue;
    const copy = target.holds.nextSlot;
    target.holds.open(copy, { ...hold, seats }, size);
    for (const seat of seats) target.hold[seat] = copy;
    for (const [area, count] of places) target.areas.hold(area, copy, hold.session, count);
  }
}

/** Pairs of area index (of the target) and places that the hold has there. */
function placesOf(source: Partition, target: Partition, slot: number): [number, number][] {
  const places: [number, number][] = [];
  for (let area = 0; area < source.areas.count; area++) {
    const held = source.areas.held(area, slot);
    const copy = targetArea(source, target, area);
    if (held > 0 && copy !== NONE) places.push([copy, held]);
  }
  return places;
}

function targetSeat(source: Partition, target: Partition, seat: number): number {
  return target.layout.seatIndexes.get(source.layout.seatIds[seat]!) ?? NONE;
}

function targetArea(source: Partition, target: Partition, area: number): number {
  return target.layout.areaIndexes.get(source.layout.areas[area]!.id) ?? NONE;
}
