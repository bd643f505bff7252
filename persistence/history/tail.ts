/**
 * The records after the end of the archive, in memory: as the log encoded them, and found by event.
 * It also knows which events, prices and schemas exist at its end, because a record of the catalog
 * says no more than what it changes.
 */
import { deflateSync } from "node:zlib";
import { assert } from "../../engine/assert.ts";
import type { CatalogPut, EventRow, OrganizationRow } from "../../engine/catalog.ts";
import { BODY_IN_MEMORY_MAX } from "../../engine/stored-replies.ts";
import type { LayoutDocument, Row, Seat, Sector } from "../../engine/layout/document.ts";
import { EMPTY_DOCUMENT } from "../../engine/layout/layout.ts";
import { PackedLayout } from "../../engine/layout/packed.ts";
import type { TimedRecord } from "../../engine/queries/effect.ts";
import {
  type CartRecord,
  type CatalogRecord,
  type LogRecord,
  partitionsOf,
  recordOn,
  RecordType,
} from "../../engine/records.ts";
import type { State } from "../../engine/state.ts";
import { ByteReader, ByteWriter } from "../log/bytes.ts";
import {
  decodeNext,
  decodeRecord,
  encodeRecord,
  partitionOf,
  typeOf,
  type Replay,
  TIME_AT,
} from "../log/codec.ts";
import { unpackDocument } from "../log/layout-packing.ts";
import type { Archive, ArchivedEvent, Version, VersionKind } from "./archive.ts";
import { lowerBound } from "./block.ts";

const BLOCK_BYTES = 1024 * 1024;
/** Memory of an entry. */
const ENTRY_BYTES = 16;

/** The records of an event, in order. Without an object for each, which would take more memory. */
class Entries {
  readonly sequences: number[] = [];
  /** The number of the block of memory, times its bytes, plus the offset in it. */
  readonly places: number[] = [];
}

type Switch = Pick<OrganizationRow, "bookingEnabled" | "bookingChangedAtMs">;

export class Tail {
  /** The last record that was added. */
  sequence: number;
  /** Bytes in memory. */
  bytes = 0;
  /** Milliseconds since 1970: the time of the oldest record; Infinity without any. */
  oldestMs = Infinity;
  /** By partition: its records, in order. */
  #entries = new Map<number, Entries>();
  /** By partition: events changed since the archive, also removed ones. */
  changedEvents = new Map<number, ArchivedEvent>();
  #versions: Version[] = [];
  /** By id: the body of a stored reply; null when it was dropped. */
  #replies = new Map<string, string | null>();
  #blocks: { readonly bytes: Buffer; readonly reader: ByteReader }[] = [];
  /** Bytes in use of the last block. */
  #used = 0;
  readonly #archive: Archive;
  /** Those that exist, and whose row in the archive is sound. */
  readonly #events = new Map<number, ArchivedEvent>();
  readonly #partitionOfEvent = new Map<string, number>();
  readonly #partitionOfPrice = new Map<number, number>();
  readonly #switches = new Map<number, Switch>();
  readonly #out = new ByteWriter(64 * 1024);

  /** Begins at the end of an archive. Cost: O(events + prices). */
  constructor(archive: Archive) {
    this.sequence = archive.sequence;
    this.#archive = archive;
    for (const event of archive.events()) {
      this.#keep(event);
      for (const id of event.prices) this.#partitionOfPrice.set(id, event.partition);
    }
    for (const { owner, body } of archive.latestSwitches()) {
      this.#switches.set(owner, JSON.parse(String(body)) as Switch);
    }
  }

