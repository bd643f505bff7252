/**
 * Finds the partitions that a record will change. Both functions must be called before the record
 * is applied. A snapshot copies a partition again only after a record has affected it.
 */
import type { EventRow } from "./catalog.ts";
import { type CatalogRecord, type LogRecord, RecordType } from "./records.ts";
import type { State } from "./state.ts";

/**
 * @returns Partition numbers; one may occur twice, or belong to a partition yet to be created.
 * Cost: constant for bookings and prices; O(rows of the record + events) for a change of a layout.
 */
export function affectedPartitions(state: State, record: LogRecord): readonly number[] {
  return record.type === RecordType.CATALOG ? affectedByCatalog(state, record) : [record.partition];
}

function affectedByCatalog({ catalog }: State, { puts, removes }: CatalogRecord): number[] {
  const { events, prices } = catalog;
  const affected: number[] = [];
  const addEvent = (eventId: string | undefined) => {
    const event = events.get(eventId ?? "");
    if (event !== undefined) affected.push(event.partition);
  };
  const addEventsOf = (schemaId: number) => {
    for (const event of events.values()) {
      if (event.schemaId === schemaId) affected.push(event.partition);
    }
  };
  for (const { table, key } of removes) {
    if (table === "events") addEvent(String(key));
    if (table === "prices") addEvent(prices.get(Number(key))?.eventId);
    if (table === "layouts") addEventsOf(Number(key));
  }
  for (const { table, row } of puts) {
    if (table === "events") affected.push(row.partition);
    if (table === "layouts") addEventsOf(row.id);
  }
  return affected;
}

/**
 * @returns The partitions that the record removes, or replaces because of a new layout, without
 * changing them first: their contents stay as they are. Cost: O(rows of the record + events).
 */
export function replacedPartitions(
  { catalog }: State,
  { puts, removes }: CatalogRecord,
): readonly number[] {
  const { events, prices } = catalog;
  const replaced = new Set<number>();
  const changed = new Set<number>();
  const replace = (event: EventRow) => {
    if (!changed.has(event.partition)) replaced.add(event.partition);
  };
  const change = (event: EventRow | undefined) => {
    if (event !== undefined && !replaced.has(event.partition)) changed.add(event.partition);
  };
  const replaceEventsOf = (schemaId: number) => {
    for (const event of events.values()) if (event.schemaId === schemaId) replace(event);
  };
  for (const { table, key } of removes) {
    if (table === "events") replace(events.get(String(key))!);
    if (table === "layouts") replaceEventsOf(Number(key));
    if (table === "prices") change(events.get(prices.get(Number(key))?.eventId ?? ""));
  }
  for (const { table, row } of puts) {
    if (table === "events") change(row);
    if (table === "layouts") replaceEventsOf(row.id);
  }
  return [...replaced];
}
