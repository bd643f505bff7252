/**
 * The full list of invariants, each O(everything): called after recovery, before a snapshot, and by
 * the tests after every step. What is O(1) is asserted where the change is made.
 */
import { assert } from "../assert.ts";
import { NONE } from "../constants.ts";
import type { Partition } from "../inventory/partition.ts";
import { SeatState } from "../inventory/states.ts";
import type { State } from "../state.ts";
import { checkCatalog } from "./check-catalog.ts";

/** @throws Broken naming the first invariant that does not hold. */
export function checkState(state: State): void {
  const { catalog } = state;
  assert(state.partitions.size === catalog.events.size, "there is one partition an event");
  for (const event of catalog.events.values()) {
    const partition = state.partitionOf(event);
    assert(
      partition.layout === state.layoutOf(event.schemaId),
      "a partition has its schema's layout",
    );
    checkPartition(partition);
    const slots = catalog.pricesOf(event.id);
    for (const slot of partition.price) assert(slot === 0 || slots.has(slot), "a price exists");
    for (const slot of partition.areas.price)
      assert(slot === 0 || slots.has(slot), "a price exists");
  }
  checkCatalog(state);
}

export function checkPartition(partition: Partition): void {
  const held = checkSeats(partition);
  checkAreas(partition, held);
  for (const slot of partition.holds.slots()) {
    assert(held.get(slot) === partition.holds.size(slot), "a hold has as much as it says");
    assert(partition.holds.get(slot).seats.length <= partition.layout.seatCount, "seats of a hold");
  }
  assert(held.size === partition.holds.count, "nothing is held by a hold that ended");
  checkChanges(partition);
}

/** @returns Seats held, by hold slot. */
function checkSeats({ layout, state, price, hold }: Partition): Map<number, number> {
  const held = new Map<number, number>();
  assert(state.length === layout.seatCount, "there is one state a seat");
  for (let seat = 0; seat < layout.seatCount; seat++) {
    const current = state[seat]!;
    assert(current <= SeatState.BLOCKED, "a state is one of six");
    assert((current === SeatState.LOCKED) === (hold[seat] !== NONE), "LOCKED is held by a hold");
    if (current === SeatState.ACTIVE) assert(price[seat] !== 0, "what can be booked has a price");
    if (current < SeatState.ACTIVE) assert(price[seat] === 0, "what has no state has no price");
    if (hold[seat] !== NONE) held.set(hold[seat]!, (held.get(hold[seat]!) ?? 0) + 1);
  }
  return held;
}

/** Adds held places to `held`. */
function checkAreas({ areas, holds }: Partition, held: Map<number, number>): void {
  for (let area = 0; area < areas.count; area++) {
    let locked = 0;
    for (const [slot, places] of areas.holdsIn(area)) {
      assert(places > 0, "a hold has places where it says so");
      assert(
        [...areas.slotsOf(holds.get(slot).session)].includes(slot),
        "a session finds its holds",
      );
      held.set(slot, (held.get(slot) ?? 0) + places);
      locked += places;
    }
    assert(locked === areas.places(area, SeatState.LOCKED), "LOCKED places are held by holds");
    if (areas.price[area] === 0) assert(areas.places(area, SeatState.ACTIVE) === 0, "priced");
  }
}

function checkChanges({ changes, changedAtMs, layout }: Partition): void {
  let count = 0;
  let nextMs = Infinity;
  for (let seat = changes.newest; seat !== NONE; seat = changes.earlierThan(seat)) {
    assert(changedAtMs[seat]! <= nextMs, "the change list is in order of time");
    assert(count < layout.seatCount, "the change list has every seat once");
    nextMs = changedAtMs[seat]!;
    count++;
  }
  assert(count === layout.seatCount, "the change list has every seat once");
}