  /** Writes everything but the records to the archive, in its transaction. */
  writeCatalog(): void {
    const archive = this.#archive;
    for (const event of this.changedEvents.values()) archive.putEvent(event);
    for (const [id, body] of this.#replies) archive.putReply(id, body);
    for (const version of this.#versions) archive.putVersion(version);
  }

  /** Records of an event. */
  countOf(partition: number): number {
    return this.#entries.get(partition)?.sequences.length ?? 0;
  }

  /** @returns Records of an event after `after`. Cost: decodes each. */
  *recordsOf(partition: number, after: number): Generator<TimedRecord> {
    const entries = this.#entries.get(partition);
    if (entries === undefined) return;
    const { sequences, places } = entries;
    let found: TimedRecord;
    const keep: Replay = (sequence, timeMs, record) => (found = { sequence, timeMs, record });
    for (
      let i = lowerBound(sequences.length, (at) => sequences[at]! > after);
      i < sequences.length;
      i++
    ) {
      const { bytes, reader } = this.#blocks[Math.floor(places[i]! / BLOCK_BYTES)]!;
      reader.at = places[i]! % BLOCK_BYTES;
      reader.end = bytes.length;
      decodeNext(reader, sequences[i]!, keep);
      yield found!;
    }
  }

  /** The newest event with the id, if the tail has changed it. */
  eventOf(eventId: string): ArchivedEvent | undefined {
    let newest: ArchivedEvent | undefined;
    for (const event of this.changedEvents.values()) {
      if (event.eventId === eventId && event.partition > (newest?.partition ?? 0)) newest = event;
    }
    return newest;
  }

  /** The body of a stored reply; null for a dropped one, undefined for one before the tail. */
  replyOf(id: string): string | null | undefined {
    return this.#replies.get(id);
  }

  /** Events with records after a record. */
  *changedAfter(sequence: number): Generator<number> {
    for (const [partition, { sequences }] of this.#entries) {
      if (sequences.at(-1)! > sequence) yield partition;
    }
  }

  versions(kind: VersionKind, owner: number): readonly Version[] {
    return this.#versions.filter((one) => one.kind === kind && one.owner === owner);
  }

  /** Owners of versions after a record. */
  *ownersAfter(kind: VersionKind, since: number): Generator<number> {
    for (const one of this.#versions)
      if (one.kind === kind && one.sequence > since) yield one.owner;
  }

  /** An existing event, or one removed by the tail. */
  eventAt(partition: number): ArchivedEvent | undefined {
    return this.changedEvents.get(partition) ?? this.#events.get(partition);
  }

  /** Events that exist. */
  get events(): Iterable<ArchivedEvent> {
    return this.#events.values();
  }

  /** Forgets the records: the archive has them now. */
  clear(): void {
    this.#entries = new Map();
    this.changedEvents = new Map();
    this.#versions = [];
    this.#replies = new Map();
    this.#blocks = [];
    this.#used = 0;
    this.bytes = 0;
    this.oldestMs = Infinity;
  }

  /**
   * Adds a batch of the log. @param payload - As in `decodeRecords`; valid only during this call.
   * Cost: O(bytes).
   */
  readonly add = (payload: Buffer, firstSequence: number, recordCount: number): void => {
    assert(firstSequence === this.sequence + 1, "a tail has one record after the other");
    let at = 0;
    if (recordCount > 0) this.oldestMs = Math.min(this.oldestMs, payload.readDoubleLE(TIME_AT));
    for (let i = 0; i < recordCount; i++) {
      const end = at + payload.readUInt32LE(at);
      const sequence = firstSequence + i;
      const record = payload.subarray(at, end);
      const partition = partitionOf(record);
      if (partition === null) this.#addJoint(sequence, record);
      // A step of a door shows nothing.
      else if (typeOf(record) !== RecordType.DOOR) this.#enter(partition, sequence, record);
      at = end;
    }
    assert(at === payload.length, "a batch consists of its records");
    this.sequence = firstSequence + recordCount - 1;
  };

  /** Begins with a state, because the log has lost its beginning. @param sequence - Its last record. */
  begin(state: State, sequence: number): void {
    assert(this.sequence === 0, "an empty tail begins once");
    this.sequence = sequence;
    const { organizations, layouts, events, prices } = state.catalog;
    const at = { sequence, timeMs: 0, actor: { kind: 0, id: 0 } as const };
    for (const row of organizations.values()) this.#putOrganization(at, row);
    for (const { id, document } of layouts.values()) this.#addLayout(at, id, document);
    for (const row of events.values()) this.#putEvent(row, sequence);
    for (const { id, eventId } of prices.values()) {
      this.#putPrice(id, eventId);
    }
  }

  #enter(partition: number, sequence: number, record: Buffer): void {
    let entries = this.#entries.get(partition);
    if (entries === undefined) this.#entries.set(partition, (entries = new Entries()));
    entries.sequences.push(sequence);
    entries.places.push(this.#copy(record));
    this.bytes += record.length + ENTRY_BYTES;
  }

  /** @returns The place of the copy. A record that is longer than a block has one of its own. */
  #copy(record: Buffer): number {
    const last = this.#blocks.at(-1);
    if (last === undefined || this.#used + record.length > last.bytes.length) {
      const bytes = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, record.length));
      this.#blocks.push({ bytes, reader: new ByteReader(bytes) });
      this.#used = 0;
    }
    const place = (this.#blocks.length - 1) * BLOCK_BYTES + this.#used;
    this.#blocks.at(-1)!.bytes.set(record, this.#used);
    this.#used += record.length;
    return place;
  }

  /** A record of more than one event. */
  #addJoint(sequence: number, record: Buffer): void {
    if (typeOf(record) === RecordType.CART) this.#addCart(sequence, record);
    else this.#addCatalog(sequence, record);
  }

