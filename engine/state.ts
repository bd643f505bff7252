/** The whole state of the engine: the catalog, and one partition per event. */
import { assert } from "./assert.ts";
import { Catalog, type EventRow } from "./catalog.ts";
import { type DoorKeys, NO_DOOR_KEYS } from "./ports.ts";
import type { Door } from "./inventory/door.ts";
import type { Partition } from "./inventory/partition.ts";
import { Partitions } from "./inventory/partitions.ts";
import { buildLayout, EMPTY_DOCUMENT, type Layout } from "./layout/layout.ts";

const EMPTY_LAYOUT = buildLayout(EMPTY_DOCUMENT);
/** Memory of a seat of a layout: its columns, its key for v1, and a short label. */
export const LAYOUT_SEAT_BYTES = 256;
/** Memory of a seat of an event: 25 bytes without a hold, more with one. */
export const EVENT_SEAT_BYTES = 64;
/** Memory of a visitor of a door: 60 bytes, and its session and holds. */
export const VISITOR_BYTES = 200;

/** Memory quota for created rows, in bytes. It limits new commands, not the replay of a log. */
export interface Quota {
  /** For the rows of the catalog and the seats of layouts. */
  readonly catalog: number;
  /** For the seats of events, and the visitors of their doors. */
  readonly events: number;
}

export class State {
  readonly catalog = new Catalog();
  /** By partition number: `EventRow.partition`. */
  readonly partitions = new Partitions();
  /** By partition number: doors of the events that have one. */
  readonly doors = new Doors();
  doorKeys: DoorKeys = NO_DOOR_KEYS;
  /** By partition number: the last record with an effect on the shown event. */
  readonly sequences = new Map<number, number>();
  /** By schema id: the seat index of each stored layout. */
  readonly layouts = new Layouts();
  /** The last record, counted by the engine; 0 where only a replay changes the state. */
  sequence = 0;
  quota: Quota = { catalog: Infinity, events: Infinity };

  /** The used part of the quota, estimated from the numbers of rows and seats. */
  get used(): Quota {
    return {
      catalog: this.catalog.bytes + this.layouts.seatCount * LAYOUT_SEAT_BYTES,
      events:
        this.partitions.seatCount * EVENT_SEAT_BYTES + this.doors.visitorCount * VISITOR_BYTES,
    };
  }

  /** @returns A layout without seats for a schema without a stored layout. */
  layoutOf(schemaId: number): Layout {
    return this.layouts.get(schemaId) ?? EMPTY_LAYOUT;
  }

  /** The last record with an effect on the shown event. */
  sequenceOf({ partition }: EventRow): number {
    return this.sequences.get(partition) ?? 0;
  }

  /**
   * True while the holds of a partition do not expire in this cell, because the organization is
   * moving or has moved.
   */
  isFrozen(number: number): boolean {
    const { away } = this.catalog;
    return away.size > 0 && away.has(this.catalog.eventOf(number)?.organizationId ?? 0);
  }

  partitionOf(event: EventRow): Partition {
    return this.partitionAt(event.partition);
  }

  /** Seats and places that a visitor has taken at the event's door. Cost: O(its holds). */
  takenOf(event: EventRow, visitor: number): number {
    const door = this.doors.get(event.partition);
    assert(door !== undefined, "a visitor has a door");
    return door.takenOf(visitor, this.partitionOf(event));
  }

  /** @param number - `EventRow.partition` of an existing event. */
  partitionAt(number: number): Partition {
    const partition = this.partitions.get(number);
    assert(partition !== undefined, "every event has its partition");
    return partition;
  }
}

/** Counts the seats of all layouts. */
class Layouts extends Map<number, Layout> {
  seatCount = 0;

  override set(schemaId: number, layout: Layout): this {
    this.seatCount += layout.seatCount - (this.get(schemaId)?.seatCount ?? 0);
    return super.set(schemaId, layout);
  }

  override delete(schemaId: number): boolean {
    this.seatCount -= this.get(schemaId)?.seatCount ?? 0;
    return super.delete(schemaId);
  }

  override clear(): void {
    this.seatCount = 0;
    super.clear();
  }
}

/** Of doors: visitors that they have invited, and invitations that ran out. */
export interface DoorTotals {
  readonly invited: number;
  readonly noShows: number;
}

/** Counts the visitors of all doors. */
class Doors extends Map<number, Door> {
  visitorCount = 0;
  /** Of doors that this state has had and has no longer. */
  #gone: DoorTotals = { invited: 0, noShows: 0 };

  /** Of all doors that this state has had: never falls. Cost: O(doors). */
  get totals(): DoorTotals {
    let { invited, noShows } = this.#gone;
    for (const door of this.values()) {
      invited += door.invitedTotal;
      noShows += door.noShows;
    }
    return { invited, noShows };
  }

  override set(number: number, door: Door): this {
    // A restored copy is the same door.
    if (this.get(number)?.id === door.id) this.visitorCount -= this.get(number)!.count;
    else this.delete(number);
    this.visitorCount += door.count;
    return super.set(number, door);
  }

  override delete(number: number): boolean {
    const door = this.get(number);
    if (door === undefined) return false;
    const { invited, noShows } = this.#gone;
    this.visitorCount -= door.count;
    this.#gone = { invited: invited + door.invitedTotal, noShows: noShows + door.noShows };
    return super.delete(number);
  }
}
