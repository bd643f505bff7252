/**
 * Every invariant of the state, at a cost of O(everything): checked after recovery, when a snapshot
 * is loaded, before a repair is trusted, and by the tests after every step. An invariant that costs
 * O(1) is asserted where the change is made.
 */
import { assert } from "../assert.ts";
import { NONE } from "../constants.ts";
import type { Partition } from "../inventory/partition.ts";
import { SeatState } from "../inventory/states.ts";
import type { State } from "../state.ts";
import { checkCatalog } from "./check-catalog.ts";

/** @throws Broken naming the first invariant that does not hold. */
export function checkState(state: State): void {
  const { catalog, partitions, layouts } = state;
  assert(partitions.size === catalog.events.size, "there is one partition per event");
  assert(layouts.size === catalog.layouts.size, "there is one seat index per stored layout");
  for (const event of catalog.events.values()) {
    const partition = state.partitionOf(event);
    const layout = state.layoutOf(event.schemaId);
    assert(partition.layout === layout, "a partition has its schema's layout");
    checkPartition(partition);
    const prices = catalog.pricesOf(event.id);
    for (const slots of [partition.price, partition.areas.price]) {
      for (const slot of slots) assert(slot === 0 || prices.has(slot), "an assigned price exists");
    }
  }
  checkCatalog(state);
}

/** @throws Broken naming the first invariant that does not hold. */
export function checkPartition(partition: Partition): void {
  const { holds, layout } = partition;
  const held = checkSeats(partition);
  checkAreas(partition, held);
  let fenceBefore = -1;
  for (const slot of holds.slots()) {
    assert(held.get(slot) === holds.size(slot), "a hold has as many places as its size");
    const { fence, seats, startedAtMs, expiresAtMs } = holds.get(slot);
    assert(fence > fenceBefore, "two holds have different fences");
    fenceBefore = fence;
    assert(seats.length <= layout.seatCount, "a hold began with seats of the layout");
    assert(expiresAtMs === 0 || expiresAtMs > startedAtMs, "a hold ends after it began");
  }
  assert(held.size === holds.count, "only existing holds have seats or places");
  checkChanges(partition);
  checkCounts(partition);
}

/** @returns By hold slot: seats held. */
function checkSeats({ layout, state, price, hold }: Partition): Map<number, number> {
  const held = new Map<number, number>();
  assert(state.length === layout.seatCount, "every seat has one state");
  for (let seat = 0; seat < layout.seatCount; seat++) {
    const current = state[seat]!;
    const slot = hold[seat]!;
    assert(current <= SeatState.BLOCKED, "a state is one of the six");
    assert((current === SeatState.LOCKED) === (slot !== NONE), "LOCKED means held");
    assert(current !== SeatState.ACTIVE || price[seat] !== 0, "an ACTIVE seat has a price");
    assert(current >= SeatState.ACTIVE || price[seat] === 0, "a seat off sale has no price");
    if (slot !== NONE) held.set(slot, (held.get(slot) ?? 0) + 1);
  }
  return held;
}

/** @param held - By hold slot; the held places are added to it. */
function checkAreas({ areas, holds }: Partition, held: Map<number, number>): void {
  for (let area = 0; area < areas.count; area++) {
    let locked = 0;
    for (const [slot, places] of areas.holdsIn(area)) {
      assert(places > 0, "a hold has places where it is listed");
      const slots = [...areas.slotsOf(holds.get(slot).session)];
      assert(slots.includes(slot), "a session's holds are found");
      held.set(slot, (held.get(slot) ?? 0) + places);
      locked += places;
    }
    assert(locked === areas.places(area, SeatState.LOCKED), "LOCKED places are held");
    const active = areas.places(area, SeatState.ACTIVE);
    assert(active === 0 || areas.price[area] !== 0, "an area on sale has a price");
  }
}

function checkChanges({ changes, changedAtMs, layout }: Partition): void {
  let count = 0;
  let nextMs = Infinity;
  for (let seat = changes.newest; seat !== NONE; seat = changes.earlierThan(seat)) {
    assert(changedAtMs[seat]! <= nextMs, "the change list is in order of time");
    assert(count < layout.seatCount, "the change list has a seat once");
    nextMs = changedAtMs[seat]!;
    count++;
  }
  assert(count === layout.seatCount, "the change list has every seat");
}

function checkCounts({ state, seatsIn }: Partition): void {
  const counts = seatsIn.map(() => 0);
  for (const current of state) counts[current]! += 1;
  const areRight = seatsIn.every((count, each) => count === counts[each]);
  assert(areRight, "the seats of each state are counted");
}
