/** What a row of the trail says, and how it is stored as numbers. */
import { MOVES, type SeatState } from "../../engine/inventory/states.ts";
import type { Actor } from "../../engine/records.ts";
import { Malformed } from "../disk/faults.ts";

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

/** What a record says of its call, beside its transitions. */
export interface CallFacts {
  /** Of a lock: milliseconds since 1970 at which its hold ends; 0 for never. */
  readonly endsAtMs: number;
  /** Whether the call names its session. */
  readonly isNamed: boolean;
}
export const NO_FACTS: CallFacts = { endsAtMs: 0, isNamed: false };

/** The hold of a place, or that of the call that moves it. */
export type Held = Pick<PlaceFacts, "hold" | "session" | "holdType">;
export const NO_HOLD: Held = { hold: 0, session: "", holdType: "" };

export type Mutable<Value> = { -readonly [Key in keyof Value]: Value[Key] };

/** Without a spread, because it is called very often. */
export function seatMove(
  from: SeatState | null,
  state: SeatState | null,
  priceId: number,
  { hold, session, holdType }: Held,
): Mutable<Move> {
  return { from, state, priceId, hold, session, holdType, places: null, counts: null };
}

/** The key of a seat or an area; only the latter is odd. */
export function keyOf(placeId: number, isArea: boolean): number {
  return 2 * placeId + Number(isArea);
}

export const isAreaKey = (key: number) => key % 2 === 1;
export const placeOf = (key: number) => Math.floor(key / 2);

/** Numbers of a record: sequence, time, call, actor, first row. */
export const RECORD_STEP = 5;
/** Numbers of a row: key, states, price, hold. Its session and its hold type are texts. */
export const ROW_NUMBERS = 4;
/** Numbers of a row of an area: places, and its counts. */
export const AREA_STEP = 5;
/** In place of a state, when there is none. */
export const NO_STATE = 7;
const ACTOR_KINDS = 4;

/** Causes of transitions that are not moves. Blocks have these codes, so they never change. */
export const Call = { PRICES: 9, PRICE_DELETED: 10, LAYOUT: 11, EVENT: 12 } as const;

const CALL_NAMES: Readonly<Record<number, string>> = {
  ...Object.fromEntries(Object.entries(MOVES).map(([code, { name }]) => [code, name])),
  [Call.PRICES]: "prices",
  [Call.PRICE_DELETED]: "deleteprice",
  [Call.LAYOUT]: "layout",
  [Call.EVENT]: "event",
};

/** @param code - A `Move` or a `Call`. */
export function nameOfCall(code: number): string {
  const name = CALL_NAMES[code];
  if (name === undefined) throw new Malformed("a known call", `${code}`);
  return name;
}

export const codeOfActor = ({ kind, id }: Actor) => id * ACTOR_KINDS + kind;

export const actorOfCode = (code: number): Actor => {
  const kind = (code % ACTOR_KINDS) as Actor["kind"];
  return { kind, id: Math.floor(code / ACTOR_KINDS) };
};
