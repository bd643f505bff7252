/**
 * Turns records of the log into rows of the audit trail. It has no state of the engine: facts that
 * a record lacks are in the last row of the place.
 */
import { assert, unreachable } from "../../engine/assert.ts";
import type { CatalogPut } from "../../engine/catalog.ts";
import { MOVES, SeatState } from "../../engine/inventory/states.ts";
import {
  type Actor,
  type CatalogRecord,
  type LogRecord,
  type MoveRecord,
  type PriceRecord,
  RecordType,
} from "../../engine/records.ts";
import type { SqlFile } from "../disk/sqlite.ts";
import { AuditAreas } from "./areas.ts";
import type { AuditCatalog, AuditEvent } from "./catalog.ts";
import { changeLayout } from "./layout-change.ts";
import { writeReplies } from "./replies.ts";
import { type At, type AuditPlaces, NO_HOLD, seatMove } from "./places.ts";

const { UNPRICED, WITHDRAWN, ACTIVE, LOCKED, SOLD } = SeatState;
const RECORD = "INSERT INTO records VALUES (?, ?, ?, ?, ?)";
/** The cause of a transition that is not a move. */
const Call = { PRICES: "prices", PRICE_DELETED: "deleteprice", LAYOUT: "layout", EVENT: "event" };
/** For a record that changed what listings show, without a transition. */
const NO_CALL = "catalog";

export class AuditProjector {
  readonly #sql: SqlFile;
  readonly #catalog: AuditCatalog;
  readonly #places: AuditPlaces;
  readonly #areas: AuditAreas;
  /** Characters of reply bodies that were written. */
  replyChars = 0;
  /** Why the current catalog record has rows; null while it has none. */
  #call: string | null = null;

  constructor(sql: SqlFile, catalog: AuditCatalog, places: AuditPlaces) {
    this.#sql = sql;
    this.#catalog = catalog;
    this.#places = places;
    this.#areas = new AuditAreas(sql, places);
  }

  /**
   * Writes the rows of a record. Cost: O(transitions); for a layout or a removed price O(rows of
   * the affected events).
   */
  project(at: At, record: LogRecord): void {
    this.#places.begin();
    switch (record.type) {
      case RecordType.MOVE:
        this.#writeRecord(at, MOVES[record.move].name, record.actor);
        return this.#move(at, record);
      case RecordType.PRICE:
        this.#writeRecord(at, Call.PRICES, record.actor);
        return this.#prices(at, record);
      case RecordType.CATALOG:
        return this.#changeCatalog(at, record);
    }
    return unreachable(record);
  }

