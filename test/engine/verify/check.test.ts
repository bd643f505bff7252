/** The invariants: each is seen to fail on a state that breaks it, and only on that. */
import { expect, test } from "vitest";
import { Broken } from "../../../engine/assert.ts";
import { NONE } from "../../../engine/constants.ts";
import { ChangeList, untouched } from "../../../engine/inventory/changes.ts";
import { Partition } from "../../../engine/inventory/partition.ts";
import { SeatState } from "../../../engine/inventory/states.ts";
import { buildLayout } from "../../../engine/layout/layout.ts";
import { checkPartition, checkState } from "../../../engine/verify/check.ts";
import { World } from "../../support/engine.ts";
import { area, section } from "../../support/layout.ts";

/** A1 ACTIVE, A2 held by A, A3 SOLD, A4 without a price; of ten places A holds two, B three. */
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

test("the world that the corruptions start from is whole", () => {
  expect(() => checkState(world().engine.state)).not.toThrow();
});

test.each<[broken: string, what: string, corrupt: (partition: Partition) => void]>([
  ["a state is one of six", "a seat in no state", (p) => (p.state[A1] = 6)],
  ["LOCKED is held by a hold", "LOCKED without a hold", (p) => (p.hold[A2] = NONE)],
  ["LOCKED is held by a hold", "LOCKED by nobody", (p) => (p.state[A1] = SeatState.LOCKED)],
  ["LOCKED is held by a hold", "SOLD and held", (p) => (p.hold[A3] = 0)],
  ["what can be booked has a price", "ACTIVE without a price", (p) => (p.price[A1] = 0)],
  ["what has no state has no price", "unpriced with a price", (p) => (p.price[A4] = 1)],
  ["a hold has as much as it says", "a hold of another's seat", (p) => (p.hold[A2] = 1)],
  ["a hold has as much as it says", "a hold that is too small", (p) => p.holds.release(0, 1)],
  [
    "a hold has as much as it says",
    "a hold that nothing belongs to",
    (p) => {
      const hold = { ...p.holds.get(0), seats: new Uint32Array() };
      p.holds.open(p.holds.nextSlot, hold, 1);
    },
  ],
  [
    "nothing is held by a hold that ended",
    "a seat of a hold that is not there",
    (p) => {
      p.hold[A1] = 7;
      p.state[A1] = SeatState.LOCKED;
    },
  ],
  ["a named hold is alive", "places of a hold that ended", (p) => p.holds.release(1, 3)],
  ["LOCKED places are held by holds", "places LOCKED by nobody", (p) => p.areas.add(PIT, 3, 1)],
  ["LOCKED places are held by holds", "places not counted", (p) => p.areas.add(PIT, 3, -1)],
  ["a session finds its holds", "a hold that its session forgot", (p) => p.areas.forget(1, "B")],
  [
    "a hold has places where it says so",
    "a hold of no places",
    (p) => p.areas.hold(LAWN, 0, "A", 0),
  ],
  [
    "seats of a hold",
    "a hold that began with more seats than there are",
    (p) => {
      const slot = p.holds.nextSlot;
      p.holds.open(slot, { ...p.holds.get(0), seats: new Uint32Array(5) }, 1);
      p.hold[A1] = slot;
      p.state[A1] = SeatState.LOCKED;
    },
  ],
  ["priced", "an area on sale without a price", (p) => p.areas.add(LAWN, SeatState.ACTIVE, 1)],
  ["priced", "an area whose price is gone", (p) => (p.areas.price[PIT] = 0)],
  [
    "the change list is in order of time",
    "a seat that changed later than its place says",
    (p) => (p.changedAtMs[A1]! += 1_000),
  ],
  [
    "the change list is in order of time",
    "a change that is not in the list",
    (p) => p.changes.touch(A1),
  ],
])("%s: told of %s", (broken, _what, corrupt) => {
  const { partition } = world();
  corrupt(partition);
  expect(() => checkPartition(partition)).toThrow(Broken);
  expect(() => checkPartition(partition)).toThrow(broken);
});

test.each<[broken: string, what: string, corrupt: (made: World) => void]>([
  [
    "there is one partition an event",
    "a partition of no event",
    ({ engine, partition }) => engine.state.partitions.set(99, partition),
  ],
  [
    "every event has its partition",
    "an event whose partition has another number",
    ({ engine, event }) => {
      engine.state.partitions.set(99, engine.state.partitionOf(event));
      engine.state.partitions.delete(event.partition);
    },
  ],
  [
    "a partition has its schema's layout",
    "a partition of another layout",
    ({ engine, schemaId }) => {
      const { document } = engine.state.catalog.layouts.get(schemaId)!;
      engine.state.layouts.set(schemaId, buildLayout(document));
    },
  ],
  [
    "a price exists",
    "a seat with the price of nobody",
    ({ partition }) => (partition.price[A1] = 9),
  ],
  [
    "a price exists",
    "an area with the price of nobody",
    ({ partition }) => (partition.areas.price[PIT] = 9),
  ],
  [
    "a price belongs to an event",
    "a price of an event that is not there",
    ({ engine, priceId }) => {
      const { catalog } = engine.state;
      const row = catalog.prices.get(priceId)!;
      catalog.put({ table: "prices", row: { ...row, id: 999, eventId: "nowhere" } });
    },
  ],
  [
    "a price has its own slot",
    "two prices in one slot",
    ({ engine, priceId }) => {
      const { catalog } = engine.state;
      catalog.put({ table: "prices", row: { ...catalog.prices.get(priceId)!, id: 999 } });
    },
  ],
  [
    "a layout belongs to a schema",
    "a layout without a schema",
    ({ engine, schemaId }) => engine.state.catalog.schemas.delete(schemaId),
  ],
])("%s: told of %s", (broken, _what, corrupt) => {
  const made = world();
  corrupt(made);
  expect(() => checkState(made.engine.state)).toThrow(Broken);
  expect(() => checkState(made.engine.state)).toThrow(broken);
});

test("a change list that lacks a seat is told", () => {
  const { partition } = world();
  partition.changedAtMs.fill(5);
  const short = Object.assign(partition, { changes: new ChangeList(untouched(3)) });
  expect(() => checkPartition(short)).toThrow("the change list has every seat once");
});

test("a partition with fewer states than seats is told", () => {
  const { partition } = world();
  const short = Object.assign(new Partition(partition.layout, 0), { state: new Uint8Array(3) });
  expect(() => checkPartition(short)).toThrow("there is one state a seat");
});
