/** Records applied to a state, live and in replay. */
import { expect, test } from "vitest";
import { affectedPartitions, apply, replacedPartitions } from "../../engine/apply.ts";
import { ActorKind, type CatalogRecord, RecordType } from "../../engine/records.ts";
import { State } from "../../engine/state.ts";
import { checkState, digest, digestPartition } from "../../engine/verify.ts";
import { Workload } from "../sim/workload/workload.ts";
import { replayed, World } from "../support/engine.ts";
import { area, section } from "../support/layout.ts";
import { checkIn } from "../support/table.ts";

const HALL = [section("Stalls", { A: "1 2 3" }), area("Pit", 5)];
const catalogRecord = (more: Partial<CatalogRecord>): CatalogRecord => ({
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
  apply(state, catalogRecord({ removes }), 1, 1_000);
  checkState(state);
  expect(state.partitions.size).toBe(0);
  expect(() => apply(state, world.lastRecord!, 1, 1_000)).toThrow("every event has its partition");
  expect(() => apply(state, catalogRecord({ removes }), 1, 1_000)).toThrow(
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
  apply(state, catalogRecord({ removes }), 1, 1_000);
  expect(state.layoutOf(world.schemaId).seatCount).toBe(0);
  checkState(state);
});

test("an event that moves to another schema migrates to the layout of that schema", () => {
  const world = new World(HALL);
  const state = replayed(world.journal);
  apply(
    state,
    catalogRecord({ puts: [{ table: "events", row: { ...world.event, schemaId: 777 } }] }),
    1,
    1_000,
  );
  expect(state.partitionOf(state.catalog.events.get(world.eventId)!).layout.seatCount).toBe(0);
});

test("a record that reuses ids or removes an unknown row fails an assertion", () => {
  const state = new State();
  apply(state, catalogRecord({ nextId: 5 }), 1, 1_000);
  expect(() => apply(state, catalogRecord({ nextId: 4 }), 1, 1_000)).toThrow(
    "ids are never reused",
  );
  const removes = [{ table: "venues", key: 3 }] as const;
  expect(() => apply(state, catalogRecord({ removes }), 1, 1_000)).toThrow(
    "only an existing row is removed",
  );
});

test("a record of an unknown type fails an assertion", () => {
  expect(() => apply(new State(), { type: 9 } as never, 1, 1_000)).toThrow("no case for");
});

// A record changes only its affected partitions.

test("no record of a random history changes a partition that it does not affect", () => {
  const workload = new Workload(11);
  for (let step = 0; step < 4_000; step++) workload.step();
  const state = new State();
  let catalogRecords = 0;
  for (const { sequence, record, timeMs } of workload.bench.journal.kept) {
    const affected = new Set(affectedPartitions(state, record));
    const others = [...state.partitions].filter(([number]) => !affected.has(number));
    const before = others.map(([, partition]) => digestPartition(partition));
    apply(state, record, timeMs, sequence);
    const after = others.map(([number]) => digestPartition(state.partitions.get(number)!));
    expect(after).toEqual(before);
    for (const number of state.partitions.keys()) {
      const known = affected.has(number) || others.some(([other]) => other === number);
      expect(known).toBe(true);
    }
    if (record.type === RecordType.CATALOG) catalogRecords += 1;
  }
  expect(catalogRecords).toBeGreaterThan(20);
});

test("the partitions of a deleted organization stay as they were when they are removed", () => {
  const world = new World([section("Stalls", { A: "1 2" })]);
  for (let i = 0; i < 3; i++) world.createEvent();
  world.book("block", world.selection(null, "A1"));
  world.must("deleteOrganization", world.tenant, { ...world.caller });
  const { kept } = world.journal;
  const state = new State();
  for (const { sequence, record, timeMs } of kept.slice(0, -1)) {
    apply(state, record, timeMs, sequence);
  }
  const { sequence, record, timeMs } = kept.at(-1)!;
  const removed = [...state.partitions];
  const before = removed.map(([, partition]) => digestPartition(partition));
  expect(record.type).toBe(RecordType.CATALOG);
  const numbers = record.type === RecordType.CATALOG ? replacedPartitions(state, record) : [];
  expect(numbers).toEqual(removed.map(([number]) => number));
  apply(state, record, timeMs, sequence);
  expect(state.partitions.size).toBe(0);
  expect(removed.map(([, partition]) => digestPartition(partition))).toEqual(before);
});

test("a partition that is changed and then removed does not count as removed unchanged", () => {
  const world = new World([section("Stalls", { A: "1 2" })]);
  const { partition: number, id, schemaId } = world.event;
  const { state } = world.engine;
  const price = [...state.catalog.pricesOf(id).values()][0]!;
  const actor = { kind: 0, id: 0 } as const;
  const record = { type: RecordType.CATALOG, actor, nextId: 9_999, puts: [] };
  const event = { table: "events", key: id } as const;
  const gone = { table: "prices", key: price.id } as const;
  const layout = { table: "layouts", key: schemaId } as const;
  expect(replacedPartitions(state, { ...record, removes: [event, gone, layout] })).toEqual([
    number,
  ]);
  const second = { table: "events", key: world.createEvent() } as const;
  const numbers = [number, state.catalog.events.get(second.key)!.partition];
  const unknown = { table: "prices", key: 424_242 } as const;
  const both = [event, gone, unknown, second];
  expect(replacedPartitions(state, { ...record, removes: both })).toEqual(numbers);
  expect(replacedPartitions(state, { ...record, removes: [gone, event] })).toEqual([]);
  expect(replacedPartitions(state, { ...record, removes: [layout, event] })).toEqual(numbers);
  expect(replacedPartitions(state, { ...record, removes: [gone, layout] })).toEqual([numbers[1]]);
});

test("creating, removing, migrating or unpricing an event affects its partition", () => {
  const world = new World([section("Stalls", { A: "1 2" })]);
  const { partition: number } = world.event;
  const { state } = world.engine;
  const price = [...state.catalog.pricesOf(world.event.id).values()][0]!;
  const actor = { kind: 0, id: 0 } as const;
  const record = { type: RecordType.CATALOG, actor, nextId: 9_999, puts: [], removes: [] };
  const remove = (table: "events" | "prices" | "layouts" | "zones", key: number | string) =>
    affectedPartitions(state, { ...record, removes: [{ table, key }] });
  expect(remove("events", world.event.id)).toEqual([number]);
  expect(remove("prices", price.id)).toEqual([number]);
  expect(remove("layouts", world.event.schemaId)).toEqual([number]);
  expect(remove("zones", 1)).toEqual([]);
  expect(remove("events", crypto.randomUUID())).toEqual([]);
  expect(remove("prices", 424_242)).toEqual([]);
  const layout = state.catalog.layouts.get(world.event.schemaId)!;
  const put = { ...record, puts: [{ table: "layouts" as const, row: layout }] };
  expect(affectedPartitions(state, put)).toEqual([number]);
  const event = { ...world.event, partition: 77 };
  const created = { ...record, puts: [{ table: "events" as const, row: event }] };
  expect(affectedPartitions(state, created)).toEqual([77]);
});
