/** Records applied to a state, live and in replay. */
import { expect, test } from "vitest";
import { apply } from "../../engine/apply.ts";
import { ActorKind, type CatalogRecord, RecordType } from "../../engine/records.ts";
import { State } from "../../engine/state.ts";
import { checkState, digest } from "../../engine/verify.ts";
import { replayed, World } from "../support/engine.ts";
import { area, section } from "../support/layout.ts";
import { checkIn } from "../support/table.ts";

const HALL = [section("Stalls", { A: "1 2 3" }), area("Pit", 5)];
const record = (more: Partial<CatalogRecord>): CatalogRecord => ({
  type: RecordType.CATALOG,
  actor: { kind: ActorKind.SYSTEM, id: 0 },
  nextId: 1e4,
  puts: [],
  removes: [],
  ...more,
});

test("a state replayed to any record is valid, and after the last one it is the live state", () => {
  const world = checkIn(HALL)(`
    lock    A  A1 Pit:2       ok
    wait    15m
    lock    B  A1 A2          ok
    sale    B  A1             ok
  `);
  const state = new State();
  for (const { sequence, record: kept, timeMs } of world.journal.kept) {
    apply(state, kept, timeMs, sequence);
    checkState(state);
  }
  expect(digest(state)).toBe(digest(world.engine.state));
});

test("removing an event removes its partition", () => {
  const world = new World(HALL);
  const state = replayed(world.journal);
  const removes = [
    { table: "events", key: world.eventId },
    { table: "prices", key: world.priceId },
  ] as const;
  apply(state, record({ removes }), 1, 1_000);
  checkState(state);
  expect(state.partitions.size).toBe(0);
  expect(() => apply(state, world.lastRecord!, 1, 1_000)).toThrow("every event has its partition");
  expect(() => apply(state, record({ removes }), 1, 1_000)).toThrow(
    "only an existing event is removed",
  );
});

test("a schema whose layout is removed has no seats", () => {
  const world = new World(HALL);
  const state = replayed(world.journal);
  expect(state.layoutOf(world.schemaId).seatCount).toBe(3);
  const removes = [
    { table: "events", key: world.eventId },
    { table: "prices", key: world.priceId },
    { table: "layouts", key: world.schemaId },
  ] as const;
  apply(state, record({ removes }), 1, 1_000);
  expect(state.layoutOf(world.schemaId).seatCount).toBe(0);
  checkState(state);
});

test("an event that moves to another schema migrates to the layout of that schema", () => {
  const world = new World(HALL);
  const state = replayed(world.journal);
  apply(
    state,
    record({ puts: [{ table: "events", row: { ...world.event, schemaId: 777 } }] }),
    1,
    1_000,
  );
  expect(state.partitionOf(state.catalog.events.get(world.eventId)!).layout.seatCount).toBe(0);
});

test("a record that reuses ids or removes an unknown row breaks a promise", () => {
  const state = new State();
  apply(state, record({ nextId: 5 }), 1, 1_000);
  expect(() => apply(state, record({ nextId: 4 }), 1, 1_000)).toThrow("ids are never reused");
  const removes = [{ table: "venues", key: 3 }] as const;
  expect(() => apply(state, record({ removes }), 1, 1_000)).toThrow(
    "only an existing row is removed",
  );
});

test("a record of an unknown type breaks a promise", () => {
  expect(() => apply(new State(), { type: 9 } as never, 1, 1_000)).toThrow("no case for");
});
