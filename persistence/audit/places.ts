/**
 * Writes transitions of seats and areas, and knows the last one of each place of the events that
 * are in use. Transitions are kept in memory until the transaction ends.
 */
import { type Actor, ActorKind } from "../../engine/records.ts";
import type { SqlFile } from "../disk/sqlite.ts";
import { appendBlocks, type PlaceTable, rowsAfterMap, tableAt, writeMap } from "./block-file.ts";
import { extendRuns } from "./lookups.ts";
import { RowBuffer } from "./block.ts";
import { type At, type CallFacts, keyOf, type Move, NO_FACTS } from "./rows.ts";
import type { PlaceIds } from "./catalog.ts";
import { finish } from "./slices.ts";

/** Places that stay in memory between two transactions or events, about a hundred bytes each. */
export const PLACES_MAX = 2_000_000;
/** A map is stored after so many rows, at least ... */
const MAP_ROWS_MIN = 16_384;
/** ... and after so many for each place in it, so maps take up little of the file. */
const MAP_ROWS_PER_PLACE = 4;

/** An event that is in use. */
export class LiveEvent {
  readonly partition: number;
  readonly table: PlaceTable;
  rows = new RowBuffer();
  rowsSinceMap: number;
  #ids: PlaceIds | null = null;
  /** Index: seat of `#ids`. Value: the slot in the table; -1 while it is not known. */
  #slots = new Int32Array();

  constructor(partition: number, table: PlaceTable, rowsSinceMap: number) {
    this.partition = partition;
    this.table = table;
    this.rowsSinceMap = rowsSinceMap;
  }

  /** @returns The slot of a seat by its index in a layout. */
  slotOfSeat(ids: PlaceIds, seat: number): number {
    if (ids !== this.#ids) {
      this.#ids = ids;
      this.#slots = new Int32Array(ids.seats.length).fill(-1);
    }
    const known = this.#slots[seat]!;
    if (known >= 0) return known;
    return (this.#slots[seat] = this.table.slotOf(keyOf(ids.seats[seat]!, false)));
  }

  /** @returns The slot of a seat by its id. */
  seat(id: number): number {
    return this.table.slotOf(keyOf(id, false));
  }

  area(id: number): number {
    return this.table.slotOf(keyOf(id, true));
  }
}

export class AuditPlaces {
  readonly #sql: SqlFile;
  readonly #placesMax: number;
  #live = new Map<number, LiveEvent>();
  /** Events that have rows in memory. */
  readonly #changed = new Set<LiveEvent>();
  /** Those that have rows of the present record. */
  #touched: LiveEvent[] = [];
  /** The largest buffer so far: without it, each transaction would leave megabytes of garbage. */
  #spare: RowBuffer | null = null;
  /** The record whose transitions follow, and who caused it. */
  #at: At = { sequence: 0, timeMs: 0 };
  #actor: Actor = { kind: ActorKind.SYSTEM, id: 0 };
  /** Rows written so far. */
  written = 0;

  constructor(sql: SqlFile, placesMax = PLACES_MAX) {
    this.#sql = sql;
    this.#placesMax = placesMax;
  }

  /** Places in memory. */
  get count(): number {
    let count = 0;
    for (const { table } of this.#live.values()) count += table.size;
    return count;
  }

  /** Cost: O(places of the event), and of the rows since its last map, when it is not in use. */
  event(partition: number): LiveEvent {
    let event = this.#live.get(partition);
    if (event !== undefined) return event;
    const table = finish(tableAt(this.#sql, partition, Number.MAX_SAFE_INTEGER, Infinity));
    event = new LiveEvent(partition, table, rowsAfterMap(this.#sql, partition));
    this.#live.set(partition, event);
    return event;
  }

  /** To be called before the first row of a record. */
  begin(at: At, actor: Actor): void {
    this.#at = at;
    this.#actor = actor;
    this.#touched = [];
  }

  write(event: LiveEvent, slot: number, move: Move): void {
    const at = this.#at;
    const { table } = event;
    if (event.rows.lastSequence !== at.sequence) this.#beginRows(event);
    event.rows.addRow(table.keyAt(slot), move);
    table.put(slot, at.timeMs, move);
    this.written += 1;
  }

  #beginRows(event: LiveEvent): void {
    if (event.rows.rowCount === 0 && this.#spare !== null) {
      event.rows = this.#spare;
      this.#spare = null;
    }
    event.rows.addRecord(this.#at, 0, this.#actor);
    this.#changed.add(event);
    this.#touched.push(event);
  }

  /** To be called after the last row of a record. @param call - A `Move` or a `Call`. */
  end(call: number, facts: CallFacts = NO_FACTS): void {
    for (const { rows } of this.#touched) rows.setCall(call, facts);
  }

  /**
   * Writes the rows of the present record so far, when there are too many places in memory: a
   * layout may have hundreds of events. Those that have some get no more of them.
   *
   * @param call - As in `end`.
   */
  makeRoom(call: number): void {
    if (this.count <= this.#placesMax) return;
    this.end(call);
    this.#touched = [];
    this.flush();
  }

  /** Writes all rows to the file. */
  flush(): void {
    for (const event of this.#changed) {
      const { partition, rows, table } = event;
      const { lastSequence } = rows;
      event.rows = new RowBuffer();
      event.rowsSinceMap += rows.rowCount;
      appendBlocks(this.#sql, partition, rows);
      rows.clear();
      if (rows.rowRoom > (this.#spare?.rowRoom ?? 0)) this.#spare = rows;
      extendRuns(this.#sql, partition);
      const isLive = this.#live.get(partition) === event;
      const isDue = Math.max(MAP_ROWS_MIN, MAP_ROWS_PER_PLACE * table.size) <= event.rowsSinceMap;
      // `makeRoom` comes here in the middle of a record: the event may get rows of it afterwards.
      if (isLive && isDue) this.storeMap(event, lastSequence);
    }
    this.#changed.clear();
    if (this.count > this.#placesMax) this.#live = new Map();
  }

  /** Stores the places of the event as they are after the record. */
  storeMap(event: LiveEvent, sequence: number): void {
    writeMap(this.#sql, event.partition, sequence, event.table);
    event.rowsSinceMap = 0;
  }

  /** The event is no longer in use. Its rows are written nevertheless. */
  drop(partition: number): void {
    this.#live.delete(partition);
  }
}