  #writeRecord({ sequence, timeMs }: At, call: string, { kind, id }: Actor): void {
    this.#sql.run(RECORD, sequence, timeMs, call, kind, id);
  }

  #move(at: At, record: MoveRecord): void {
    const { partition, session, holdType } = record;
    const { from, to } = MOVES[record.move];
    const ids = this.#idsOf(partition);
    const called = { hold: to === LOCKED ? at.sequence : 0, session, holdType };
    for (let i = 0; i < record.seats.length; i++) {
      const id = ids.seats[record.seats[i]!]!;
      const last = this.#places.seat(partition, id);
      assert(last.state === from, "a seat leaves the state that it is in");
      const held = from === LOCKED ? last : called;
      this.#places.write(partition, id, at, seatMove(from, to, last.priceId, held));
    }
    for (let i = 0; i < record.areas.length; i += 3) {
      const [index, slot, places] = record.areas.subarray(i, i + 3);
      const id = ids.areas[index!]!;
      const area = { partition, id, slot: slot! };
      this.#areas.move(at, area, { from, to, places: places!, held: called });
    }
  }

  #prices(at: At, { partition, runs, areas }: PriceRecord): void {
    const ids = this.#idsOf(partition);
    for (let i = 0; i < runs.length; i += 3) {
      const priceId = this.#catalog.priceIn(partition, runs[i]!);
      const end = runs[i + 1]! + runs[i + 2]!;
      for (let seat = runs[i + 1]!; seat < end; seat++) {
        this.#priceSeat(at, partition, ids.seats[seat]!, priceId);
      }
    }
    for (let i = 0; i < areas.length; i += 3) {
      const id = ids.areas[areas[i]!]!;
      const priceId = this.#catalog.priceIn(partition, areas[i + 1]!);
      this.#areas.price(at, { partition, id }, priceId, areas[i + 2]!);
    }
  }

  /** Like `Partition`: a seat without a price has no state, unless it is SOLD. */
  #priceSeat(at: At, partition: number, id: number, priceId: number): void {
    const last = this.#places.seat(partition, id);
    const from = last.state;
    assert(from !== null, "a priced seat is in the layout");
    let state: SeatState = from;
    if (priceId === 0 && from >= ACTIVE && from !== SOLD) state = WITHDRAWN;
    if (priceId !== 0 && (from === UNPRICED || from === WITHDRAWN)) state = ACTIVE;
    const held = from === LOCKED ? last : NO_HOLD;
    this.#places.write(partition, id, at, seatMove(from, state, priceId, held));
  }

  #changeCatalog(at: At, record: CatalogRecord): void {
    this.#call = null;
    this.replyChars += writeReplies(this.#sql, record);
    for (const { table, key } of record.removes) {
      if (table === "events") this.#removeEvent(at, String(key));
      if (table === "layouts") this.#removeLayout(at, Number(key));
      if (table === "prices") this.#removePrice(at, Number(key));
    }
    for (const put of record.puts) this.#put(at, put);
    if (this.#call !== null) this.#writeRecord(at, this.#call, record.actor);
  }

  #removeEvent(at: At, eventId: string): void {
    const event = this.#catalog.eventOf(eventId);
    assert(event !== undefined, "only an existing event is removed");
    this.#catalog.removeEvent(at, event);
    this.#areas.removeHolds(event.partition);
    this.#places.dropCache(event.partition);
    this.#call ??= NO_CALL;
  }

  #removeLayout(at: At, schemaId: number): void {
    this.#catalog.removeLayout(at, schemaId);
    this.#migrateEvents(at, schemaId);
  }

  #migrateEvents(at: At, schemaId: number): void {
    this.#call = Call.LAYOUT;
    for (const event of this.#catalog.eventsOfSchema(schemaId)) {
      this.#migrate(at, event, schemaId);
      this.#catalog.updateLayout(at, event);
    }
  }

  #removePrice(at: At, priceId: number): void {
    const partition = this.#catalog.partitionOfPrice(priceId);
    this.#catalog.removePrice(at, priceId);
    this.#call ??= NO_CALL;
    if (partition === undefined || !this.#catalog.hasEvent(partition)) return;
    for (const [id, facts] of this.#places.all(partition)) {
      if (facts.priceId !== priceId) continue;
      if (facts.counts === null) this.#priceSeat(at, partition, id, 0);
      else this.#areas.price(at, { partition, id }, 0, 0);
      this.#call = Call.PRICE_DELETED;
    }
  }

  #put(at: At, put: CatalogPut): void {
    if (put.table === "layouts") {
      this.#catalog.putLayout(at, put.row);
      this.#migrateEvents(at, put.row.id);
    }
    if (put.table === "organizations" && this.#catalog.putOrganization(at, put.row)) {
      this.#call ??= NO_CALL;
    }
    if (put.table === "events") {
      const existing = this.#catalog.eventOf(put.row.id);
      if (existing !== undefined) this.#migrate(at, existing, put.row.schemaId);
      this.#catalog.putEvent(at, put.row);
      this.#call ??= NO_CALL;
    }
    if (put.table === "prices") {
      this.#catalog.putPrice(at, put.row);
      this.#call ??= NO_CALL;
    }
  }

  /** Moves an event to the schema's present layout, unless it has that already. */
  #migrate(at: At, { partition, layoutId }: AuditEvent, schemaId: number): void {
    const newId = this.#catalog.layoutOf(schemaId);
    if (newId === layoutId) return;
    const before = this.#catalog.placesOf(layoutId);
    const after = this.#catalog.placesOf(newId);
    changeLayout({ places: this.#places, areas: this.#areas }, at, partition, { before, after });
    if (this.#call !== Call.LAYOUT) this.#call = Call.EVENT;
  }

  #idsOf(partition: number) {
    return this.#catalog.placesOf(this.#catalog.event(partition).layoutId);
  }
}
