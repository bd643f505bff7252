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
 * @param marksRelabelled - Whether seats with other labels change at that time too.
 * @returns The migrated partition; `source` is not changed. Cost: O(seats).
 */
export function migrateToLayout(
  source: Partition,
  layout: Layout,
  timeMs: number,
  marksRelabelled = false,
): Partition {
  const target = new Partition(layout, timeMs);
  copySeats(source, target, marksRelabelled);
  copyAreas(source, target);
  copyHolds(source, target);
  return target;
}

/**
 * Matched seats keep their order of change. The new ones, and those that are marked as relabelled,
 * come after them, as the latest change.
 */
function copySeats(source: Partition, target: Partition, marksRelabelled: boolean): void {
  const isUnchanged = new Uint8Array(target.layout.seatCount);
  for (const seat of source.changes.oldestFirst()) {
    const match = matchSeat(source, target, seat);
    if (match === NONE) continue;
    assert(target.state[match] === SeatState.UNPRICED, "a seat is copied once");
    target.state[match] = source.state[seat]!;
    target.price[match] = source.price[seat]!;
    if (marksRelabelled && !hasSameLabels(source.layout, seat, target.layout, match)) continue;
    target.changedAtMs[match] = source.changedAtMs[seat]!;
    target.changes.touch(match);
    isUnchanged[match] = 1;
  }
  for (const [seat, unchanged] of isUnchanged.entries()) {
    if (unchanged === 0) target.changes.touch(seat);
  }
}

/** Whether two versions of a seat are listed with the same row, section and labels. */
function hasSameLabels(a: Layout, seat: number, b: Layout, match: number): boolean {
  const [rowA, rowB] = [a.rows[a.rowOfSeat[seat]!]!, b.rows[b.rowOfSeat[match]!]!];
  const [sectionA, sectionB] = [a.sections[rowA.section]!, b.sections[rowB.section]!];
  const isInSameRow = rowA.id === rowB.id && rowA.name === rowB.name;
  const isInSameSection = sectionA.id === sectionB.id && sectionA.name === sectionB.name;
  return isInSameRow && isInSameSection && a.seatNames[seat] === b.seatNames[match];
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
