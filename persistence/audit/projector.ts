/**
 * Turns records of the log into rows of the audit trail. It has no state of the engine: facts that
 * a record lacks are in the last row of the place.
 */
import { assert, unreachable } from "../../engine/assert.ts";
import type { CatalogPut, EventRow } from "../../engine/catalog.ts";
import { NONE } from "../../engine/constants.ts";
import type { Partition } from "../../engine/inventory/partition.ts";
import { BOOKING_STATES, MOVES, SeatState } from "../../engine/inventory/states.ts";
import {
  type CatalogRecord,
  type LogRecord,
  type MoveRecord,
  type PriceRecord,
  RecordType,
} from "../../engine/records.ts";
import type { State } from "../../engine/state.ts";
import type { SqlFile } from "../disk/sqlite.ts";
import type { AuditCatalog, AuditEvent, PlaceIds } from "./catalog.ts";
import { RecordTimes, writeReplies } from "./file.ts";
import type { AuditPlaces, LiveEvent } from "./places.ts";
import {
  type At,
  Call,
  type CallFacts,
  type Counts,
  type Held,
  isAreaKey,
  NO_HOLD,
  placeOf,
  seatMove,
} from "./rows.ts";

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

// Transitions of places in areas, and the places that each hold has in them, by hold slot.

const { BLOCKED } = SeatState;

/** An area of an event. */
interface AreaAt {
  readonly event: LiveEvent;
  readonly id: number;
}

/** The places that a hold has in an area. */
interface AreaHold extends Held {
  readonly areaId: number;
  readonly slot: number;
  readonly places: number;
}

interface AreaMove {
  readonly from: SeatState;
  readonly to: SeatState;
  readonly places: number;
  /** Of the hold that the places leave or join; otherwise as in the call. */
  readonly held: Held;
}

type HoldsByKey = Map<string, AreaHold>;

export class AuditAreas {
  readonly #sql: SqlFile;
  readonly #places: AuditPlaces;
  /** By partition, those that are in use. */
  readonly #holds = new Map<number, HoldsByKey>();
  /** By partition, then by key: what the file does not have yet; null for what it must remove. */
  readonly #changes = new Map<number, Map<string, AreaHold | null>>();

  constructor(sql: SqlFile, places: AuditPlaces) {
    this.#sql = sql;
    this.#places = places;
  }

  /** @param move - Its `held` is that of the call; a release replaces it by that of the hold. */
  move(area: AreaAt & { slot: number }, move: AreaMove): void {
    const { event, id, slot } = area;
    const { from, to, places } = move;
    if (to === LOCKED) this.#put(event.partition, { areaId: id, slot, places, ...move.held });
    const held = from === LOCKED ? this.#release(area, places) : move.held;
    this.#write(area, { ...move, held });
  }

  /**
   * Like `Partition`: a priced area has the given capacity, an area without a price only its sold
   * places. There is always a row, because the price may have changed without the places.
   * @param capacity - Ignored without a price.
   */
  price(area: AreaAt, priceId: number, capacity: number): void {
    const write = (move: AreaMove) => this.#write(area, move, priceId);
    if (priceId === 0) this.#endHolds(area, write);
    const [active, locked, sold, blocked] = countsOf(area);
    if (priceId === 0 && blocked > 0) {
      write({ from: BLOCKED, to: WITHDRAWN, places: blocked, held: NO_HOLD });
    }
    const onSale = priceId === 0 ? 0 : capacity - locked - sold - blocked;
    const more = onSale - active;
    const from = more > 0 ? UNPRICED : ACTIVE;
    const to = more < 0 || priceId === 0 ? WITHDRAWN : ACTIVE;
    write({ from, to, places: Math.abs(more), held: NO_HOLD });
  }

  /** The area was added to the layout. */
  add({ event, id }: AreaAt): void {
    const counts: Counts = [0, 0, 0, 0];
    const row = { from: null, state: UNPRICED, priceId: 0, ...NO_HOLD, places: 0, counts };
    this.#places.write(event, event.area(id), row);
  }

  /** The area was removed from the layout, together with its places in whatever state. */
  remove(area: AreaAt): void {
    const write = (move: AreaMove) => this.#write(area, { ...move, to: null }, 0);
    this.#endHolds(area, write);
    const counts = countsOf(area);
    for (const from of [ACTIVE, SOLD, BLOCKED] as const) {
      const places = counts[from - ACTIVE]!;
      if (places > 0) write({ from, to: WITHDRAWN, places, held: NO_HOLD });
    }
    // The last row of the area, whether it had places or not.
    write({ from: UNPRICED, to: WITHDRAWN, places: 0, held: NO_HOLD });
  }

