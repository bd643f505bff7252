/**
 * The part of the catalog that the audit trail needs: events, their layouts and prices, and when
 * they went on and off sale, each version with the record that made it. What exists now is also in
 * memory.
 */
import { assert } from "../../engine/assert.ts";
import type { EventRow, LayoutRow, OrganizationRow, PriceRow } from "../../engine/catalog.ts";
import type { LayoutDocument, Row, Seat, Sector } from "../../engine/layout/document.ts";
import { EMPTY_DOCUMENT } from "../../engine/layout/layout.ts";
import { PackedLayout } from "../../engine/layout/packed.ts";
import type { SqlFile } from "../disk/sqlite.ts";
import { unpackDocument } from "../log/layout-packing.ts";
import type { At } from "./rows.ts";

/** An event that exists. */
export interface AuditEvent {
  readonly partition: number;
  readonly eventId: string;
  readonly schemaId: number;
  /** 0 for the empty layout of a schema without a stored one. */
  readonly layoutId: number;
}

/** Ids of the seats and areas of a layout, by the indexes in records. */
export interface PlaceIds {
  readonly seats: Float64Array;
  readonly areas: readonly number[];
}

/** When, and whether it is on since then. */
type Switched = readonly [timeMs: number, isOn: boolean];

const INSERT_PRICE = "INSERT OR REPLACE INTO prices VALUES (?, ?, ?, ?, ?)";
const NO_PLACES: PlaceIds = { seats: new Float64Array(), areas: [] };
/** Seat ids that are cached, eight bytes each. */
export const IDS_MAX = 4_000_000;

export class AuditCatalog {
  readonly #sql: SqlFile;
  readonly #events = new Map<number, AuditEvent>();
  readonly #partitions = new Map<string, number>();
  /** By schema id: the layout id. */
  readonly #layouts = new Map<number, number>();
  /** By price id. */
  readonly #prices = new Map<number, { readonly partition: number; readonly slot: number }>();
  /** By partition, then by slot: the price id. */
  readonly #slots = new Map<number, Map<number, number>>();
  /** By owner: the last row in `switches`. */
  readonly #switched = new Map<string, Switched>();
  /** By layout id. */
  #places = new Map<number, PlaceIds>();
  #idCount = 0;

  readonly #idsMax: number;

  /** Cost: O(events + prices). */
  constructor(sql: SqlFile, idsMax = IDS_MAX) {
    this.#sql = sql;
    this.#idsMax = idsMax;
    const events = "SELECT *, max(sequence) FROM events GROUP BY partition";
    for (const row of sql.rows(events)) {
      if (row["status"] !== null) this.#keepEvent(row as unknown as AuditEvent);
    }
    const layouts = "SELECT schemaId, document IS NULL AS gone, max(id) AS id FROM layouts";
    for (const { schemaId, id, gone } of sql.rows(`${layouts} GROUP BY schemaId`)) {
      if (gone === 0) this.#layouts.set(Number(schemaId), Number(id));
    }
    const prices = "SELECT *, max(sequence) FROM prices GROUP BY id";
    for (const { id, partition, slot, name } of sql.rows(prices)) {
      if (name !== null) this.#keepPrice(Number(id), Number(partition), Number(slot));
    }
    const switches = "SELECT *, max(sequence) FROM switches GROUP BY owner, ownerId";
    for (const { owner, ownerId, timeMs, isOn } of sql.rows(switches)) {
      this.#switched.set(`${String(owner)} ${Number(ownerId)}`, [Number(timeMs), isOn === 1]);
    }
  }

  event(partition: number): AuditEvent {
    const event = this.#events.get(partition);
    assert(event !== undefined, "a record names an existing event");
    return event;
  }

  hasEvent(partition: number): boolean {
    return this.#events.has(partition);
  }

  eventOf(eventId: string): AuditEvent | undefined {
    return this.#events.get(this.#partitions.get(eventId) ?? 0);
  }

