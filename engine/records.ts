/**
 * Records: what the log keeps. A record is a fact that happened, never a request, so replay needs
 * no rules and an old log means the same under new rules. Indexes (seats, areas) are those of the
 * event's layout at that point of the log; a hold is named by its slot.
 */
import type { CatalogPut, CatalogRemove } from "./catalog.ts";
import type { Move } from "./inventory/states.ts";

/** Codes in the log: never renumbered. */
export const RecordType = { CATALOG: 1, MOVE: 2, PRICE: 3 } as const;

/** Who caused a record. Codes are in the log: never renumbered. */
export const ActorKind = { SYSTEM: 0, ORGANIZATION: 1, TENANT: 2, ACCOUNT: 3 } as const;
export type ActorKind = (typeof ActorKind)[keyof typeof ActorKind];

export interface Actor {
  readonly kind: ActorKind;
  /** The id of the organization, tenant or account; 0 for the system itself. */
  readonly id: number;
}

/** Rows put into and taken out of the catalog, in order, all at once. */
export interface CatalogRecord {
  readonly type: typeof RecordType.CATALOG;
  readonly actor: Actor;
  /** The next Long id to give out once this record is applied. */
  readonly nextId: number;
  readonly puts: readonly CatalogPut[];
  readonly removes: readonly CatalogRemove[];
}

/** Seats and area places of one event that went through one move together. */
export interface MoveRecord {
  readonly type: typeof RecordType.MOVE;
  readonly actor: Actor;
  /** Number of the partition: `EventRow.partition`. */
  readonly partition: number;
  readonly move: Move;
  /** LOCK: the slot of the new hold, free before. NONE for every other move. */
  readonly hold: number;
  /** LOCK: milliseconds since 1970 at which the hold ends, 0 for never. 0 for every other move. */
  readonly expiresAtMs: number;
  /** As the caller gave it; empty when it gave none. LOCK: the session that has the hold. */
  readonly session: string;
  /** LOCK and DIRECT_SALE: the hold type, as given. Empty otherwise. */
  readonly holdType: string;
  /** Seat indexes, each once. */
  readonly seats: Uint32Array;
  /**
   * Triples: area index, hold slot, places. The slot says whose held places move (UNLOCK, SALE,
   * EXPIRE) and is NONE otherwise; LOCK adds to the new hold.
   */
  readonly areas: Uint32Array;
}

/** Prices given to, or taken from, seats and areas of one event. */
export interface PriceRecord {
  readonly type: typeof RecordType.PRICE;
  readonly actor: Actor;
  readonly partition: number;
  /** Triples: price slot (0 takes the price away), first seat index, seats in the run. */
  readonly runs: Uint32Array;
  /** Triples: area index, price slot (0 takes the price away), capacity: with 0 what is sold. */
  readonly areas: Uint32Array;
}

export type LogRecord = CatalogRecord | MoveRecord | PriceRecord;
