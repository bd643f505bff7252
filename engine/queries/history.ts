/**
 * The audit trail as its readers see it: the transitions of seats and areas, and the seat map of an
 * event at an earlier moment. The trail itself is kept outside the engine.
 */
import type { Caller } from "../bodies.ts";
import type { EventStatus } from "../catalog.ts";
import { type BookingState, SeatState } from "../inventory/states.ts";
import type { Actor } from "../records.ts";
import type { AreaFacts, SeatFacts, SeatQuery } from "./seats.ts";

/** The client behind a question. */
export interface WaitingClient {
  /** Set by the trail; to be called when nobody waits any more. */
  onGone: (() => void) | null;
}

/** A seat, or some places of an area, moved from one state to another. */
export interface Transition {
  /** The sequence number of the record. */
  readonly sequence: number;
  /** Position among the event's transitions of the record, from 0. */
  readonly ordinal: number;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
  /** The name of the move, or of the other cause. */
  readonly call: string;
  readonly actor: Actor;
  /** That of the hold, else as in the request; empty for none. */
  readonly session: string;
  /** That of the hold; for a direct sale as in the request; empty for none. */
  readonly holdType: string;
  readonly placeId: number;
  readonly isArea: boolean;
  /** Null when the place did not exist before. */
  readonly from: SeatState | null;
  /** Null when the place no longer exists. */
  readonly to: SeatState | null;
  /** The number of places of an area; null for a seat. */
  readonly places: number | null;
  /** The price after the transition; 0 for none. */
  readonly priceId: number;
  /** The fence of the entered, kept or left hold; 0 for none. */
  readonly hold: number;
  /** The key of its channel, null for none; left out where the record leaves it as it is. */
  readonly channel?: string | null;
}

/** Sort properties of transitions, as the interface names them. */
export const TRANSITION_SORTS = [
  "sequence",
  "ordinal",
  "time",
  "call",
  "actorType",
  "actorId",
  "sessionId",
  "holdType",
  "holdSequence",
  "seatId",
  "groupOfSeatsId",
  "capacity",
  "fromState",
  "toState",
  "priceId",
  "channel",
] as const;
export type TransitionSort = (typeof TRANSITION_SORTS)[number];

export interface TransitionQuery {
  readonly seatId?: number | undefined;
  readonly areaId?: number | undefined;
  readonly session?: string | undefined;
  /** Milliseconds since 1970, inclusive. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
  /** Inclusive, as `toSequence` is. */
  readonly fromSequence?: number | undefined;
  readonly toSequence?: number | undefined;
  /** Equal transitions are listed from the oldest on. */
  readonly sort: readonly { readonly property: TransitionSort; readonly descending: boolean }[];
  readonly offset: number;
  readonly limit: number;
}

export interface TransitionPage {
  readonly transitions: readonly Transition[];
  readonly total: number;
}

/** The records covered by the trail. */
export interface TrailExtent {
  /** 1 when the trail covers the log from its beginning. */
  readonly firstSequence: number;
  /** Milliseconds since 1970; 0 when the trail covers the log from its beginning. */
  readonly firstTimeMs: number;
  readonly lastSequence: number;
}

/** After the record with this sequence number, or after all records up to this time. */
export type Moment = { readonly sequence: number } | { readonly timeMs: number };

export interface PastSeats {
  readonly seats: readonly SeatFacts[];
  readonly total: number;
  /** True when ACTIVE seats could be booked at the moment. */
  readonly isOnSale: boolean;
}

interface OfEvent {
  readonly eventId: string;
  /** Names an event that need not be the newest one with its id. */
  readonly partition?: number;
}

/** An event, which may have been deleted since. */
export interface FollowedEvent {
  readonly partition: number;
  readonly eventId: string;
  readonly organizationId: number;
}

/** ACTIVE or LOCKED seats and places. */
export interface OpenCount {
  readonly seats: number;
  /** By id of the area. */
  readonly areas: ReadonlyMap<number, number>;
}

