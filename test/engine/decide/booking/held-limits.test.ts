/** Limits on what a session, and all sessions together, hold in an event. Off by default. */
import { expect, test } from "vitest";
import { Result } from "../../../../engine/results.ts";
import { replayed, World } from "../../../support/engine.ts";
import { area, section } from "../../../support/layout.ts";
import { checkMore } from "../../../support/table.ts";

const HALL = [section("Stalls", { A: "1 2 3 4 5 6", B: "1 2 3 4 5 6" }), area("Pit", 20)];

/** The refused objects of a lock: field, code and value. */
function refusedOf(world: World, session: string | null, ...objects: readonly string[]): unknown {
  const outcome = world.book("lock", world.selection(session, ...objects));
  if (!("errors" in outcome)) return [];
  expect(outcome.refused).toBe(Result.INVENTORY_NOT_AVAILABLE);
  return outcome.errors.map(({ field, code, rejectedValue }) => [field, code, rejectedValue]);
}

test("without limits a session may hold everything", () => {
  const world = new World(HALL);
  checkMore(world, `lock  A  A1 A2 A3 A4 A5 A6 B1 B2 Pit:20  ok`);
});

test("a session holds at most so many seats and places in an event, over all its locks", () => {
  const world = new World(HALL, { settings: { heldPerSession: 4 } });
  checkMore(world, `lock  A  A1 Pit:2  ok`);
  const beyond = [["seats[1].id", "HELD_LIMIT", world.labels.idOf("A3")]];
  const { sequence } = world.engine;
  expect(refusedOf(world, "A", "A2", "A3")).toEqual(beyond);
  expect(refusedOf(world, "A", "Pit:2")).toEqual([["groupOfSeats[0].capacity", "HELD_LIMIT", 2]]);
  expect(world.engine.sequence).toBe(sequence);
  checkMore(world, `lock  A  A2  ok\nlock  B  A3 A4 A5 A6  ok`);
  expect(refusedOf(world, "A", "B1")).toHaveLength(1);
  checkMore(world, `unlock  A  Pit:1  ok\nlock  A  B1  ok`);
  expect(refusedOf(world, "A", "B2")).toHaveLength(1);
  checkMore(world, `sale  A  B1  ok\nlock  A  B2  ok`);
  world.clock.timeMs += 900_000;
  checkMore(world, `lock  A  A1 A2 A3 A4  ok`);
});

test("locks without a session count as those of one session", () => {
  const world = new World(HALL, { settings: { heldPerSession: 2 } });
  expect(refusedOf(world, null, "A1", "A2")).toEqual([]);
  expect(refusedOf(world, null, "A3")).toHaveLength(1);
});

test("all sessions together hold at most so many in an event, and each event has its own", () => {
  const world = new World(HALL, { settings: { heldPerEvent: 3 } });
  checkMore(world, `lock  A  A1 A2  ok`);
  const message = "is more than the 3 that may be held in an event";
  const outcome = world.book("lock", world.selection("B", "A3", "A4"));
  expect(outcome).toMatchObject({ errors: [{ field: "seats[1].id", message }] });
  checkMore(world, `lock  B  A3  ok\ndirectsale  -  A4  ok\nblock  -  A5  ok`);
  expect(refusedOf(world, "C", "A6")).toHaveLength(1);
  checkMore(world, `sale  A  A1  ok\nlock  C  A6  ok`);
});

test("a limit that is lowered ends no hold; 0 turns it off, and what is left out stays", () => {
  const world = new World(HALL, { settings: { heldPerSession: 4, heldPerEvent: 8 } });
  checkMore(world, `lock  A  A1 A2 A3  ok`);
  world.change({ heldPerSession: 2 });
  expect(refusedOf(world, "A", "A4")).toHaveLength(1);
  checkMore(world, `sale  A  A1 A2 A3  ok\nlock  A  A4 A5  ok`);
  world.change({ heldPerSession: 0 });
  checkMore(world, `lock  A  A6 B1 B2 B3 B4 B5  ok`);
  expect(refusedOf(world, "B", "B6")).toHaveLength(1);
  const row = world.engine.state.catalog.organizations.get(world.caller.organizationId)!;
  expect([row.heldPerEvent, "heldPerSession" in row]).toEqual([8, false]);
});

test("a seat that is not on sale is named alone, before any limit", () => {
  const world = new World(HALL, { settings: { heldPerSession: 1 } });
  checkMore(world, `block  -  A1  ok`);
  expect(refusedOf(world, "A", "A1", "A2", "A3")).toEqual([
    ["seats[0].id", "BLOCKED", world.labels.idOf("A1")],
  ]);
});

test("the counters of a restored inventory are those of the holds", () => {
  const world = new World(HALL, { settings: { heldPerSession: 9 } });
  checkMore(world, `lock  A  A1 A2 Pit:3  ok\nlock  B  A3  ok\nunlock  A  A1 Pit:1  ok`);
  const { holds } = world.partition;
  expect([holds.held, holds.heldBy("A"), holds.heldBy("B"), holds.heldBy("C")]).toEqual([
    4, 3, 1, 0,
  ]);
  const again = replayed(world.journal).partitionAt(world.event.partition).holds;
  again.heldBy("A");
  expect([again.held, again.heldBy("A"), again.heldBy("B")]).toEqual([4, 3, 1]);
});
