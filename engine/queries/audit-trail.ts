/**
 * The audit trail as those who read it see it: which transitions a seat or an area went through,
 * and the map of an event as it was. Types only: the trail is kept outside the engine.
 */
import type { SeatState } from "../inventory/states.ts";
import type { Actor } from "../records.ts";
import type { AreaFacts, SeatFacts } from "./place-facts.ts";
import type { SeatQuery } from "./seat-listing.ts";

/** One seat, or some places of an area, that went from a state to a state. */
export interface Transition {
  /** Of the record in the log. */
  readonly sequence: number;
  /** Position among the transitions of the event in that record, from 0. */
  readonly ordinal: number;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
  /** The name of the move, or what else brought the transition about. */
  readonly call: string;
  readonly actor: Actor;
  /** Of the hold, else as the call gave it; empty for none. */
  readonly session: string;
  /** Of the hold; for a direct sale as the call gave it; empty for none. */
  readonly holdType: string;
  readonly placeId: number;
  readonly isArea: boolean;
  /** Null where there was no such place, or is none any more. */
  readonly from: SeatState | null;
  readonly to: SeatState | null;
  /** How many places of an area went; null for a seat. */
  readonly places: number | null;
  /** The price afterwards; 0 for none. */
  readonly priceId: number;
  /** Sequence number of the lock that began the hold which it enters, has or leaves; 0 for none. */
  readonly hold: number;
}

export interface TransitionQuery {
  readonly seatId?: number | undefined;
  readonly areaId?: number | undefined;
  readonly session?: string | undefined;
  /** Milliseconds since 1970; both ends belong to the range. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
  /** Both ends belong to the range. */
  readonly fromSequence?: number | undefined;
  readonly toSequence?: number | undefined;
  readonly newestFirst: boolean;
  readonly offset: number;
  readonly limit: number;
}

export interface TransitionPage {
  readonly transitions: readonly Transition[];
  readonly total: number;
}

/** From which record to which the trail is kept. */
export interface TrailExtent {
  /** 1 when it is kept from the beginning. */
  readonly firstSequence: number;
  /** Milliseconds since 1970; 0 when it is kept from the beginning. */
  readonly firstTimeMs: number;
  readonly lastSequence: number;
}

/** The end of a record, or of everything up to a time (milliseconds since 1970). */
export type Moment = { readonly sequence: number } | { readonly timeMs: number };

export interface PastSeats {
  readonly seats: readonly SeatFacts[];
  readonly total: number;
  /** Whether the event was published. */
  readonly isPublished: boolean;
}

/** What can be asked, and what is answered. Everything but `owner` is of one event by its id. */
export interface AuditQuestions {
  /** The organization whose event it is or was. */
  readonly owner: { readonly eventId: string };
  readonly transitions: { readonly eventId: string; readonly query: TransitionQuery };
  readonly seats: {
    readonly eventId: string;
    readonly moment: Moment;
    readonly query: SeatQuery;
  };
  readonly areas: { readonly eventId: string; readonly moment: Moment };
}
export interface AuditAnswers {
  readonly owner: number;
  readonly transitions: TransitionPage;
  readonly seats: PastSeats;
  readonly areas: readonly AreaFacts[];
}
export type AuditTopic = keyof AuditQuestions;
export type AuditQuestion<K extends AuditTopic = AuditTopic> = {
  [T in K]: { readonly about: T } & AuditQuestions[T];
}[K];

/** Why there is no answer. */
export const AuditGap = {
  /** The trail knows no such event, or there was none at that moment. */
  NO_EVENT: "no event",
  /** It is asked for what was before the beginning of the trail. */
  TOO_EARLY: "too early",
  /** It is asked for a record that is not there yet. */
  TOO_LATE: "too late",
  /** Too many questions wait already. */
  BUSY: "busy",
  /** The trail cannot be read or brought up to date just now. */
  UNAVAILABLE: "unavailable",
} as const;
export type AuditGap = (typeof AuditGap)[keyof typeof AuditGap];

export type AuditOutcome<Value> =
  | { readonly gap: null; readonly value: Value; readonly extent: TrailExtent }
  | { readonly gap: AuditGap; readonly extent: TrailExtent | null };
