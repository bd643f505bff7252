/**
 * One event as it was after a record: the engine's state with this event alone, brought forward by
 * the engine's own `apply`.
 */
import { apply } from "../../engine/apply.ts";
import { assert } from "../../engine/assert.ts";
import type { EventRow, OrganizationRow, PriceRow } from "../../engine/catalog.ts";
import { copyPartition, packImage, restorePartition } from "../../engine/inventory/image.ts";
import { EMPTY_DOCUMENT, type Layout } from "../../engine/layout/layout.ts";
import {
  applyTo,
  type EventEffect,
  type OnMove,
  type TimedRecord,
} from "../../engine/queries/effect.ts";
import { type CatalogRecord, type MoveRecord, RecordType } from "../../engine/records.ts";
import { State } from "../../engine/state.ts";
import { Malformed } from "../disk/faults.ts";
import { decodeImage, encodeImage } from "../snapshot/file.ts";
import {
  type ArchivedEvent,
  packed,
  type PackedChunk,
  type Version,
  type VersionKind,
} from "./archive.ts";
import { ColumnWriter } from "./columns.ts";

/** Versions of layouts and organizations. */
export interface Versions {
  /** The last record whose versions are known. */
  readonly sequence: number;
  versionAt(kind: VersionKind, owner: number, sequence: number): Version | undefined;
  versionAfter(kind: VersionKind, owner: number, sequence: number): Version | undefined;
  /** @returns The layout of a schema after a record; undefined for none. */
  layoutAt(schemaId: number, sequence: number): Layout | undefined;
}

/** The rows of the catalog in an image. */
interface ImageRows {
  /** The event's last record up to the image; 0 for none. */
  readonly last: number;
  /** The image is of the moment after this record. */
  readonly sequence: number;
  readonly event: EventRow;
  readonly prices: readonly PriceRow[];
  readonly organization: OrganizationRow;
}

export class EventReplay {
  readonly partition: number;
  readonly state = new State();
  /** Everything up to this record is in the state. */
  sequence: number;
  /** The last record that changed the event; 0 for none. */
  last = 0;
  readonly #versions: Versions;
  readonly #organizationId: number;
  /** No version follows up to this record. */
  #clearUntil = 0;
  #eventId: string;
  #schemaId: number;

  /** Begins before the event's first record, or with an image. */
  private constructor(event: ArchivedEvent, versions: Versions) {
    this.partition = event.partition;
    this.sequence = event.created - 1;
    this.#versions = versions;
    this.#organizationId = event.organizationId;
    this.#eventId = event.eventId;
    this.#schemaId = event.schemaId;
  }

  /** Begins before the event's first record. */
  static before(event: ArchivedEvent, versions: Versions): EventReplay {
    const replay = new EventReplay(event, versions);
    replay.#putOrganization(replay.sequence);
    return replay;
  }

  /** Begins with an image. @throws Malformed when it is not one. */
  static from(bytes: Buffer, event: ArchivedEvent, versions: Versions): EventReplay {
    const replay = new EventReplay(event, versions);
    replay.#restore(bytes);
    return replay;
  }

  /** The event; undefined when it does not exist. */
  get event(): EventRow | undefined {
    return this.state.catalog.events.get(this.#eventId);
  }

  /**
   * Applies the event's next record of its own, and before it the versions of its layout and its
   * organization.
   * @param report - Without one the state alone is brought forward, which is twice as fast.
   */
  apply(record: TimedRecord, report?: EffectReport): void {
    assert(record.sequence > this.sequence, "an event gets one record after the other");
    this.advance(record.sequence - 1, report);
    this.#apply(this.#completed(record), report);
    this.sequence = record.sequence;
  }

  /** Applies the versions up to a record. */
  advance(sequence: number, report?: EffectReport): void {
    while (sequence > this.#clearUntil && this.event !== undefined) {
      const next = this.#nextVersion(sequence);
      if (next === null) break;
      this.#apply(next, report);
      this.sequence = next.sequence;
    }
    this.sequence = Math.max(this.sequence, sequence);
  }

  #apply(timed: TimedRecord, report?: EffectReport): void {
    const { record, timeMs, sequence } = timed;
    this.last = sequence;
    if (report === undefined) apply(this.state, record, timeMs, sequence);
    else report.onEffect(timed, applyTo(this.state, this.partition, timed, report.onMove));
  }

