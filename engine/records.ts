/**
 * Records: the content of the log. A record is a fact, never a request, so replay needs no rules,
 * and an old log means the same under new rules. Seat and area indexes are those of the event's
 * layout at that point of the log; a hold is named by its slot.
 */
import type { CatalogPut, CatalogRemove } from "./catalog.ts";
import type { Move } from "./inventory/states.ts";
import type { ZoneChange } from "./layout/zones.ts";

/** The log stores these codes, so they are never renumbered. */
export const RecordType = {
  CATALOG: 1,
  MOVE: 2,
  PRICE: 3,
  EXTENSION: 4,
  ARRIVAL: 5,
  CART: 6,
  DOOR: 7,
} as const;

/** The cause of a record. The log stores these codes, so they are never renumbered. */
export const ActorKind = { SYSTEM: 0, ORGANIZATION: 1, TENANT: 2, ACCOUNT: 3 } as const;
export type ActorKind = (typeof ActorKind)[keyof typeof ActorKind];

export interface Actor {
  readonly kind: ActorKind;
  /** The id of the organization, tenant or account; 0 for the system itself. */
  readonly id: number;
}

/**
 * A joint change of the catalog: first the removes in order, then the puts. Changes of zones may
 * come anywhere: nothing else depends on them.
 */
export interface CatalogRecord {
  readonly type: typeof RecordType.CATALOG;
  readonly actor: Actor;
  /** `Catalog.nextId` after this record. */
  readonly nextId: number;
  readonly puts: readonly CatalogPut[];
  readonly removes: readonly CatalogRemove[];
  /** In a record read from the log they are puts and removes. */
  readonly zones?: readonly ZoneChange[];
}

/** One move of seats and area places of one event. */
export interface MoveRecord {
  readonly type: typeof RecordType.MOVE;
  readonly actor: Actor;
  /** `EventRow.partition` of the event. */
  readonly partition: number;
  readonly move: Move;
  /** LOCK: the slot of the new hold. NONE for every other move. */
  readonly hold: number;
  /** LOCK: the end of the hold, in milliseconds since 1970, 0 for never. 0 for every other move. */
  readonly expiresAtMs: number;
  /** LOCK and EXPIRE: the session of the hold. Otherwise as in the command. Empty for none. */
  readonly session: string;
  /** LOCK and EXPIRE: the type of the hold. DIRECT_SALE: as in the command. Empty otherwise. */
  readonly holdType: string;
  /** Seat indexes, each once. */
  readonly seats: Uint32Array;
  /**
   * Triples: area index, hold slot, places. The slot names the hold whose places move (UNLOCK,
   * SALE, EXPIRE) or the new hold (LOCK); NONE otherwise.
   */
  readonly areas: Uint32Array;
  /** LOCK under an admission token: the visitor. */
  readonly visitor?: number;
}

/** The seats and places of a move. */
export type Movement = Omit<MoveRecord, "type">;

/** A lock, sale or block that was made in another cell, with its number and time there. */
export interface ArrivalRecord extends Movement {
  readonly type: typeof RecordType.ARRIVAL;
  /**
   * LOCK: the start of the hold, in milliseconds since 1970, at most the time of the record. 0 for
   * every other move.
   */
  readonly startedAtMs: number;
  /** LOCK: the fence of the hold alone. Otherwise by entry of `seats`: its fence; 0 for none. */
  readonly fences: Float64Array;
  /** More than every fence of the event so far. */
  readonly fenceBound: number;
}

/** Prices assigned to, or removed from, seats and areas of one event. */
export interface PriceRecord {
  readonly type: typeof RecordType.PRICE;
  readonly actor: Actor;
  /** `EventRow.partition` of the event. */
  readonly partition: number;
  /** Triples: price slot (0 removes the price), first seat index, seats in the run. */
  readonly runs: Uint32Array;
  /** Triples: area index, price slot (0 removes the price), capacity (with slot 0: SOLD places). */
  readonly areas: Uint32Array;
}