/** Every question to the trail. */
export interface AuditQuestions {
  readonly owner: OfEvent;
  readonly transitions: OfEvent & { readonly query: TransitionQuery };
  readonly seats: OfEvent & { readonly moment: Moment; readonly query: SeatQuery };
  readonly areas: OfEvent & { readonly moment: Moment };
  readonly changes: OfEvent & { readonly since: number; readonly limit: number };
  /** From the beginning of the trail when `since` is null. */
  readonly columns: OfEvent & { readonly since: number | null };
  /** After a record. */
  readonly open: OfEvent & { readonly sequence: number };
  /** By partition alone. */
  readonly event: Required<OfEvent>;
  /** After a record, or from the beginning of the trail. */
  readonly changed: { readonly since: number };
  /** By id of the stored reply. */
  readonly reply: { readonly id: string };
}
export interface AuditAnswers {
  /** The id of the owner, now or before. */
  readonly owner: number;
  readonly transitions: TransitionPage;
  readonly seats: PastSeats;
  readonly areas: readonly AreaFacts[];
  readonly changes: ChangePage;
  readonly columns: ChangeColumns;
  readonly open: OpenCount;
  readonly event: FollowedEvent;
  /** Events with changes; those in damaged rows are left out. */
  readonly changed: readonly FollowedEvent[];
  /** The body of a stored reply too long for memory; null when the trail has none. */
  readonly reply: string | null;
}
export type AuditTopic = keyof AuditQuestions;
export type AuditQuestion<K extends AuditTopic = AuditTopic> = {
  [T in K]: { readonly about: T } & AuditQuestions[T];
}[K];

/** @returns The key of a fair queue: the organization, or the tenant without one. */
export function askerOf({ organizationId, tenantId }: Caller): string {
  return String(organizationId || `tenant-${tenantId}`);
}

/** Why a question has no answer. */
export const AuditGap = {
  /** The event is not in the trail, or did not exist at that moment. */
  NO_EVENT: "no event",
  /** The moment is before the beginning of the trail. */
  TOO_EARLY: "too early",
  /** A part of the trail that the answer needs is damaged. */
  DAMAGED: "damaged",
  /** The record does not exist yet. */
  TOO_LATE: "too late",
  /** More transitions match than can be sorted by anything but their time. */
  TOO_MANY: "too many",
  /** Too many transitions would have to be read. */
  TOO_LONG: "too long",
  /** Too many questions are waiting. */
  BUSY: "busy",
  /** The trail cannot be read or updated at present. */
  UNAVAILABLE: "unavailable",
} as const;
export type AuditGap = (typeof AuditGap)[keyof typeof AuditGap];

export type AuditOutcome<Value> =
  | {
      readonly gap: null;
      readonly value: Value;
      readonly extent: TrailExtent;
      /** Of a past map: the last record of the event up to the moment. */
      readonly sequence?: number;
    }
  | { readonly gap: AuditGap; readonly extent: TrailExtent | null };

// A change of an event: the effects of one record on its shown form, with the values after the
// change. Changes are made from recent records in memory, and from the audit trail; both make the
// same of the same record.

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
  /** True when ACTIVE seats can be booked; null without a change. */
  readonly bookable: boolean | null;
}

/** A seat after a change. State and price are null when it has no price, or is not listed. */
export interface SeatAfter {
  readonly id: number;
  readonly state: BookingState | null;
  readonly priceId: number | null;
  /** Milliseconds since 1970: the end of its hold; null unless LOCKED with an end. */
  readonly expiresAtMs: number | null;
  /** The key of its channel, null for none; left out where the change leaves it as it is. */
  readonly channel?: string | null;
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
  /** True when there are later ones. */
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

/** @param state - Null for a seat outside the layout. */
export function listedState(state: SeatState | null): BookingState | null {
  return state === null || state < SeatState.ACTIVE ? null : (state as BookingState);
}
