/** A record changes no partition but those that it is said to affect. */
import { expect, test } from "vitest";
import { affectedPartitions, apply, replacedPartitions } from "../../engine/apply.ts";
import { RecordType } from "../../engine/records.ts";
import { State } from "../../engine/state.ts";
import { digestPartition } from "../../engine/verify.ts";
import { Workload } from "../sim/workload/workload.ts";
import { World } from "../support/engine.ts";
import { section } from "../support/layout.ts";

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