/** Later ends of holds of one event. */
export interface ExtensionRecord {
  readonly type: typeof RecordType.EXTENSION;
  readonly actor: Actor;
  /** `EventRow.partition` of the event. */
  readonly partition: number;
  /** As in the command. Empty for none. */
  readonly session: string;
  /** Slots of the holds, each once, rising. */
  readonly holds: Uint32Array;
  /** Their ends in that order: milliseconds since 1970. */
  readonly endsAtMs: Float64Array;
  /** Transitions: the seats of each hold, and its areas. */
  readonly places: number;
}

/** The log stores these codes, so they are never renumbered. */
export const DoorAct = { JOIN: 1, OPEN: 2, INVITE: 3, ENTER: 4, END: 5 } as const;

/** A step of a door. Visitors are numbered in order of arrival, from 0. */
export type DoorStep =
  /** A new visitor, or one that comes back. `entry` has sixteen bytes. */
  | { readonly act: typeof DoorAct.JOIN; readonly visitor: number; readonly entry: Uint8Array }
  /** The door opens. `seed` has 32 bytes; `order` has the drawn visitors, the first place first. */
  | { readonly act: typeof DoorAct.OPEN; readonly seed: Uint8Array; readonly order: Uint32Array }
  /** Invites the places up to `through`, until then in milliseconds since 1970. */
  | { readonly act: typeof DoorAct.INVITE; readonly through: number; readonly untilMs: number }
  /** `seconds` is how long the admission lasts, and `untilMs` when it ends. */
  | {
      readonly act: typeof DoorAct.ENTER;
      readonly visitor: number;
      readonly seconds: number;
      readonly untilMs: number;
    }
  /** Visitors leave, or their invitation or admission has run out. */
  | { readonly act: typeof DoorAct.END; readonly visitors: Uint32Array };

/** A step of the door of one event. The event is shown as before. */
export interface DoorRecord {
  readonly type: typeof RecordType.DOOR;
  readonly actor: Actor;
  /** `EventRow.partition` of the event. */
  readonly partition: number;
  readonly step: DoorStep;
}

/** A step of a cart on one event. */
export type CartPart = MoveRecord | ExtensionRecord;

/**
 * Moves and extensions of one or more events, all or none. Of the parts on one event, each begins
 * with the inventory as the parts before it leave it; its locks are one hold.
 */
export interface CartRecord {
  readonly type: typeof RecordType.CART;
  readonly actor: Actor;
  /** Of the cart; a part may have another one. Empty for none. */
  readonly session: string;
  /** At least one. */
  readonly parts: readonly CartPart[];
}

/** Records about one event. */
export type EventRecord = MoveRecord | PriceRecord | ExtensionRecord | ArrivalRecord | DoorRecord;

/** Records about the inventory and the doors of events. */
export type InventoryRecord = EventRecord | CartRecord;

export type LogRecord = CatalogRecord | InventoryRecord;

/** @returns The partition numbers of a record, each once. Cost: O(parts of a cart). */
export function partitionsOf(record: InventoryRecord): readonly number[] {
  if (record.type !== RecordType.CART) return [record.partition];
  return [...new Set(record.parts.map(({ partition }) => partition))];
}

/** @returns The parts of a cart on one event, in order. */
export function partsOn({ parts }: CartRecord, number: number): readonly CartPart[] {
  return parts.filter(({ partition }) => partition === number);
}

/**
 * @returns The record on some events alone; null when it has nothing there.
 * Cost: O(parts of a cart).
 */
export function recordOn<Of extends InventoryRecord>(
  record: Of,
  isWanted: (partition: number) => boolean,
): Of | null {
  if (record.type !== RecordType.CART) return isWanted(record.partition) ? record : null;
  const parts = record.parts.filter(({ partition }) => isWanted(partition));
  if (parts.length === record.parts.length) return record;
  return parts.length === 0 ? null : { ...record, parts };
}