  /** Cost: O(events). */
  eventsOfSchema(schemaId: number): AuditEvent[] {
    return [...this.#events.values()].filter((event) => event.schemaId === schemaId);
  }

  /** @returns The id of the schema's layout; 0 for none. */
  layoutOf(schemaId: number): number {
    return this.#layouts.get(schemaId) ?? 0;
  }

  putEvent({ sequence, timeMs }: At, row: EventRow): void {
    const { partition, id: eventId, schemaId, organizationId, name, status } = row;
    const event = { partition, eventId, schemaId, layoutId: this.layoutOf(schemaId) };
    const key = [partition, sequence, timeMs, eventId, organizationId, schemaId] as const;
    const insert = "INSERT OR REPLACE INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
    this.#sql.run(insert, ...key, event.layoutId, name, status);
    this.#keepEvent(event);
    this.#switch("event", partition, sequence, [row.statusChangedAtMs, status === "PUBLISHED"]);
  }

  /** Moves the event to the present layout of its schema. */
  updateLayout({ sequence, timeMs }: At, event: AuditEvent): void {
    const layoutId = this.layoutOf(event.schemaId);
    this.#sql.run(
      `INSERT OR REPLACE INTO events
       SELECT partition, ?, ?, eventId, organizationId, schemaId, ?, name, status FROM events
       WHERE partition = ? ORDER BY sequence DESC LIMIT 1`,
      sequence,
      timeMs,
      layoutId,
      event.partition,
    );
    this.#keepEvent({ ...event, layoutId });
  }

  removeEvent({ sequence, timeMs }: At, { partition, eventId }: AuditEvent): void {
    this.#sql.run(
      `INSERT OR REPLACE INTO events
       SELECT partition, ?, ?, eventId, organizationId, schemaId, layoutId, name, NULL FROM events
       WHERE partition = ? ORDER BY sequence DESC LIMIT 1`,
      sequence,
      timeMs,
      partition,
    );
    this.#events.delete(partition);
    this.#partitions.delete(eventId);
    this.#switched.delete(`event ${partition}`);
  }

  /** @returns Whether booking was switched on or off. */
  putOrganization({ sequence }: At, row: OrganizationRow): boolean {
    const { id, bookingEnabled, bookingChangedAtMs } = row;
    return this.#switch("organization", id, sequence, [bookingChangedAtMs, bookingEnabled]);
  }

  putLayout({ sequence }: At, { id: schemaId, document }: LayoutRow): void {
    const plain = withoutDrawing(document);
    const insert = "INSERT INTO layouts VALUES (NULL, ?, ?, ?)";
    this.#sql.run(insert, schemaId, sequence, JSON.stringify(plain));
    const id = Number(this.#sql.row("SELECT last_insert_rowid() AS id")!["id"]);
    this.#layouts.set(schemaId, id);
    // Its events need them at once. To read the text again takes much memory.
    if (this.eventsOfSchema(schemaId).length > 0) this.#keepPlaces(id, placesIn(plain));
  }

  /** Forgets the ids of a layout that no event has any more. */
  forgetPlaces(layoutId: number): void {
    this.#idCount -= this.#places.get(layoutId)?.seats.length ?? 0;
    this.#places.delete(layoutId);
  }

  removeLayout({ sequence }: At, schemaId: number): void {
    this.#sql.run("INSERT INTO layouts VALUES (NULL, ?, ?, NULL)", schemaId, sequence);
    this.#layouts.delete(schemaId);
  }

  /** @returns The id of the price in the slot; 0 for slot 0. */
  priceIn(partition: number, slot: number): number {
    if (slot === 0) return 0;
    const id = this.#slots.get(partition)?.get(slot);
    assert(id !== undefined, "a record names an existing price");
    return id;
  }

  partitionOfPrice(priceId: number): number | undefined {
    return this.#prices.get(priceId)?.partition;
  }

  putPrice({ sequence }: At, { id, slot, name, eventId }: PriceRow): void {
    const partition = this.#partitions.get(eventId);
    assert(partition !== undefined, "a price belongs to an existing event");
    this.#sql.run(INSERT_PRICE, id, sequence, partition, slot, name);
    this.#keepPrice(id, partition, slot);
  }

  removePrice({ sequence }: At, id: number): void {
    const price = this.#prices.get(id);
    assert(price !== undefined, "only an existing price is removed");
    const { partition, slot } = price;
    this.#sql.run(INSERT_PRICE, id, sequence, partition, slot, null);
    this.#prices.delete(id);
    const slots = this.#slots.get(partition)!;
    slots.delete(slot);
    if (slots.size === 0) this.#slots.delete(partition);
  }

  /** Seat ids in memory. */
  get idCount(): number {
    return this.#idCount;
  }

  /** Cost: O(bytes of the layout) when it is not cached. */
  placesOf(layoutId: number): PlaceIds {
    if (layoutId === 0) return NO_PLACES;
    const known = this.#places.get(layoutId);
    if (known !== undefined) return known;
    const places = placesIn(readDocument(this.#sql, layoutId));
    this.#keepPlaces(layoutId, places);
    return places;
  }

  #keepPlaces(layoutId: number, places: PlaceIds): void {
    if (this.#idCount >= this.#idsMax) {
      this.#places = new Map();
      this.#idCount = 0;
    }
    this.#places.set(layoutId, places);
    this.#idCount += places.seats.length;
  }

  #keepEvent({ partition, eventId, schemaId, layoutId }: AuditEvent): void {
    this.#events.set(partition, { partition, eventId, schemaId, layoutId });
    this.#partitions.set(eventId, partition);
  }

  /** @returns Whether it is a change. Until the first one, `timeMs` is 0. */
  #switch(owner: string, id: number, sequence: number, [timeMs, isOn]: Switched): boolean {
    const key = `${owner} ${id}`;
    const [lastMs, wasOn] = this.#switched.get(key) ?? [0, isOn];
    if (timeMs === lastMs && isOn === wasOn) return false;
    const insert = "INSERT OR REPLACE INTO switches VALUES (?, ?, ?, ?, ?)";
    this.#sql.run(insert, owner, id, sequence, timeMs, isOn ? 1 : 0);
    this.#switched.set(key, [timeMs, isOn]);
    return true;
  }

  #keepPrice(id: number, partition: number, slot: number): void {
    this.#prices.set(id, { partition, slot });
    const slots = this.#slots.get(partition);
    if (slots === undefined) this.#slots.set(partition, new Map([[slot, id]]));
    else slots.set(slot, id);
  }
}

