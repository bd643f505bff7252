/**
 * Migrates an event's inventory to another version of its layout. Seats and areas are matched by
 * id: a new one has no price, and one that no longer exists leaves its hold.
 */
import { assert } from "../assert.ts";
import { NONE } from "../constants.ts";
import type { Layout } from "../layout/layout.ts";
import { Partition } from "./partition.ts";
import { BOOKING_STATES, SeatState } from "./states.ts";

/**
 * @param timeMs - Milliseconds since 1970: the time of change of the new seats and areas.
 * @returns The migrated partition; `source` is not changed. Cost: O(seats).
 */
export function migrateToLayout(source: Partition, layout: Layout, timeMs: number): Partition {
  const target = new Partition(layout, timeMs);
  copySeats(source, target);
  copyAreas(source, target);
  copyHolds(source, target);
  return target;
}

/** Matched seats keep their order of change; new seats come after them, as the latest change. */
function copySeats(source: Partition, target: Partition): void {
  for (const seat of source.changes.oldestFirst()) {
    const match = matchSeat(source, target, seat);
    if (match === NONE) continue;
    assert(target.state[match] === SeatState.UNPRICED, "a seat is copied once");
    target.state[match] = source.state[seat]!;
    target.price[match] = source.price[seat]!;
    target.changedAtMs[match] = source.changedAtMs[seat]!;
    target.changes.touch(match);
  }
  for (const [seat, id] of target.layout.seatIds.entries()) {
    if (!source.layout.seatIndexes.has(id)) target.changes.touch(seat);
  }
}

function copyAreas(source: Partition, target: Partition): void {
  for (let area = 0; area < source.areas.count; area++) {
    const match = matchArea(source, target, area);
    if (match === NONE) continue;
    target.areas.price[match] = source.areas.price[area]!;
    target.areas.changedAtMs[match] = source.areas.changedAtMs[area]!;
    for (const state of BOOKING_STATES) {
      target.areas.add(match, state, source.areas.places(area, state));
    }
    const capacity = source.areas.capacity(area);
    assert(target.areas.capacity(match) === capacity, "an area keeps its capacity");
  }
}

/** In the order in which the holds began, so that the expiry queues stay sorted. */
function copyHolds(source: Partition, target: Partition): void {
  for (const slot of source.holds.slots()) {
    const hold = source.holds.get(slot);
    const seats = source
      .seatsOf(slot)
      .map((seat) => matchSeat(source, target, seat))
      .filter((seat) => seat !== NONE);
    const places = matchPlaces(source, target, slot);
    const size = places.reduce((sum, [, count]) => sum + count, seats.length);
    assert(size <= source.holds.size(slot), "a hold gains nothing from another layout");
    if (size === 0) continue;
    const newSlot = target.holds.nextSlot;
    target.holds.open(newSlot, { ...hold, seats }, size);
    for (const seat of seats) target.hold[seat] = newSlot;
    for (const [area, count] of places) target.areas.addHeld(area, newSlot, hold.session, count);
  }
}

/** @returns Pairs: area index of the target, places that the hold has there. */
function matchPlaces(source: Partition, target: Partition, slot: number): [number, number][] {
  const places: [number, number][] = [];
  for (let area = 0; area < source.areas.count; area++) {
    const held = source.areas.held(area, slot);
    const match = matchArea(source, target, area);
    if (held > 0 && match !== NONE) places.push([match, held]);
  }
  return places;
}

/** @returns The index of the same seat in the target; NONE when it has none. */
function matchSeat(source: Partition, target: Partition, seat: number): number {
  return target.layout.seatIndexes.get(source.layout.seatIds[seat]!) ?? NONE;
}

/** @returns The index of the same area in the target; NONE when it has none. */
function matchArea(source: Partition, target: Partition, area: number): number {
  return target.layout.areaIndexes.get(source.layout.areas[area]!.id) ?? NONE;
}