  /** Each event gets its own parts. */
  #addCart(sequence: number, bytes: Buffer): void {
    const timeMs = bytes.readDoubleLE(TIME_AT);
    const record = decodeRecord(bytes, sequence).record as CartRecord;
    for (const partition of partitionsOf(record)) {
      const own = recordOn(record, (number) => number === partition)!;
      this.#enter(partition, sequence, this.#encoded(timeMs, own));
    }
  }

  /** @returns Bytes that are valid until the next call. */
  #encoded(timeMs: number, record: LogRecord): Buffer {
    this.#out.length = 0;
    encodeRecord(this.#out, timeMs, record);
    return this.#out.bytes.subarray(0, this.#out.length);
  }

  #addCatalog(sequence: number, bytes: Buffer): void {
    const timeMs = bytes.readDoubleLE(TIME_AT);
    const record = decodeRecord(bytes, sequence).record as CatalogRecord;
    const { actor } = record;
    for (const { event, schemas } of this.#touchedBy(record)) {
      const own = this.#ownOf(record, event, schemas);
      this.#enter(event.partition, sequence, this.#encoded(timeMs, own));
    }
    const at = { sequence, timeMs, actor };
    for (const { table, key } of record.removes) {
      if (table === "events") this.#removeEvent(String(key), sequence);
      if (table === "prices") this.#removePrice(Number(key));
      if (table === "layouts")
        this.#addVersion({ kind: "layout", owner: Number(key), ...at, body: null });
      if (table === "replies") this.#replies.set(String(key), null);
    }
    for (const put of record.puts) this.#put(at, put);
  }

  #put(at: Pick<Version, "sequence" | "timeMs" | "actor">, put: CatalogPut): void {
    const { table, row } = put;
    if (table === "events") this.#putEvent(row, at.sequence);
    if (table === "prices") this.#putPrice(row.id, row.eventId);
    if (table === "organizations") this.#putOrganization(at, row);
    if (table === "layouts") this.#addLayout(at, row.id, row.document);
    if (table !== "replies") return;
    const { id, body } = row;
    if (body === null) this.#replies.set(id, null);
    else if (body.length > BODY_IN_MEMORY_MAX) {
      this.#replies.set(id, body);
      this.bytes += body.length;
    }
  }

  /** Events with a row, or a price, in the record; and the schemas they have around it. */
  #touchedBy({
    puts,
    removes,
  }: CatalogRecord): Iterable<{ readonly event: ArchivedEvent; readonly schemas: Set<number> }> {
    const touched = new Map<number, { event: ArchivedEvent; schemas: Set<number> }>();
    const add = (partition: number | undefined) => {
      const event = partition === undefined ? undefined : this.#events.get(partition);
      if (event === undefined || touched.has(event.partition)) return;
      touched.set(event.partition, { event, schemas: new Set([event.schemaId]) });
    };
    for (const { table, key } of removes) {
      if (table === "events") add(this.#partitionOfEvent.get(String(key)));
      if (table === "prices") add(this.#partitionOfPrice.get(Number(key)));
    }
    for (const { table, row, isUnshown } of puts) {
      if (table === "prices") add(this.#partitionOfEvent.get(row.eventId));
      if (table !== "events" || isUnshown === true) continue;
      add(row.partition);
      const event = eventOfRow(row, 0);
      const known = touched.get(row.partition);
      if (known === undefined) {
        touched.set(row.partition, { event, schemas: new Set([row.schemaId]) });
      } else known.schemas.add(row.schemaId);
    }
    return touched.values();
  }

  /** The part of a record that concerns an event. Its layouts are in the versions. */
  #ownOf(
    record: CatalogRecord,
    { partition, eventId }: Pick<ArchivedEvent, "partition" | "eventId">,
    schemas: ReadonlySet<number>,
  ): CatalogRecord {
    const removes = record.removes.filter(({ table, key }) => {
      if (table === "events") return key === eventId;
      if (table === "layouts") return schemas.has(Number(key));
      return table === "prices" && this.#partitionOfPrice.get(Number(key)) === partition;
    });
    const puts = record.puts.flatMap((put): CatalogPut[] => {
      const { table, row } = put;
      if (table === "events") return row.partition === partition ? [put] : [];
      if (table === "prices") return row.eventId === eventId ? [put] : [];
      if (table !== "layouts" || !schemas.has(row.id)) return [];
      return [{ table, row: { ...row, document: EMPTY_DOCUMENT } }];
    });
    const { type, actor, nextId } = record;
    return { type, actor, nextId, puts, removes };
  }

  #keep(event: ArchivedEvent): void {
    this.#events.set(event.partition, event);
    this.#partitionOfEvent.set(event.eventId, event.partition);
  }

  /** Keeps a change of an event. */
  #change(event: ArchivedEvent): void {
    this.#keep(event);
    this.changedEvents.set(event.partition, event);
  }

  #putEvent(row: EventRow, sequence: number): void {
    const known = this.#events.get(row.partition);
    // A new row would hide the damage, and begin the event too late.
    if (known === undefined && this.#hasLost(row.partition)) return;
    const { created = sequence, prices = [] } = known ?? {};
    this.#change({ ...eventOfRow(row, created), prices });
  }

  /** The row of an unknown event is damaged in the archive. */
  #removeEvent(eventId: string, removed: number): void {
    const event = this.#ofId(eventId);
    if (event === undefined) return;
    this.#events.delete(event.partition);
    this.#partitionOfEvent.delete(eventId);
    this.changedEvents.set(event.partition, { ...event, removed });
  }

  /** True for an event that the archive has, in a damaged row. */
  #hasLost(partition: number): boolean {
    return !this.changedEvents.has(partition) && this.#archive.hasLost(partition);
  }

  #ofId(eventId: string): ArchivedEvent | undefined {
    return this.#events.get(this.#partitionOfEvent.get(eventId) ?? -1);
  }

  #putPrice(id: number, eventId: string): void {
    const event = this.#ofId(eventId);
    if (event === undefined || event.prices.includes(id)) return;
    this.#partitionOfPrice.set(id, event.partition);
    this.#change({ ...event, prices: [...event.prices, id] });
  }

  /** The event of an unknown price has a damaged row in the archive. */
  #removePrice(id: number): void {
    const partition = this.#partitionOfPrice.get(id);
    this.#partitionOfPrice.delete(id);
    const event = this.#events.get(partition ?? -1);
    if (event === undefined) return;
    this.#change({ ...event, prices: event.prices.filter((one) => one !== id) });
  }

  #putOrganization(at: Pick<Version, "sequence" | "timeMs" | "actor">, row: OrganizationRow): void {
    const { id, bookingEnabled, bookingChangedAtMs } = row;
    const last = this.#switches.get(id);
    if (last?.bookingEnabled === bookingEnabled && last.bookingChangedAtMs === bookingChangedAtMs)
      return;
    const body = Buffer.from(JSON.stringify({ bookingEnabled, bookingChangedAtMs }));
    this.#switches.set(id, { bookingEnabled, bookingChangedAtMs });
    this.#addVersion({ kind: "switch", owner: id, ...at, body });
  }

  #addLayout(
    at: Pick<Version, "sequence" | "timeMs" | "actor">,
    owner: number,
    document: LayoutDocument,
  ): void {
    const body = deflateSync(JSON.stringify(withoutDrawing(document)), { level: 1 });
    this.#addVersion({ kind: "layout", owner, ...at, body });
  }

  #addVersion(version: Version): void {
    this.#versions.push(version);
    this.bytes += 200 + (version.body?.length ?? 0);
  }
}

function eventOfRow(
  { partition, id, organizationId, schemaId }: EventRow,
  created: number,
): ArchivedEvent {
  return { partition, eventId: id, organizationId, schemaId, created, removed: null, prices: [] };
}

/** @returns Only the members that name and list seats and areas. */
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