  /** All places in areas of the event that are held. */
  holds(partition: number): AreaHold[] {
    return [...this.#holdsOf(partition).values()];
  }

  replaceHolds(partition: number, holds: readonly AreaHold[]): void {
    this.removeHolds(partition);
    for (const hold of holds) this.#put(partition, hold);
  }

  removeHolds(partition: number): void {
    for (const hold of this.holds(partition)) this.#remove(partition, hold);
  }

  /** Writes the holds to the file. */
  flush(): void {
    const put = "INSERT OR REPLACE INTO areaHolds VALUES (?, ?, ?, ?, ?, ?, ?)";
    const remove = "DELETE FROM areaHolds WHERE partition = ? AND areaId = ? AND slot = ?";
    for (const [partition, changes] of this.#changes) {
      for (const [key, hold] of changes) {
        if (hold === null) {
          this.#sql.run(remove, partition, ...key.split(" ").map(Number));
        } else {
          const { areaId, slot, session, holdType, places } = hold;
          this.#sql.run(put, partition, areaId, slot, hold.hold, session, holdType, places);
        }
      }
    }
    this.#changes.clear();
    this.#holds.clear();
  }

  #holdsOf(partition: number): HoldsByKey {
    let holds = this.#holds.get(partition);
    if (holds !== undefined) return holds;
    this.#holds.set(partition, (holds = new Map()));
    const rows = this.#sql.list("SELECT * FROM areaHolds WHERE partition = ?", partition);
    for (const row of rows as unknown as AreaHold[]) holds.set(keyOf(row), row);
    return holds;
  }

  #put(partition: number, hold: AreaHold): void {
    this.#holdsOf(partition).set(keyOf(hold), hold);
    this.#change(partition, keyOf(hold), hold);
  }

  #remove(partition: number, hold: AreaHold): void {
    this.#holdsOf(partition).delete(keyOf(hold));
    this.#change(partition, keyOf(hold), null);
  }

  #change(partition: number, key: string, hold: AreaHold | null): void {
    const changes = this.#changes.get(partition);
    if (changes === undefined) this.#changes.set(partition, new Map([[key, hold]]));
    else changes.set(key, hold);
  }

  /** Ends all holds in the area, the oldest first. */
  #endHolds(area: AreaAt, write: (move: AreaMove) => void): void {
    const { partition } = area.event;
    const holds = this.holds(partition).filter(({ areaId }) => areaId === area.id);
    for (const held of holds.sort((a, b) => a.hold - b.hold)) {
      const { slot, places } = held;
      this.#release({ ...area, slot }, places);
      write({ from: LOCKED, to: WITHDRAWN, places, held });
    }
  }

  #write(
    { event, id }: AreaAt,
    move: Omit<AreaMove, "to"> & { readonly to: SeatState | null },
    priceId?: number,
  ): void {
    const { from, to, places, held } = move;
    const slot = event.area(id);
    const counts = [...event.table.counts(slot)] as [number, number, number, number];
    if (from >= ACTIVE) counts[from - ACTIVE]! -= places;
    if (to !== null && to >= ACTIVE) counts[to - ACTIVE]! += places;
    assert(
      counts.every((count) => count >= 0),
      "a counter is never negative",
    );
    const { hold, session, holdType } = held;
    const row = { from, state: to, hold, session, holdType, places, counts };
    this.#places.write(event, slot, {
      ...row,
      priceId: priceId ?? event.table.priceId(slot),
    });
  }

  /** Takes places out of a hold. @returns The hold. */
  #release({ event, id, slot }: AreaAt & { slot: number }, places: number): Held {
    const { partition } = event;
    const held = this.#holdsOf(partition).get(keyOf({ areaId: id, slot }));
    assert(held !== undefined, "a named hold has places in the area");
    assert(held.places >= places, "a hold gives up no more places than it has");
    if (held.places === places) this.#remove(partition, held);
    else this.#put(partition, { ...held, places: held.places - places });
    return held;
  }
}

const keyOf = ({ areaId, slot }: Pick<AreaHold, "areaId" | "slot">) => `${areaId} ${slot}`;

const countsOf = ({ event, id }: AreaAt) => event.table.counts(event.area(id));

// The transitions of an event that moves to another layout: seats and areas are added and removed,
// and the remaining holds get the slots that `migrateToLayout` assigns.

interface Parts {
  readonly places: AuditPlaces;
  readonly areas: AuditAreas;
}

interface Layouts {
  readonly before: PlaceIds;
  readonly after: PlaceIds;
}

/** Cost: O(seats of both layouts). */
function changeLayout(parts: Parts, event: LiveEvent, { before, after }: Layouts): void {
  const { places, areas } = parts;
  for (const id of idsMissingIn(after.seats, before.seats)) {
    const slot = event.seat(id);
    const state = event.table.state(slot);
    const held = state === SeatState.LOCKED ? event.table.held(slot) : NO_HOLD;
    places.write(event, slot, seatMove(state, null, 0, held));
  }
  for (const id of idsMissingIn(before.seats, after.seats)) {
    places.write(event, event.seat(id), seatMove(null, SeatState.UNPRICED, 0, NO_HOLD));
  }
  for (const id of before.areas) if (!after.areas.includes(id)) areas.remove({ event, id });
  for (const id of after.areas) if (!before.areas.includes(id)) areas.add({ event, id });
  renumber(areas, event);
}

