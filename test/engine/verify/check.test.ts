/** The invariants: each is seen to fail on a state that breaks it. */
import { expect, test } from "vitest";
import { Broken } from "../../../engine/assert.ts";
import { NONE } from "../../../engine/constants.ts";
import { ChangeList, initialLinks, Partition } from "../../../engine/inventory/partition.ts";
import { SeatState } from "../../../engine/inventory/states.ts";
import { buildLayout } from "../../../engine/layout/layout.ts";
import { checkPartition, checkState } from "../../../engine/verify.ts";
import { World } from "../../support/engine.ts";
import { area, section } from "../../support/layout.ts";

/** A1 ACTIVE, A2 held by A, A3 SOLD, A4 unpriced; of the Pit's ten places A holds two, B three. */
function world(): World {
  const made = new World([section("Stalls", { A: "1 2 3 4" }), area("Pit", 10), area("Lawn", 5)], {
    unpriced: ["A4", "Lawn"],
  });
  made.clock.timeMs += 1;
  made.book("lock", made.selection("A", "A2", "Pit:2"));
  made.book("lock", made.selection("B", "Pit:3"));
  made.clock.timeMs += 1;
  made.book("directsale", made.selection(null, "A3"));
  return made;
}

const [A1, A2, A3, A4, PIT, LAWN] = [0, 1, 2, 3, 0, 1];
const { ACTIVE, LOCKED } = SeatState;

/** Gives A1 to the hold in that slot. */
function lockFirst(partition: Partition, slot: number): void {
  partition.hold[A1] = slot;
  partition.state[A1] = LOCKED;
}

/** Opens a hold of one seat or place. @returns Its slot. */
function openHold({ holds }: Partition, seatCount: number): number {
  const slot = holds.nextSlot;
  const fence = holds.copy().fenceBound;
  holds.open(slot, { ...holds.get(0), fence, seats: new Uint32Array(seatCount) }, 1);
  return slot;
}

const CORRUPT_PARTITIONS: readonly [what: string, broken: string, (p: Partition) => unknown][] = [
  ["a seat in no state", "a state is one of the six", (p) => (p.state[A1] = 6)],
  ["a LOCKED seat without a hold", "LOCKED means held", (p) => (p.hold[A2] = NONE)],
  ["a held seat that is SOLD", "LOCKED means held", (p) => (p.hold[A3] = 0)],
  ["an ACTIVE seat without a price", "an ACTIVE seat has a price", (p) => (p.price[A1] = 0)],
  ["a priced seat off sale", "a seat off sale has no price", (p) => (p.price[A4] = 1)],
  ["a hold with another's seat", "a hold has as many places as its size", (p) => (p.hold[A2] = 1)],
  [
    "a hold that is too small",
    "a hold has as many places as its size",
    (p) => p.holds.release(0, 1),
  ],
  ["a hold that has nothing", "a hold has as many places as its size", (p) => openHold(p, 0)],
  ["a seat of no hold", "only existing holds have seats or places", (p) => lockFirst(p, 7)],
  ["places of a hold that ended", "a named hold exists", (p) => p.holds.release(1, 3)],
  ["LOCKED places of no hold", "LOCKED places are held", (p) => p.areas.add(PIT, LOCKED, 1)],
  ["held places off the count", "LOCKED places are held", (p) => p.areas.add(PIT, LOCKED, -1)],
  ["a hold lost by its session", "a session's holds are found", (p) => p.areas.forgetHold(1, "B")],
  [
    "a hold of no places",
    "a hold has places where it is listed",
    (p) => (p.areas.holdsIn(LAWN) as Map<number, number>).set(0, 0),
  ],
  [
    "a hold that began with more seats than exist",
    "a hold began with seats of the layout",
    (p) => lockFirst(p, openHold(p, 5)),
  ],
  [
    "two holds of one lock",
    "two holds have different fences",
    (p) => Object.assign(p.holds.get(1), { fence: p.holds.get(0).fence }),
  ],
  [
    "a hold that ended before it began",
    "a hold ends after it began",
    (p) => Object.assign(p.holds.get(0), { expiresAtMs: 1 }),
  ],
  ["an unpriced area on sale", "an area on sale has a price", (p) => p.areas.add(LAWN, ACTIVE, 1)],
  ["an area whose price is lost", "an area on sale has a price", (p) => (p.areas.price[PIT] = 0)],
  ["a seat listed too early", "is in order of time", (p) => (p.changedAtMs[A1]! += 1_000)],
  ["a count of seats that is wrong", "seats of each state", (p) => (p.seatsIn[ACTIVE]! += 1)],
  ["a change that never happened", "is in order of time", (p) => p.changes.touch(A1)],
];

test.each(CORRUPT_PARTITIONS)("in a partition, %s is found", (_what, broken, corrupt) => {
  const { partition } = world();
  expect(() => checkPartition(partition)).not.toThrow();
  corrupt(partition);
  expect(() => checkPartition(partition)).toThrow(Broken);
  expect(() => checkPartition(partition)).toThrow(broken);
});

const CORRUPT_STATES: readonly [what: string, broken: string, (made: World) => unknown][] = [
  [
    "a partition of no event",
    "there is one partition per event",
    ({ engine, partition }) => engine.state.partitions.set(99, partition),
  ],
  [
    "an event whose partition has another number",
    "every event has its partition",
    ({ engine, event, partition }) => {
      engine.state.partitions.set(99, partition);
      engine.state.partitions.delete(event.partition);
    },
  ],
  [
    "a seat index of no stored layout",
    "there is one seat index per stored layout",
    ({ engine, partition }) => engine.state.layouts.set(99, partition.layout),
  ],
  [
    "a partition with another layout",
    "a partition has its schema's layout",
    ({ engine, schemaId }) => {
      const { document } = engine.state.catalog.layouts.get(schemaId)!;
      engine.state.layouts.set(schemaId, buildLayout(document));
    },
  ],
  [
    "a seat with an unknown price",
    "an assigned price exists",
    ({ partition }) => (partition.price[A1] = 9),
  ],
  [
    "an area with an unknown price",
    "an assigned price exists",
    ({ partition }) => (partition.areas.price[PIT] = 9),
  ],
  [
    "a layout without a schema",
    "a layout belongs to a schema",
    ({ engine, schemaId }) => engine.state.catalog.schemas.delete(schemaId),
  ],
];

test.each(CORRUPT_STATES)("in a state, %s is found", (_what, broken, corrupt) => {
  const made = world();
  expect(() => checkState(made.engine.state)).not.toThrow();
  corrupt(made);
  expect(() => checkState(made.engine.state)).toThrow(Broken);
  expect(() => checkState(made.engine.state)).toThrow(broken);
});

test("a change list that lacks a seat is found", () => {
  const { partition } = world();
  partition.changedAtMs.fill(5);
  const short = Object.assign(partition, { changes: new ChangeList(initialLinks(3)) });
  expect(() => checkPartition(short)).toThrow("the change list has every seat");
});

test("a partition with fewer states than seats is found", () => {
  const { layout } = world().partition;
  const short = Object.assign(new Partition(layout, 0), { state: new Uint8Array(3) });
  expect(() => checkPartition(short)).toThrow("every seat has one state");
});