  /** A record of the log may have both, so they are joined. */
  #nextVersion(until: number): TimedRecord | null {
    const layout = this.#versions.versionAfter("layout", this.#schemaId, this.sequence);
    let change = this.#versions.versionAfter("switch", this.#organizationId, this.sequence);
    for (; change !== undefined && change.sequence <= until;) {
      const row = organizationOf(this.#organizationId, change);
      const { organizations } = this.state.catalog;
      const isShown = row.bookingEnabled !== organizations.get(row.id)!.bookingEnabled;
      if (isShown) break;
      organizations.set(row.id, row);
      change = this.#versions.versionAfter("switch", this.#organizationId, change.sequence);
    }
    const sequence = Math.min(layout?.sequence ?? Infinity, change?.sequence ?? Infinity);
    if (sequence > until) {
      this.#clearUntil = Math.min(sequence - 1, this.#versions.sequence);
      return null;
    }
    const { actor, timeMs } = (layout?.sequence === sequence ? layout : change)!;
    const record = { type: RecordType.CATALOG, actor, nextId: this.state.catalog.nextId };
    const removes: CatalogRecord["removes"][number][] = [];
    const puts: CatalogRecord["puts"][number][] = [];
    if (layout?.sequence === sequence) {
      if (layout.body === null) removes.push({ table: "layouts", key: this.#schemaId });
      else puts.push(this.#layoutPut(this.#schemaId, sequence));
    }
    if (change?.sequence === sequence) {
      puts.push({ table: "organizations", row: organizationOf(this.#organizationId, change) });
    }
    return { sequence, timeMs, record: { ...record, removes, puts } };
  }

  /** @returns The record with its layouts, and the layout of a new schema. */
  #completed(timed: TimedRecord): TimedRecord {
    const { record, sequence } = timed;
    if (record.type === RecordType.MOVE) return { ...timed, record: withoutVisitor(record) };
    if (record.type === RecordType.CART) {
      const parts = record.parts.map((part) => {
        return part.type === RecordType.MOVE ? withoutVisitor(part) : part;
      });
      return { ...timed, record: { ...record, parts } };
    }
    if (record.type !== RecordType.CATALOG) return timed;
    const puts = record.puts.map((put) => {
      return put.table === "layouts" ? this.#layoutPut(put.row.id, sequence) : put;
    });
    for (const put of puts) {
      if (put.table !== "events") continue;
      this.#eventId = put.row.id;
      const { schemaId } = put.row;
      if (schemaId === this.#schemaId && this.event !== undefined) continue;
      this.#bringLayout(schemaId, sequence - 1);
      this.#clearUntil = 0;
      this.#schemaId = schemaId;
    }
    const change = this.#versions.versionAt("switch", this.#organizationId, sequence);
    if (change?.sequence === sequence && this.event !== undefined) {
      puts.push({ table: "organizations", row: organizationOf(this.#organizationId, change) });
    }
    return { ...timed, record: { ...record, puts } };
  }

  #layoutPut(id: number, sequence: number) {
    const layout = this.#versions.layoutAt(id, sequence);
    if (layout === undefined) throw new Malformed(`the layout of schema ${id}`, "none");
    const row = { id, document: EMPTY_DOCUMENT, version: 0 };
    return { table: "layouts", row, made: { layout } } as const;
  }

  /** After an earlier stay of the event, the state may have an older layout of the schema. */
  #bringLayout(schemaId: number, sequence: number): void {
    const { catalog, layouts } = this.state;
    const layout = this.#versions.layoutAt(schemaId, sequence);
    if (layout === undefined) {
      if (layouts.delete(schemaId)) catalog.remove({ table: "layouts", key: schemaId });
      return;
    }
    layouts.set(schemaId, layout);
    catalog.put({ table: "layouts", row: { id: schemaId, document: EMPTY_DOCUMENT, version: 0 } });
  }

  #putOrganization(sequence: number): void {
    const version = this.#versions.versionAt("switch", this.#organizationId, sequence);
    if (version === undefined) throw new Malformed("the organization of an event", "none");
    const row = organizationOf(this.#organizationId, version);
    this.state.catalog.put({ table: "organizations", row });
  }

  /** Seats of an existing event. */
  get seatCount(): number {
    return this.state.partitionOf(this.event!).layout.seatCount;
  }

  /** The event as it is, to begin another replay with. Cost: O(seats). */
  image(): Buffer {
    const { event, state, sequence, last } = this;
    assert(event !== undefined, "an image is of an existing event");
    return imageOf(state, event, { sequence, last });
  }

  #restore(bytes: Buffer): void {
    const end = 4 + bytes.readUInt32LE(0);
    const rows = JSON.parse(bytes.toString("utf8", 4, end)) as ImageRows;
    const { event, prices, organization, sequence, last } = rows;
    const { catalog, partitions } = this.state;
    this.sequence = sequence;
    this.last = last;
    this.#eventId = event.id;
    this.#schemaId = event.schemaId;
    this.#bringLayout(event.schemaId, sequence);
    catalog.put({ table: "organizations", row: organization });
    catalog.put({ table: "events", row: event });
    for (const row of prices) catalog.put({ table: "prices", row });
    const layout = this.state.layoutOf(event.schemaId);
    partitions.set(this.partition, restorePartition(decodeImage(bytes.subarray(end)), layout));
  }
}

/**
 * @param at - The last record in the state, and the last one that changed the event.
 * @returns The event as it is in a state. Cost: O(seats).
 */
export function imageOf(
  { catalog, partitions }: State,
  event: EventRow,
  at: { readonly sequence: number; readonly last: number },
): Buffer {
  const prices = [...catalog.pricesOf(event.id).values()];
  const organization = catalog.organizations.get(event.organizationId)!;
  const rows: ImageRows = { ...at, event, prices, organization };
  const head = Buffer.from(JSON.stringify(rows));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(head.length);
  const seats = encodeImage(packImage(copyPartition(partitions.get(event.partition)!)));
  return Buffer.concat([length, head, seats]);
}

export interface EffectReport {
  readonly onMove: OnMove;
  /** Called with each record that changed the event, after its moves. */
  readonly onEffect: (record: TimedRecord, effect: EventEffect) => void;
}

/** The trail knows nothing of the visitors of a door. */
function withoutVisitor(record: MoveRecord): MoveRecord {
  if (record.visitor === undefined) return record;
  const { visitor: _visitor, ...move } = record;
  return move;
}

/** The members of a listing of seats. */
function organizationOf(id: number, { body }: Version): OrganizationRow {
  return { id, ...(JSON.parse(String(body)) as object) } as OrganizationRow;
}

interface PlacedImage {
  /** The last record in the image. */
  readonly sequence: number;
  readonly timeMs: number;
  readonly image: Buffer;
}

/** @returns A chunk without records. Cost: compresses it. */
export function imageChunk(
  partition: number,
  { sequence, timeMs, image }: PlacedImage,
): PackedChunk {
  const at = { first: sequence, last: sequence, lastMs: timeMs };
  return packed({ partition, ...at, moves: 0, image, records: new ColumnWriter().pack() });
}
