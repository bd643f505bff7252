/** Writes transitions of seats and areas, and reads the last one of a place. */
import { SeatState } from "../../engine/inventory/states.ts";
import type { SqlFile, SqlRow } from "../disk/sqlite.ts";

/** Places of an area by state: ACTIVE, LOCKED, SOLD, BLOCKED. */
export type Counts = readonly [number, number, number, number];

/** A seat or an area after a transition. */
export interface PlaceFacts {
  /** Of a seat; null when it is not in the layout. */
  readonly state: SeatState | null;
  /** 0 for none. */
  readonly priceId: number;
  /** The sequence number of the lock that began the hold of a LOCKED seat; 0 for none. */
  readonly hold: number;
  readonly session: string;
  readonly holdType: string;
  /** null for a seat. */
  readonly counts: Counts | null;
}

/** A transition: the place after it, and what it moved. */
export interface Move extends PlaceFacts {
  /** The state before; null when the seat or area is new in the layout. */
  readonly from: SeatState | null;
  /** How many places of an area; null for a seat. */
  readonly places: number | null;
}

/** The record of a transition. */
export interface At {
  readonly sequence: number;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
}

/** The hold of a place, or that of the call that moves it. */
export type Held = Pick<PlaceFacts, "hold" | "session" | "holdType">;
export const NO_HOLD: Held = { hold: 0, session: "", holdType: "" };
/** A seat without a transition. */
const FRESH_SEAT: PlaceFacts = { state: SeatState.UNPRICED, priceId: 0, ...NO_HOLD, counts: null };
const FRESH_AREA: PlaceFacts = { ...FRESH_SEAT, counts: [0, 0, 0, 0] };
/** Places that are cached, a few hundred bytes each. */
export const CACHED_MAX = 200_000;

const INSERT = `INSERT INTO transitions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const LAST = `SELECT toState, priceId, hold, session, holdType, active, locked, sold, blocked
  FROM transitions WHERE partition = ? AND placeId = ?
  ORDER BY sequence DESC, ordinal DESC LIMIT 1`;
/** The last row of every place up to a record, in the order in which they were written. */
const LAST_OF_ALL = `SELECT placeId, toState, priceId, hold, session, holdType, timeMs,
  active, locked, sold, blocked, max((sequence << 20) | ordinal) AS position
  FROM transitions WHERE partition = ? AND sequence <= ? GROUP BY placeId ORDER BY position`;

/** Without a spread, because it is called for every seat of every record. */
export function seatMove(
  from: SeatState | null,
  state: SeatState | null,
  priceId: number,
  { hold, session, holdType }: Held,
): Move {
  return { from, state, priceId, hold, session, holdType, places: null, counts: null };
}

export class AuditPlaces {
  readonly #sql: SqlFile;
  /** By partition, then by id of the seat or area. */
  #cached = new Map<number, Map<number, PlaceFacts>>();
  #cachedCount = 0;
  /** By partition: how many rows the current record has. */
  readonly #ordinals = new Map<number, number>();
  /** Rows written so far. */
  written = 0;

  readonly #cachedMax: number;

  constructor(sql: SqlFile, cachedMax = CACHED_MAX) {
    this.#sql = sql;
    this.#cachedMax = cachedMax;
  }

  /** Places in memory. */
  get cachedCount(): number {
    return this.#cachedCount;
  }

  seat(partition: number, id: number): PlaceFacts {
    return this.#last(partition, id) ?? FRESH_SEAT;
  }

  area(partition: number, id: number): PlaceFacts & { readonly counts: Counts } {
    return (this.#last(partition, id) ?? FRESH_AREA) as PlaceFacts & { readonly counts: Counts };
  }

  /** Reads ids and facts of all places that have a row. Cost: O(rows of the event). */
  *all(partition: number): Generator<[number, PlaceFacts]> {
    const rows = this.#sql.list(LAST_OF_ALL, partition, Number.MAX_SAFE_INTEGER);
    for (const row of rows) yield [Number(row["placeId"]), factsOf(row)];
  }

  /** To be called before the first row of a record. */
  begin(): void {
    this.#ordinals.clear();
  }

  write(partition: number, id: number, { sequence, timeMs }: At, move: Move): void {
    const { from, state, priceId, hold, session, holdType, places, counts } = move;
    const ordinal = this.#ordinals.get(partition) ?? 0;
    this.#ordinals.set(partition, ordinal + 1);
    const [active, locked, sold, blocked] = counts ?? [null, null, null, null];
    const key = [partition, id, sequence, ordinal] as const;
    const facts = [timeMs, from, state, priceId, hold, session, holdType] as const;
    this.#sql.run(INSERT, ...key, ...facts, places, active, locked, sold, blocked);
    this.#cache(partition, id, move);
    this.written += 1;
  }

  /** Removes the places of the partition from the cache. */
  dropCache(partition: number): void {
    this.#cachedCount -= this.#cached.get(partition)?.size ?? 0;
    this.#cached.delete(partition);
  }

  #last(partition: number, id: number): PlaceFacts | undefined {
    const cached = this.#cached.get(partition)?.get(id);
    if (cached !== undefined) return cached;
    const row = this.#sql.row(LAST, partition, id);
    if (row === undefined) return undefined;
    const facts = factsOf(row);
    this.#cache(partition, id, facts);
    return facts;
  }

  #cache(partition: number, id: number, facts: PlaceFacts): void {
    if (this.#cachedCount >= this.#cachedMax) {
      this.#cached = new Map();
      this.#cachedCount = 0;
    }
    let places = this.#cached.get(partition);
    if (places === undefined) this.#cached.set(partition, (places = new Map()));
    if (!places.has(id)) this.#cachedCount += 1;
    places.set(id, facts);
  }
}

function factsOf(row: SqlRow): PlaceFacts {
  const { active, locked, sold, blocked } = row as Record<string, number>;
  return {
    state: row["toState"] as SeatState | null,
    priceId: Number(row["priceId"]),
    hold: Number(row["hold"]),
    session: String(row["session"]),
    holdType: String(row["holdType"]),
    counts: row["active"] === null ? null : [active!, locked!, sold!, blocked!],
  };
}
