/** Records applied: the same function serves a live command and replay. */
import { expect, test } from "vitest";
import { apply } from "../../engine/apply.ts";
import { ActorKind, type CatalogRecord, RecordType } from "../../engine/records.ts";
import { State } from "../../engine/state.ts";
import { checkState } from "../../engine/verify/check.ts";
import { digest } from "../../engine/verify/digest.ts";
import { replayed, World } from "../support/engine.ts";
import { area, section } from "../support/layout.ts";
import { checkMore } from "../support/table.ts";

const HALL = [section("Stalls", { A: "1 2 3" }), area("Pit", 5)];
const record = (more: Partial<CatalogRecord>): CatalogRecord => ({
  type: RecordType.CATALOG,
  actor: {
    kind: ActorKind.SYSTEM,
    id: 0,
  },
  nextId: 1e4,
  puts: [],
  removes: [],
  ...more,
});

test("a log replayed to any point gives a whole state, and at its end the live one", () => {
  const world = new World(HALL);
  checkMore(
    world,
    `
    lock    A  A1 Pit:2       ok
    wait    15m
    lock    B  A1 A2          ok
    sale    B  A1             ok
    `,
  );
  const state = new State();
  for (const { record: kept, timeMs } of world.journal.kept) {
    apply(state, kept, timeMs);
    checkState(state);
  }
  expect(digest(state)).toBe(digest(world.engine.state));
});

test("an event that is removed takes its partition along", () => {
  const world = new World(HALL);
  const state = replayed(world.journal);
  const removes = [
    { table: "events", key: world.eventId },
    { table: "prices", key: world.priceId },
  ] as const;
  apply(state, record({ removes }), 1);
  checkState(state);
  expect(state.partitions.size).toBe(0);
  expect(() => apply(state, world.lastRecord!, 1)).toThrow("a record names a living partition");
  expect(() => apply(state, record({ removes }), 1)).toThrow("a removed event was there");
});

test("a layout that is removed is no longer the schema's", () => {
  const world = new World(HALL);
  const state = replayed(world.journal);
  expect(state.layoutOf(world.schemaId).seatCount).toBe(3);
  const removes = [
    { table: "events", key: world.eventId },
    { table: "prices", key: world.priceId },
    { table: "layouts", key: world.schemaId },
  ] as const;
  apply(state, record({ removes }), 1);
  expect(state.layoutOf(world.schemaId).seatCount).toBe(0);
  checkState(state);
});

test("an event moved to another schema is laid on that one's layout", () => {
  const world = new World(HALL);
  const state = replayed(world.journal);
  apply(state, record({ puts: [{ table: "events", row: { ...world.event, schemaId: 777 } }] }), 1);
  expect(state.partitionOf(state.catalog.events.get(world.eventId)!).layout.seatCount).toBe(0);
});

test("ids are never given out again, and only what is there is removed", () => {
  const state = new State();
  apply(state, record({ nextId: 5 }), 1);
  expect(() => apply(state, record({ nextId: 4 }), 1)).toThrow("ids are never given out again");
  const removes = [{ table: "venues", key: 3 }] as const;
  expect(() => apply(state, record({ removes }), 1)).toThrow("a removed row was there");
});

test("a record of no known type is a broken promise", () => {
  expect(() => apply(new State(), { type: 9 } as never, 1)).toThrow("no case for");
});
