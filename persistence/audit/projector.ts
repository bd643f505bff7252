/**
 * Turns records of the log into rows of the audit trail. It has no state of the engine: facts that
 * a record lacks are in the last row of the place.
 */
import { assert, unreachable } from "../../engine/assert.ts";
import type { CatalogPut } from "../../engine/catalog.ts";
import { MOVES, SeatState } from "../../engine/inventory/states.ts";
import {
  type CatalogRecord,
  type LogRecord,
  type MoveRecord,
  type PriceRecord,
  RecordType,
} from "../../engine/records.ts";
import type { SqlFile } from "../disk/sqlite.ts";
import { AuditAreas } from "./areas.ts";
import type { AuditCatalog, AuditEvent } from "./catalog.ts";
import {
  type At,
  Call,
  type CallFacts,
  isAreaKey,
  NO_HOLD,
  placeOf,
  seatMove,
} from "./blocks/rows.ts";
import { changeLayout } from "./layout-change.ts";
import type { AuditPlaces, LiveEvent } from "./places.ts";
import { RecordTimes } from "./file.ts";
import { writeReplies } from "./replies.ts";

const { UNPRICED, WITHDRAWN, ACTIVE, LOCKED, SOLD } = SeatState;
/** For a record that changed what listings show, without a transition. */
const NO_CALL = 0;

export class AuditProjector {
  readonly #sql: SqlFile;
  readonly #catalog: AuditCatalog;
  readonly #places: AuditPlaces;
  readonly #areas: AuditAreas;
  readonly #times: RecordTimes;
  /** The same object for all moves of seats, because most records of a log are such moves. */
  readonly #seat = seatMove(null, null, 0, NO_HOLD);
  /** Characters of reply bodies that were written. */
  replyChars = 0;
  /** Why the current catalog record has rows; null while it has none. */
  #call: number | null = null;

  constructor(sql: SqlFile, catalog: AuditCatalog, places: AuditPlaces) {
    this.#sql = sql;
    this.#catalog = catalog;
    this.#places = places;
    this.#areas = new AuditAreas(sql, places);
    this.#times = new RecordTimes(sql);
  }

  /**
   * Adds the rows of a record. Cost: O(transitions); for a layout or a removed price O(places of
   * the affected events).
   */
  project(at: At, record: LogRecord): void {
    this.#places.begin(at, record.actor);
    switch (record.type) {
      case RecordType.MOVE:
        this.#times.add(at);
        this.#move(at, record);
        return this.#places.end(record.move, factsOf(record));
      case RecordType.PRICE:
        this.#times.add(at);
        this.#prices(record);
        return this.#places.end(Call.PRICES);
      case RecordType.CATALOG:
        return this.#changeCatalog(at, record);
    }
    return unreachable(record);
  }

  /** Writes what was added to the file. */
  flush(): void {
    this.#places.flush();
    this.#areas.flush();
    this.#times.flush();
  }