/**
 * @returns Those of the ids that the other list lacks. Both lists are in ascending order, so no set
 * is needed, which would take a hundred times as long for every event of a large layout.
 */
function idsMissingIn(others: Float64Array, ids: Float64Array): readonly number[] {
  const missing: number[] = [];
  let at = 0;
  for (const id of ids) {
    while (at < others.length && others[at]! < id) at++;
    if (others[at] !== id) missing.push(id);
  }
  return missing;
}

/** Gives the remaining holds the slots from 0 on, in the order in which they began. */
function renumber(areas: AuditAreas, { partition, table }: LiveEvent): void {
  const held = areas.holds(partition);
  if (held.length === 0) return;
  const holds = new Set(held.map(({ hold }) => hold));
  for (const [key, slot] of table.list()) {
    if (!isAreaKey(key) && table.state(slot) === SeatState.LOCKED) holds.add(table.held(slot).hold);
  }
  const slots = new Map([...holds].sort((a, b) => a - b).map((hold, slot) => [hold, slot]));
  areas.replaceHolds(
    partition,
    held.map((hold): AreaHold => ({ ...hold, slot: slots.get(hold.hold)! })),
  );
}

// The first rows of a trail whose log has lost its beginning: every existing event, price and
// layout, and the state of each seat and area.

interface BaselineParts {
  readonly catalog: AuditCatalog;
  readonly places: AuditPlaces;
  readonly areas: AuditAreas;
}

/** @param sequence - The last record in the state. Cost: O(seats of all events). */
export function writeBaseline(parts: BaselineParts, state: State, sequence: number): void {
  const { catalog, places } = parts;
  const { organizations, layouts, events, prices } = state.catalog;
  for (const organization of organizations.values()) {
    catalog.putOrganization({ sequence, timeMs: 0 }, organization);
  }
  for (const layout of layouts.values()) catalog.putLayout({ sequence, timeMs: 0 }, layout);
  for (const event of events.values()) {
    catalog.putEvent({ sequence, timeMs: event.createdAtMs }, event);
  }
  for (const price of prices.values()) catalog.putPrice({ sequence, timeMs: 0 }, price);
  for (const event of events.values()) {
    const partition = state.partitionOf(event);
    const slots = partition.holds.slots();
    const holds = new Map(slots.map((slot, i) => [slot, i - slots.length]));
    writeSeats(parts, { partition, event, holds });
    writeAreas(parts, { partition, event, holds });
    places.storeMap(places.event(event.partition), sequence);
    places.drop(event.partition);
  }
  parts.areas.flush();
}

interface Inventory {
  readonly partition: Partition;
  readonly event: EventRow;
  /** By slot: a negative number in place of the unknown record that began the hold. */
  readonly holds: ReadonlyMap<number, number>;
}

function writeSeats(
  { catalog, places }: BaselineParts,
  { partition, event, holds }: Inventory,
): void {
  const live = places.event(event.partition);
  for (const [seat, id] of partition.layout.seatIds.entries()) {
    const state = partition.state[seat] as SeatState;
    const timeMs = partition.changedAtMs[seat]!;
    if (state === UNPRICED && timeMs === event.createdAtMs) continue;
    const slot = partition.hold[seat]!;
    const priceId = catalog.priceIn(event.partition, partition.price[seat]!);
    const held = slot === NONE ? NO_HOLD : heldBy(partition, holds, slot);
    live.table.put(live.seat(id), timeMs, { state, priceId, ...held, counts: null });
  }
}

function writeAreas(parts: BaselineParts, { partition, event, holds }: Inventory): void {
  const live = parts.places.event(event.partition);
  const { areas, layout } = partition;
  const held: AreaHold[] = [];
  for (const [area, { id }] of layout.areas.entries()) {
    const [active, locked, sold, blocked] = BOOKING_STATES.map((state) =>
      areas.places(area, state),
    );
    const counts: Counts = [active!, locked!, sold!, blocked!];
    const priceId = parts.catalog.priceIn(event.partition, areas.price[area]!);
    const facts = { state: ACTIVE, priceId, ...NO_HOLD, counts };
    live.table.put(live.area(id), areas.changedAtMs[area]!, facts);
    for (const [slot, places] of areas.holdsIn(area)) {
      held.push({ areaId: id, slot, places, ...heldBy(partition, holds, slot) });
    }
  }
  parts.areas.replaceHolds(event.partition, held);
}

function heldBy({ holds }: Partition, numbers: Inventory["holds"], slot: number): Held {
  const { session, holdType } = holds.get(slot);
  return { hold: numbers.get(slot)!, session, holdType };
}
