/**
 * The one place that changes state. Unconditional and total: what a record says has happened. The
 * same function serves a live command and replay.
 */
import { assert, unreachable } from "./assert.ts";
import type { EventRow, CatalogPut } from "./catalog.ts";
import { migrateToLayout } from "./inventory/migrate-layout.ts";
import { Partition } from "./inventory/partition.ts";
import { buildLayout } from "./layout/layout.ts";
import { type CatalogRecord, type LogRecord, RecordType } from "./records.ts";
import type { State } from "./state.ts";

export function apply(state: State, record: LogRecord, timeMs: number): void {
  switch (record.type) {
    case RecordType.MOVE:
      return partition(state, record.partition).move(record, timeMs);
    case RecordType.PRICE:
      return partition(state, record.partition).assignPrices(record, timeMs);
    case RecordType.CATALOG:
      return applyCatalog(state, record, timeMs);
    default:
      return unreachable(record);
  }
}

function partition(state: State, number: number): Partition {
  const found = state.partitions.get(number);
  assert(found !== undefined, "a record names a living partition");
  return found;
}

function applyCatalog(state: State, record: CatalogRecord, timeMs: number): void {
  assert(record.nextId >= state.catalog.nextId, "ids are never given out again");
  state.catalog.nextId = record.nextId;
  for (const { table, key } of record.removes) {
    if (table === "events") removePartition(state, String(key));
    if (table === "layouts") removeLayout(state, Number(key), timeMs);
    if (table === "prices") removePrice(state, Number(key), timeMs);
    state.catalog.remove({ table, key });
  }
  for (const put of record.puts) applyPut(state, put, timeMs);
}

function applyPut(state: State, put: CatalogPut, timeMs: number): void {
  if (put.table === "events") {
    layPartition(state, put.row, timeMs);
    state.catalog.put(put);
    return;
  }
  state.catalog.put(put);
  if (put.table !== "layouts") return;
  state.layouts.set(put.row.id, buildLayout(put.row.document));
  layEvents(state, put.row.id, timeMs);
}

/** The events of the schema stay, without a seat. */
function removeLayout(state: State, schemaId: number, timeMs: number): void {
  state.layouts.delete(schemaId);
  layEvents(state, schemaId, timeMs);
}

/** Lays every event of the schema on the layout that it has now. */
function layEvents(state: State, schemaId: number, timeMs: number): void {
  for (const event of state.catalog.events.values()) {
    if (event.schemaId === schemaId) layPartition(state, event, timeMs);
  }
}

/** Creates the event's partition, or lays it anew when the layout is another than before. */
function layPartition(state: State, event: EventRow, timeMs: number): void {
  const layout = state.layoutOf(event.schemaId);
  const existing = state.partitions.get(event.partition);
  if (existing?.layout === layout) return;
  const laid =
    existing === undefined
      ? new Partition(layout, timeMs)
      : migrateToLayout(existing, layout, timeMs);
  state.partitions.set(event.partition, laid);
}

function removePartition(state: State, eventId: string): void {
  const event = state.catalog.events.get(eventId);
  assert(event !== undefined, "a removed event was there");
  state.partitions.delete(event.partition);
}

/** A price that goes leaves nothing assigned to it. Its event may have gone just before. */
function removePrice(state: State, priceId: number, timeMs: number): void {
  const price = state.catalog.prices.get(priceId);
  assert(price !== undefined, "a removed price was there");
  const event = state.catalog.events.get(price.eventId);
  if (event !== undefined) state.partitionOf(event).removePrice(price.slot, timeMs);
}
