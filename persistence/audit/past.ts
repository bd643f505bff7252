/** The inventory of an event as it was after a record, built from the audit trail. */
import type { PriceRow } from "../../engine/catalog.ts";
import { Partition } from "../../engine/inventory/partition.ts";
import { SeatState } from "../../engine/inventory/states.ts";
import { buildLayout } from "../../engine/layout/layout.ts";
import type { ListedEvent } from "../../engine/queries/listed-event.ts";
import type { SqlFile, SqlRow } from "../disk/sqlite.ts";
import { readDocument } from "./catalog.ts";
import { LAST_OF_ALL } from "./places.ts";

/** An event as it was, without its holds, which are not part of a map. */
export interface PastEvent extends ListedEvent {
  /** Whether ACTIVE seats could be booked. */
  readonly isOnSale: boolean;
}

const VERSION = `SELECT * FROM events WHERE partition = ? AND sequence <= ?
  ORDER BY sequence DESC LIMIT 1`;
const CREATED = "SELECT timeMs FROM events WHERE partition = ? ORDER BY sequence LIMIT 1";
const SWITCHED = `SELECT timeMs, isOn FROM switches
  WHERE owner = ? AND ownerId = ? AND sequence <= ? ORDER BY sequence DESC LIMIT 1`;
const PRICES = `SELECT *, max(sequence) FROM prices WHERE partition = ? AND sequence <= ?
  GROUP BY id`;

/**
 * @param number - Of the partition. Cost: O(seats and rows of the event).
 * @returns null when the event did not exist after the record.
 */
export function eventAt(sql: SqlFile, number: number, sequence: number): PastEvent | null {
  const version = sql.row(VERSION, number, sequence);
  if (version === undefined || version["status"] === null) return null;
  const layout = buildLayout(readDocument(sql, Number(version["layoutId"])));
  const created = sql.row(CREATED, number);
  const partition = new Partition(layout, Number(created!["timeMs"]));
  const prices = new Map<number, PriceRow>();
  const slots = new Map<number, number>([[0, 0]]);
  for (const { id, slot, name } of sql.rows(PRICES, number, sequence)) {
    if (name === null) continue;
    const eventId = String(version["eventId"]);
    const row = { id: Number(id), eventId, slot: Number(slot), name: name as string };
    prices.set(row.slot, { ...row, externalId: null });
    slots.set(row.id, row.slot);
  }
  for (const row of sql.list(LAST_OF_ALL, number, sequence)) {
    const slot = slots.get(Number(row["priceId"]))!;
    if (row["active"] === null) placeSeat(partition, row, slot);
    else placeArea(partition, row, slot);
  }
  const published = sql.row(SWITCHED, "event", number, sequence);
  const enabled = sql.row(SWITCHED, "organization", Number(version["organizationId"]), sequence);
  const timesMs = [published, enabled].map((row) => Number(row?.["timeMs"] ?? 0));
  const isOnSale = version["status"] === "PUBLISHED" && enabled?.["isOn"] !== 0;
  return { partition, prices, changedAtMs: Math.max(...timesMs), isOnSale };
}

function placeSeat(partition: Partition, row: SqlRow, slot: number): void {
  const seat = partition.layout.seatIndexes.get(Number(row["placeId"]));
  if (seat === undefined || row["toState"] === null) return;
  partition.state[seat] = Number(row["toState"]);
  partition.price[seat] = slot;
  partition.changedAtMs[seat] = Number(row["timeMs"]);
  partition.changes.touch(seat);
}

function placeArea({ layout, areas }: Partition, row: SqlRow, slot: number): void {
  const area = layout.areaIndexes.get(Number(row["placeId"]));
  if (area === undefined || row["toState"] === null) return;
  areas.price[area] = slot;
  areas.changedAtMs[area] = Number(row["timeMs"]);
  areas.add(area, SeatState.ACTIVE, Number(row["active"]));
  areas.add(area, SeatState.LOCKED, Number(row["locked"]));
  areas.add(area, SeatState.SOLD, Number(row["sold"]));
  areas.add(area, SeatState.BLOCKED, Number(row["blocked"]));
}
