/** The inventory of an event as it was after a record, built from the audit trail. */
import type { PriceRow } from "../../../engine/catalog.ts";
import { Partition } from "../../../engine/inventory/partition.ts";
import { BOOKING_STATES } from "../../../engine/inventory/states.ts";
import { buildLayout, type Layout } from "../../../engine/layout/layout.ts";
import type { ListedEvent } from "../../../engine/queries/listed-event.ts";
import type { SqlFile, SqlRow } from "../../disk/sqlite.ts";
import { tableAt } from "../blocks/block-file.ts";
import type { PlaceTable } from "../blocks/place-table.ts";
import { keyOf } from "../blocks/rows.ts";
import { readDocument } from "../catalog.ts";
import { lastChangeOf } from "./event-versions.ts";
import { SLICE_ROWS, type Slices } from "./slices.ts";

/** Seats that one slice places. */
const SLICE_SEATS = 4_000;
/** From this many bytes of its document on, a layout is large: about 20,000 seats. */
const LARGE_BYTES = 2_000_000;
/** Maps that are built at a time, because each takes up memory. */
export const LARGE_MAX = 1;
export const SMALL_MAX = 10;

/** An event as it was, without its holds, which are not part of a map. */
export interface PastEvent extends ListedEvent {
  readonly layoutId: number;
  /** The last record that had changed the event. */
  readonly sequence: number;
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
/** Builds past maps, so many at a time. */
export class PastEvents {
  readonly #sql: SqlFile;
  #large = 0;
  #small = 0;

  constructor(sql: SqlFile) {
    this.#sql = sql;
  }

  /**
   * @param number - Of the partition. Cost: O(seats of the event, and rows since its last map).
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
    const slots = new Map<number, number>([[0, 0]]);
    for (const { id, slot, name } of sql.list(PRICES, number, sequence)) {
      if (name === null) continue;
      const eventId = String(version["eventId"]);
      const row = { id: Number(id), eventId, slot: Number(slot), name: name as string };
      prices.set(row.slot, { ...row, renamedAtMs: 0, externalId: null });
      slots.set(row.id, row.slot);
    }
    const table = yield* tableAt(sql, number, sequence, SLICE_ROWS);
    for (const [area, { id }] of layout.areas.entries()) {
      const slot = table.find(keyOf(id, true));
      if (slot === undefined) continue;
      partition.areas.price[area] = slots.get(table.priceId(slot))!;
      placeArea(partition, area, table, slot);
    }
    const changed: number[] = [];
    for (const [seat, id] of layout.seatIds.entries()) {
      const slot = table.find(keyOf(id, false));
      if (slot !== undefined) {
        partition.state[seat] = table.state(slot)!;
        partition.price[seat] = slots.get(table.priceId(slot))!;
        partition.changedAtMs[seat] = table.timeMs(slot);
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
    const organizationId = Number(version["organizationId"]);
    const last = lastChangeOf({ sql, partition: number, organizationId }, sequence);
    const facts = { sequence: last, changedAtMs: Math.max(...timesMs), isOnSale };
    return { partition, prices, layoutId, ...facts };
  }
}

function placeArea({ areas }: Partition, area: number, table: PlaceTable, slot: number): void {
  areas.changedAtMs[area] = table.timeMs(slot);
  const counts = table.counts(slot);
  for (const [i, state] of BOOKING_STATES.entries()) areas.add(area, state, counts[i]!);
}
