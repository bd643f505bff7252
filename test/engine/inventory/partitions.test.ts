/** Partitions that wait for the migration to their new layout. */
import { expect, test } from "vitest";
import { LAYOUT_CHANGES_MAX } from "../../../engine/inventory/partitions.ts";
import { checkState, digest } from "../../../engine/verify.ts";
import { replayed, World } from "../../support/engine.ts";
import { guidOf, section } from "../../support/layout.ts";

const HALL = [section("Stalls", { A: "1 2 3 4" })];
const renamed = { seats: [{ guid: guidOf("A1"), rowGuid: guidOf("row A"), name: "one" }] };
const gone = {
  seats: [{ guid: guidOf("A2"), rowGuid: guidOf("row A"), name: "2", toRemove: true }],
};

/** A world whose event has a hold on A1 and A2, and three events more. */
function busyWorld(): World {
  const world = new World(HALL);
  for (let i = 0; i < 3; i++) world.createEvent();
  world.must("lock", world.caller, {
    eventId: world.event.id,
    body: world.selection("S", "A1", "A2"),
  });
  return world;
}

test("a new layout migrates no event before the event is read", () => {
  const world = busyWorld();
  const { partitions } = world.engine.state;
  const before = world.partition;
  world.putLayout(renamed);
  expect(partitions.settleStep()).toBe(true);
  expect(world.partition).not.toBe(before);
  expect(world.partition.layout.labels).toContain("one");
});

test("settling migrates one event at a time, until all have the new layout", () => {
  const world = busyWorld();
  world.putLayout(renamed);
  const steps: boolean[] = [];
  for (let i = 0; i < 4; i++) steps.push(world.engine.settle());
  expect(steps).toEqual([true, true, true, false]);
  checkState(world.engine.state);
});

test("the state is the same, whether events were read between two layouts or after them", () => {
  const [early, late] = [busyWorld(), busyWorld()];
  for (const world of [early, late]) world.putLayout(renamed);
  while (early.engine.settle());
  for (const world of [early, late]) world.putLayout(gone, true);
  expect(digest(late.engine.state)).toBe(digest(early.engine.state));
  expect(digest(replayed(late.journal))).toBe(digest(late.engine.state));
  checkState(late.engine.state);
});

/** More seats than a step of a migration visits. */
const LABELS = Array.from({ length: 1_000 }, (_, i) => i + 1).join(" ");
const LARGE = Array.from({ length: 23 }, (_, i) => section(`S${i}`, { [`R${i}x`]: LABELS }));

test("an event that is read between two steps of its migration is on its present layout", () => {
  const world = new World(LARGE);
  const { engine } = world;
  world.createEvent();
  const rename = (name: string) => {
    const guid = guidOf("R3x1");
    world.putLayout({ seats: [{ guid, rowGuid: guidOf("row R3x"), name }] });
  };
  rename("one");
  expect(engine.settle()).toBe(true);
  world.book("lock", world.selection("S", "R4x1", "R5x2"));
  expect(engine.settle()).toBe(true);
  rename("two");
  expect(engine.settle()).toBe(true);
  expect(world.partition.layout.labels).toContain("two");
  while (engine.settle());
  checkState(engine.state);
  expect(digest(replayed(world.journal))).toBe(digest(engine.state));
}, 60_000);

test("a command on an event with a new layout is decided on that layout", () => {
  const world = busyWorld();
  world.putLayout(gone, true);
  expect(world.partition.holds.size(0)).toBe(1);
});

test("a hold that expires before its event was migrated ends once", () => {
  const world = busyWorld();
  world.putLayout(gone, true);
  world.clock.timeMs += 3_600_000;
  const { length } = world.journal.kept;
  world.engine.expireAll();
  world.engine.expireAll();
  expect(world.journal.kept).toHaveLength(length + 1);
  expect(world.engine.state.partitions.holdCount).toBe(0);
  checkState(world.engine.state);
});

test("a deleted event no longer waits", () => {
  const world = busyWorld();
  world.putLayout(renamed);
  world.must("deleteEvent", world.caller, { eventId: world.event.id });
  while (world.engine.settle());
  checkState(world.engine.state);
  expect(world.engine.state.partitions.size).toBe(3);
});

test("of many changes of a layout, sixteen at most wait for an event", () => {
  const world = busyWorld();
  const { partitions } = world.engine.state;
  const number = world.event.partition;
  const before = partitions.peek(number);
  const rename = (i: number) =>
    world.putLayout({ seats: [{ guid: guidOf("A1"), rowGuid: guidOf("row A"), name: `n${i}` }] });
  for (let i = 0; i < LAYOUT_CHANGES_MAX; i++) rename(i);
  expect(partitions.peek(number)).toBe(before);
  rename(LAYOUT_CHANGES_MAX);
  const last = `n${LAYOUT_CHANGES_MAX - 1}`;
  expect(partitions.peek(number)?.layout.labels).toContain(last);
  expect(partitions.waitingCount).toBe(4);
  checkState(world.engine.state);
  expect(partitions.waitingCount).toBe(0);
});