function placesIn({ seats, sectors }: LayoutDocument): PlaceIds {
  return {
    seats: Float64Array.from(seats, ({ id }) => id).sort(),
    areas: sectors.filter(({ ga }) => ga).map(({ id }) => id),
  };
}

/** @returns A layout as `withoutDrawing` stored it. */
export function readDocument(sql: SqlFile, layoutId: number): LayoutDocument {
  if (layoutId === 0) return EMPTY_DOCUMENT;
  const row = sql.row("SELECT document FROM layouts WHERE id = ?", layoutId);
  return JSON.parse(String(row?.["document"])) as LayoutDocument;
}

/** @returns Only the members that are needed to name and to list seats and areas. */
function withoutDrawing(document: LayoutDocument): LayoutDocument {
  // As objects, the drawing of a large layout would take up to a hundred megabytes.
  const isPacked = document instanceof PackedLayout;
  const plain = isPacked ? unpackDocument(document.bytes, namedMembers) : document;
  const { sectors, rows, seats } = plain;
  return {
    ...EMPTY_DOCUMENT,
    sectors: sectors.map(({ id, guid, name, ga, type, gaCapacity }) => {
      return { id, guid, name, ga, type, gaCapacity };
    }),
    rows: rows.map(({ id, guid, sectorGuid, rowNumber }) => ({ id, guid, sectorGuid, rowNumber })),
    seats: seats.map(({ id, guid, rowGuid, name }) => ({ id, guid, rowGuid, name })),
  };
}

/** @returns Those members of a sector, row or seat that `withoutDrawing` looks at. */
function namedMembers(item: unknown): object {
  const object = item as Sector & Row & Seat;
  const { id, guid, name, ga, type, gaCapacity, sectorGuid, rowNumber, rowGuid } = object;
  return { id, guid, name, ga, type, gaCapacity, sectorGuid, rowNumber, rowGuid };
}
