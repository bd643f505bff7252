/**
 * A change of an event: what one record changed in it as it is shown, with the values after the
 * change. Changes are made from recent records in memory, and from the audit trail; both make the
 * same of the same record.
 */
import type { EventStatus } from "../catalog.ts";
import { type BookingState, SeatState } from "../inventory/states.ts";

export interface EventChange {
  /** The record. */
  readonly sequence: number;
  /** The event's last record before it; 0 when it creates the event. */
  readonly previous: number;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
  /** As in the audit trail; the last one of an event is "deleteevent". */
  readonly call: string;
  /** As in the call, or that of a hold that expired; empty for none. */
  readonly session: string;
  /** Of a lock, a direct sale, or a hold that expired; empty for none. */
  readonly holdType: string;
  /** In ascending order of id, as the areas are. */
  readonly seats: readonly SeatAfter[];
  readonly areas: readonly AreaAfter[];
  /** Null where it does not change. */
  readonly status: EventStatus | null;
  /** Whether ACTIVE seats can be booked; null where that does not change. */
  readonly bookable: boolean | null;
}

/** A seat after a change. State and price are null when it has no price, or is not listed. */
export interface SeatAfter {
  readonly id: number;
  readonly state: BookingState | null;
  readonly priceId: number | null;
  /** Milliseconds since 1970: the end of its hold; null unless LOCKED with an end. */
  readonly expiresAtMs: number | null;
}

/** The places of an area after a change. */
export interface AreaAfter {
  readonly id: number;
  readonly active: number;
  readonly locked: number;
  readonly sold: number;
  readonly blocked: number;
}

/** Consecutive changes of an event. */
export interface ChangePage {
  readonly changes: readonly EventChange[];
  /** Whether there are later ones. */
  readonly hasMore: boolean;
}

/** Consecutive changes of an event in columns. Seats and areas are in the order of the changes. */
export interface ChangeColumns {
  readonly sequences: readonly number[];
  readonly timesMs: readonly number[];
  readonly calls: readonly string[];
  /** Index: change. Its number of seats, and of areas. */
  readonly seatCounts: readonly number[];
  readonly areaCounts: readonly number[];
  readonly seatIds: readonly number[];
  /** 0 when it has no price, or is not listed. */
  readonly states: readonly number[];
  /** 0 for none. */
  readonly priceIds: readonly number[];
  readonly areas: readonly AreaAfter[];
  readonly hasMore: boolean;
}

/** A page ends after so many seats and areas, whatever its limit; a change is never split. */
export const PLACES_PER_PAGE_MAX = 20_000;

/** The number of seats and areas; at least 1. */
export function placesOf({ seats, areas }: EventChange): number {
  return Math.max(1, seats.length + areas.length);
}

export function byId(a: { readonly id: number }, b: { readonly id: number }): number {
  return a.id - b.id;
}

/** @param state - Null for a seat that is not in the layout. */
export function listedState(state: SeatState | null): BookingState | null {
  return state === null || state < SeatState.ACTIVE ? null : (state as BookingState);
}
