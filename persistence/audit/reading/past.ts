/** The inventory of an event as it was after a record, built from the audit trail. */
import type { PriceRow } from "../../../engine/catalog.ts";
import { Partition } from "../../../engine/inventory/partition.ts";
import { SeatState } from "../../../engine/inventory/states.ts";
import { buildLayout, type Layout } from "../../../engine/layout/layout.ts";
import type { ListedEvent } from "../../../engine/queries/listed-event.ts";
import type { SqlFile, SqlRow } from "../../disk/sqlite.ts";
import { readDocument } from "../catalog.ts";
import type { Slices } from "./slices.ts";

/** Seats that one slice reads: about 30 ms. */
const SLICE_SEATS = 4_000;
/** From this many bytes of its document on, a layout is large: about 20,000 seats. */
const LARGE_BYTES = 2_000_000;
/** Maps that are built at a time, because each takes up memory. */
export const LARGE_MAX = 1;
export const SMALL_MAX = 10;

/** An event as it was, without its holds, which are not part of a map. */
export interface PastEvent extends ListedEvent {
  readonly layoutId: number;
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
const LAYOUT_BYTES = "SELECT octet_length(document) AS bytes FROM layouts WHERE id = ?";
const LAST = `FROM transitions WHERE partition = ? AND placeId = ? AND sequence <= ?
  ORDER BY sequence DESC, ordinal DESC LIMIT 1`;
const LAST_OF_SEAT = `SELECT toState, priceId, timeMs ${LAST}`;
const LAST_OF_AREA = `SELECT toState, priceId, timeMs, active, locked, sold, blocked ${LAST}`;

/** Builds past maps, so many at a time. */
export class PastEvents {
  readonly #sql: SqlFile;
  #large = 0;
  #small = 0;

  constructor(sql: SqlFile) {
    this.#sql = sql;
  }

  /**
   * @param number - Of the partition. Cost: O(seats of the event), whatever happened to them.
   * @param layoutOf - Finds a layout that is in memory already.
   * @returns null when the event did not exist after the record.
   */
  *at(
    number: number,
    sequence: number,
    layoutOf: (id: number) => Layout | undefined,
  ): Slices<PastEvent | null> {
    const version = this.#sql.row(VERSION, number, sequence);
    if (version === undefined || version["status"] === null) return null;
    const layoutId = Number(version["layoutId"]);
    const bytes = Number(this.#sql.row(LAYOUT_BYTES, layoutId)?.["bytes"] ?? 0);
    const isLarge = bytes >= LARGE_BYTES;
    while (isLarge ? this.#large >= LARGE_MAX : this.#small >= SMALL_MAX) yield;
    if (isLarge) this.#large += 1;
    else this.#small += 1;
    try {
      const layout = layoutOf(layoutId) ?? buildLayout(readDocument(this.#sql, layoutId));
      yield;
      return yield* this.#build(layout, version, { number, sequence });
    } finally {
      if (isLarge) this.#large -= 1;
      else this.#small -= 1;
    }
  }

  *#build(
    layout: Layout,
    version: SqlRow,
    { number, sequence }: { readonly number: number; readonly sequence: number },
  ): Slices<PastEvent> {
    const sql = this.#sql;
    const partition = new Partition(layout, Number(sql.row(CREATED, number)?.["timeMs"]));
    const prices = new Map<number, PriceRow>();
    const slots = new Map<unknown, number>([[0, 0]]);
    for (const { id, slot, name } of sql.list(PRICES, number, sequence)) {
      if (name === null) continue;
      const eventId = String(version["eventId"]);
      const row = { id: Number(id), eventId, slot: Number(slot), name: name as string };
      prices.set(row.slot, { ...row, externalId: null });
      slots.set(id, row.slot);
    }
    for (const [area, { id }] of layout.areas.entries()) {
      const row = sql.row(LAST_OF_AREA, number, id, sequence);
      if (row !== undefined) placeArea(partition, area, row, slots.get(row["priceId"])!);
    }
    const changed: number[] = [];
    for (const [seat, id] of layout.seatIds.entries()) {
      const row = sql.row(LAST_OF_SEAT, number, id, sequence);
      if (row !== undefined && placeSeat(partition, seat, row, slots.get(row["priceId"])!)) {
        changed.push(seat);
      }
      if (seat % SLICE_SEATS === SLICE_SEATS - 1) yield;
    }
    const { changedAtMs } = partition;
    // Seats that changed at the same time may come in any order.
    changed.sort((a, b) => changedAtMs[a]! - changedAtMs[b]!);
    for (const seat of changed) partition.changes.touch(seat);
    const published = sql.row(SWITCHED, "event", number, sequence);
    const enabled = sql.row(SWITCHED, "organization", Number(version["organizationId"]), sequence);
    const timesMs = [published, enabled].map((row) => Number(row?.["timeMs"] ?? 0));
    const isOnSale = version["status"] === "PUBLISHED" && enabled?.["isOn"] !== 0;
    const layoutId = Number(version["layoutId"]);
    return { partition, prices, layoutId, changedAtMs: Math.max(...timesMs), isOnSale };
  }
}

/** @returns Whether the seat existed. */
function placeSeat(partition: Partition, seat: number, row: SqlRow, slot: number): boolean {
  if (row["toState"] === null) return false;
  partition.state[seat] = Number(row["toState"]);
  partition.price[seat] = slot;
  partition.changedAtMs[seat] = Number(row["timeMs"]);
  return true;
}

function placeArea({ areas }: Partition, area: number, row: SqlRow, slot: number): void {
  if (row["toState"] === null) return;
  areas.price[area] = slot;
  areas.changedAtMs[area] = Number(row["timeMs"]);
  areas.add(area, SeatState.ACTIVE, Number(row["active"]));
  areas.add(area, SeatState.LOCKED, Number(row["locked"]));
  areas.add(area, SeatState.SOLD, Number(row["sold"]));
  areas.add(area, SeatState.BLOCKED, Number(row["blocked"]));
}
