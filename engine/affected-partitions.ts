/**
 * Which partitions a record changes: what `apply` will touch, told before it does. A snapshot
 * copies a partition anew only when something touched it.
 */
import { type CatalogRecord, type LogRecord, RecordType } from "./records.ts";
import type { State } from "./state.ts";

/**
 * To be asked before the record is applied.
 * @returns Partition numbers, perhaps one twice, perhaps one that is not there yet.
 * Cost: constant for bookings and prices; O(rows of the record + events) for a change of a layout.
 */
export function affectedPartitions(state: State, record: LogRecord): readonly number[] {
  return record.type === RecordType.CATALOG ? touchedByCatalog(state, record) : [record.partition];
}

function touchedByCatalog(state: State, { puts, removes }: CatalogRecord): number[] {
  const { events, prices } = state.catalog;
  const touched: number[] = [];
  const touchEvent = (eventId: string | undefined) => {
    const event = eventId === undefined ? undefined : events.get(eventId);
    if (event !== undefined) touched.push(event.partition);
  };
  const touchSchema = (schemaId: number) => {
    for (const event of events.values()) {
      if (event.schemaId === schemaId) touched.push(event.partition);
    }
  };
  for (const { table, key } of removes) {
    if (table === "events") touchEvent(String(key));
    if (table === "prices") touchEvent(prices.get(Number(key))?.eventId);
    if (table === "layouts") touchSchema(Number(key));
  }
  for (const { table, row } of puts) {
    if (table === "events") touched.push(row.partition);
    if (table === "layouts") touchSchema(row.id);
  }
  return touched;
}

/**
 * Partitions that end with the record and are not changed by it before: they stay for ever as they
 * are. To be asked before the record is applied. Cost: O(rows of the record).
 */
export function removedPartitions(
  { catalog }: State,
  { removes }: CatalogRecord,
): readonly number[] {
  const removed = new Set<number>();
  const partitionOf = (eventId: string | undefined) =>
    eventId === undefined ? undefined : catalog.events.get(eventId)?.partition;
  for (const { table, key } of removes) {
    if (table === "events") removed.add(partitionOf(String(key))!);
    // What goes on in the others is seen before they end.
    if (table === "layouts") break;
    if (table !== "prices") continue;
    const partition = partitionOf(catalog.prices.get(Number(key))?.eventId);
    if (partition !== undefined && !removed.has(partition)) break;
  }
  return [...removed];
}