  #move(at: At, record: MoveRecord): void {
    const { partition, session, holdType, seats, areas } = record;
    const { from, to } = MOVES[record.move];
    const ids = this.#idsOf(partition);
    const event = this.#places.event(partition);
    const { table } = event;
    const hold = to === LOCKED ? at.sequence : 0;
    const move = this.#seat;
    move.from = from;
    move.state = to;
    move.hold = hold;
    move.session = session;
    move.holdType = holdType;
    for (let i = 0; i < seats.length; i++) {
      const slot = event.slotOfSeat(ids, seats[i]!);
      assert(table.state(slot) === from, "a seat leaves the state that it is in");
      move.priceId = table.priceId(slot);
      if (from === LOCKED) table.copyHeld(slot, move);
      this.#places.write(event, slot, move);
    }
    for (let i = 0; i < areas.length; i += 3) {
      const id = ids.areas[areas[i]!]!;
      const area = { event, id, slot: areas[i + 1]! };
      const held = { hold, session, holdType };
      this.#areas.move(area, { from, to, places: areas[i + 2]!, held });
    }
  }

  #prices({ partition, runs, areas }: PriceRecord): void {
    const ids = this.#idsOf(partition);
    const event = this.#places.event(partition);
    for (let i = 0; i < runs.length; i += 3) {
      const priceId = this.#catalog.priceIn(partition, runs[i]!);
      const end = runs[i + 1]! + runs[i + 2]!;
      for (let seat = runs[i + 1]!; seat < end; seat++) {
        this.#priceSeat(event, event.slotOfSeat(ids, seat), priceId);
      }
    }
    for (let i = 0; i < areas.length; i += 3) {
      const id = ids.areas[areas[i]!]!;
      const priceId = this.#catalog.priceIn(partition, areas[i + 1]!);
      this.#areas.price({ event, id }, priceId, areas[i + 2]!);
    }
  }

  /** Like `Partition`: a seat without a price has no state, unless it is SOLD. */
  #priceSeat(event: LiveEvent, slot: number, priceId: number): void {
    const { table } = event;
    const from = table.state(slot);
    assert(from !== null, "a priced seat is in the layout");
    let state: SeatState = from;
    if (priceId === 0 && from >= ACTIVE && from !== SOLD) state = WITHDRAWN;
    if (priceId !== 0 && (from === UNPRICED || from === WITHDRAWN)) state = ACTIVE;
    const held = from === LOCKED ? table.held(slot) : NO_HOLD;
    this.#places.write(event, slot, seatMove(from, state, priceId, held));
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
    if (this.#call === null) return;
    this.#times.add(at);
    this.#places.end(this.#call);
  }

  #removeEvent(at: At, eventId: string): void {
    const event = this.#catalog.eventOf(eventId);
    assert(event !== undefined, "only an existing event is removed");
    this.#catalog.removeEvent(at, event);
    this.#areas.removeHolds(event.partition);
    this.#places.drop(event.partition);
    this.#call ??= NO_CALL;
  }

  #removeLayout(at: At, schemaId: number): void {
    this.#catalog.removeLayout(at, schemaId);
    this.#migrateEvents(at, schemaId);
  }

  #migrateEvents(at: At, schemaId: number): void {
    this.#call = Call.LAYOUT;
    const events = this.#catalog.eventsOfSchema(schemaId);
    for (const event of events) {
      this.#migrate(event, schemaId);
      this.#catalog.updateLayout(at, event);
      this.#places.makeRoom(Call.LAYOUT);
    }
    for (const { layoutId } of events) this.#catalog.forgetPlaces(layoutId);
  }

  #removePrice(at: At, priceId: number): void {
    const partition = this.#catalog.partitionOfPrice(priceId);
    this.#catalog.removePrice(at, priceId);
    this.#call ??= NO_CALL;
    if (partition === undefined || !this.#catalog.hasEvent(partition)) return;
    const event = this.#places.event(partition);
    for (const [key, slot] of event.table.list()) {
      if (event.table.priceId(slot) !== priceId) continue;
      if (isAreaKey(key)) this.#areas.price({ event, id: placeOf(key) }, 0, 0);
      else this.#priceSeat(event, slot, 0);
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
      if (existing !== undefined) this.#migrate(existing, put.row.schemaId);
      this.#catalog.putEvent(at, put.row);
      this.#call ??= NO_CALL;
    }
    if (put.table === "prices") {
      this.#catalog.putPrice(at, put.row);
      this.#call ??= NO_CALL;
    }
  }

  /** Moves an event to the schema's present layout, unless it has that already. */
  #migrate({ partition, layoutId }: AuditEvent, schemaId: number): void {
    const newId = this.#catalog.layoutOf(schemaId);
    if (newId === layoutId) return;
    const before = this.#catalog.placesOf(layoutId);
    const after = this.#catalog.placesOf(newId);
    const parts = { places: this.#places, areas: this.#areas };
    changeLayout(parts, this.#places.event(partition), { before, after });
    if (this.#call !== Call.LAYOUT) this.#call = Call.EVENT;
  }

  #idsOf(partition: number) {
    return this.#catalog.placesOf(this.#catalog.event(partition).layoutId);
  }
}

function factsOf({ expiresAtMs, session }: MoveRecord): CallFacts {
  return { endsAtMs: expiresAtMs, isNamed: session !== "" };
}
