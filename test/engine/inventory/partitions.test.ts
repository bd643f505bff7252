/** Partitions with a pending migration to a new layout. */
import { expect, test } from "vitest";
import { NONE } from "../../../engine/constants.ts";
import type { Partition } from "../../../engine/inventory/partition.ts";
import { LAYOUT_CHANGES_MAX, LayoutChange } from "../../../engine/inventory/partitions.ts";
import { drain } from "../../../engine/inventory/steps.ts";
import { buildLayout, type Layout } from "../../../engine/layout/layout.ts";
import { checkPartition, checkState, digest } from "../../../engine/verify.ts";
import { replayed, START_MS, World } from "../../support/engine.ts";
import { area, guidOf, section } from "../../support/layout.ts";
import { checkIn, checkMore, tables } from "../../support/table.ts";

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

// Migration of inventory to another version of its layout.

const HALL_WITH_AREAS = [section("Stalls", { A: "1 2 3 4" }), area("Pit", 10), area("Lawn", 5)];
const check = checkIn(HALL_WITH_AREAS);
const inHall = tables(HALL_WITH_AREAS);

function migrated(partition: Partition, layout: Layout, timeMs: number): Partition {
  return drain(new LayoutChange(layout, timeMs).migrate(partition));
}

test("migrating to the same layout changes neither the inventory nor its source", () => {
  const world = check(`
    lock        A  A1 Pit:3        ok
    wait        1s
    lock        B  A2 as RESERVED  ok
    directsale  -  A3 Lawn:1       ok
  `);
  const { partition } = world;
  const before = [...partition.changes.oldestFirst()];
  const copy = migrated(partition, partition.layout, 99);
  checkPartition(copy);
  checkPartition(partition);
  expect([...copy.state]).toEqual([...partition.state]);
  expect([...copy.price]).toEqual([...partition.price]);
  expect([...copy.changedAtMs]).toEqual([...partition.changedAtMs]);
  expect([...copy.changes.oldestFirst()]).toEqual(before);
  expect([...copy.areas.holdsIn(0)]).toEqual([[0, 3]]);
  expect(copy.holds.get(1)).toMatchObject({ session: "B", holdType: "RESERVED", expiresAtMs: 0 });
  for (const slot of [0, 1]) expect(copy.holds.get(slot)).toEqual(partition.holds.get(slot));
  expect([...copy.areas.changedAtMs]).toEqual([...partition.areas.changedAtMs]);
});

test("seats with new labels count as changed", () => {
  const world = new World(HALL_WITH_AREAS);
  const { partition } = world;
  const { document } = world.engine.state.catalog.layouts.get(world.schemaId)!;
  const seats = document.seats.map((seat, i) => (i === 1 ? { ...seat, name: "9" } : seat));
  const layout = buildLayout({ ...document, seats });
  const timeMs = START_MS + 5;
  const marked = migrated(partition, layout, timeMs);
  checkPartition(marked);
  expect([...marked.changedAtMs]).toEqual([START_MS, timeMs, START_MS, START_MS]);
  expect(marked.changes.newest).toBe(1);
});

test("a hold keeps the seats that remain, and ends when none does", () => {
  const { partition } = check(`
    lock    A  A1 A2 Pit:3    ok
    lock    B  A3             ok
    force   A2 A3             ok
    sale    A  A1 Pit:2       ok
    lock    C  A4             ok
  `);
  expect([partition.holds.count, partition.holds.size(0), partition.holds.size(1)]).toEqual([
    2, 1, 1,
  ]);
});

test("fences of another cell → continued on the next layout", () => {
  const world = busyWorld();
  world.partition.holds.passFences(9_000);
  world.putLayout(renamed);
  expect(
    world.must("lock", world.caller, {
      eventId: world.event.id,
      body: world.selection("T", "A3"),
    }),
  ).toBe(true);
  expect(world.partition.fenceOf(2)).toBe(9_000);
});

test("a removed area takes its held places out of their holds", () => {
  const { partition } = check(`
    lock    A  Pit:2 Lawn:3   ok
    lock    B  Pit:1          ok
    force   Pit               ok
    places  Lawn  active 2 locked 3 sold 0 blocked 0
    sale    A  Lawn:3         ok
  `);
  expect(partition.holds.count).toBe(0);
});

inHall("holds keep their expiry, whatever the order of their slots")(`
  lock    A  A1             ok
  wait    1m
  lock    B  A2             ok
  unlock  A  A1             ok
  wait    1m
  lock    C  A3             ok
  remove  A4                ok
  wait    14m
  seats   A1 ACTIVE  A2 ACTIVE  A3 LOCKED
  wait    1m
  seats   A3 ACTIVE
`);

inHall("holds keep their order of age, also those that began in the same millisecond")(`
  // The first hold frees slot 0; the second keeps slot 1; the third takes slot 0 again.
  lock    X  A1             ok
  lock    A  Pit:2          ok
  unlock  X  A1             ok
  lock    B  Pit:2          ok
  remove  A4                ok
  unlock  -  Pit:2          ok
  sale    A  Pit:1          not_available  Pit HELD_BY_ANOTHER_SESSION
  sale    B  Pit:2          ok
`);

test("new seats are the latest change, at the time of the migration", () => {
  const world = new World(HALL_WITH_AREAS);
  world.clock.timeMs += 1_000;
  checkMore(world, `lock  A  A1  ok`);
  world.clock.timeMs += 1_000;
  world.putLayout({
    seats: [{ guid: guidOf("A0"), rowGuid: guidOf("row A"), name: "0", x: -1, y: 0 }],
  });
  const { partition } = world;
  expect(partition.changes.newest).toBe(world.seat("A0"));
  expect(partition.changedAtMs[world.seat("A0")]).toBe(world.clock.timeMs);
  expect(partition.changedAtMs[world.seat("A1")]).toBe(world.clock.timeMs - 1_000);
  expect(partition.holdOrFence[world.seat("A0")]).toBe(NONE);
  expect(digest(replayed(world.journal))).toBe(digest(world.engine.state));
});
