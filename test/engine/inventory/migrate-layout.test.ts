/** Inventory that migrates to another version of its layout. */
import { expect, test } from "vitest";
import { NONE } from "../../../engine/constants.ts";
import { LayoutChange, type Migration } from "../../../engine/inventory/partitions.ts";
import type { Partition } from "../../../engine/inventory/partition.ts";
import { lastValue } from "../../../engine/inventory/steps.ts";
import { buildLayout } from "../../../engine/layout/layout.ts";
import { checkPartition, digest } from "../../../engine/verify.ts";
import { replayed, START_MS, World } from "../../support/engine.ts";
import { area, guidOf, section } from "../../support/layout.ts";
import { checkIn, checkMore } from "../../support/table.ts";

const HALL = [section("Stalls", { A: "1 2 3 4" }), area("Pit", 10), area("Lawn", 5)];
const check = checkIn(HALL);
const gone = (label: string) => {
  return { guid: guidOf(label), rowGuid: guidOf("row A"), name: label.slice(1), toRemove: true };
};

function migrated(partition: Partition, migration: Migration): Partition {
  return lastValue(new LayoutChange(migration).migrate(partition));
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
  const copy = migrated(partition, { layout: partition.layout, timeMs: 99 });
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
  const world = new World(HALL);
  const { partition } = world;
  const { document } = world.engine.state.catalog.layouts.get(world.schemaId)!;
  const seats = document.seats.map((seat, i) => (i === 1 ? { ...seat, name: "9" } : seat));
  const layout = buildLayout({ ...document, seats });
  const timeMs = START_MS + 5;
  const marked = migrated(partition, { layout, timeMs });
  checkPartition(marked);
  expect([...marked.changedAtMs]).toEqual([START_MS, timeMs, START_MS, START_MS]);
  expect(marked.changes.newest).toBe(1);
});

test("a hold keeps the seats that remain, and ends when none does", () => {
  const world = check(`
    lock    A  A1 A2 Pit:3    ok
    lock    B  A3             ok
  `);
  world.putLayout({ seats: [gone("A2"), gone("A3")] }, true);
  expect(world.partition.holds.count).toBe(1);
  expect(world.partition.holds.size(0)).toBe(4);
  checkMore(
    world,
    `
    sale    A  A1 Pit:3       ok
    lock    C  A4             ok
    `,
  );
  expect(world.partition.holds.count).toBe(1);
});

test("a removed area takes its held places out of their holds", () => {
  const world = check(`
    lock    A  Pit:2 Lawn:3   ok
    lock    B  Pit:1          ok
  `);
  world.putLayout({ sectors: [{ ...HALL[1]!.sector, toRemove: true }] }, true);
  checkMore(
    world,
    `
    places  Lawn  active 2 locked 3 sold 0 blocked 0
    sale    A  Lawn:3         ok
    `,
  );
  expect(world.partition.holds.count).toBe(0);
});

test("holds keep their expiry, whatever the order of their slots", () => {
  const world = check(`
    lock    A  A1             ok
    wait    1m
    lock    B  A2             ok
    unlock  A  A1             ok
    wait    1m
    lock    C  A3             ok
  `);
  world.putLayout({ seats: [gone("A4")] });
  checkMore(
    world,
    `
    wait    14m
    seats   A1 ACTIVE  A2 ACTIVE  A3 LOCKED
    wait    1m
    seats   A3 ACTIVE
    `,
  );
});

test("holds keep their order of age, also those that began in the same millisecond", () => {
  // The first hold frees slot 0; the second keeps slot 1; the third takes slot 0 again.
  const world = check(`
    lock    X  A1             ok
    lock    A  Pit:2          ok
    unlock  X  A1             ok
    lock    B  Pit:2          ok
  `);
  world.putLayout({ seats: [gone("A4")] });
  checkMore(
    world,
    `
    unlock  -  Pit:2          ok
    sale    A  Pit:1          not_available  Pit HELD_BY_ANOTHER_SESSION
    sale    B  Pit:2          ok
    `,
  );
});

test("new seats are the latest change, at the time of the migration", () => {
  const world = new World(HALL);
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
  expect(partition.hold[world.seat("A0")]).toBe(NONE);
  expect(digest(replayed(world.journal))).toBe(digest(world.engine.state));
});
