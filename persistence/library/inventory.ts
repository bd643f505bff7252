/** The seats and areas of an event, now and at an earlier moment, and their audit trail. */
import { SeatState } from "../../engine/inventory/states.ts";
import { ownRow } from "../../engine/queries/access.ts";
import {
  type AuditAnswers,
  AuditGap,
  type AuditOutcome,
  type AuditQuestion,
  type Moment,
  type TrailExtent,
  type Transition,
  type TransitionQuery,
} from "../../engine/queries/audit-trail.ts";
import { type ListedEvent, listedEvent } from "../../engine/queries/listed-event.ts";
import {
  type AreaFacts,
  areaFacts,
  type SeatFacts,
  seatFacts,
} from "../../engine/queries/place-facts.ts";
import { listSeats } from "../../engine/queries/seat-listing.ts";
import { isRefused } from "../../engine/results.ts";
import { type Refusal, type RefusalCode, type Result, resultOf } from "../store/results.ts";
import { type Acting, copyOf, type NotOwn } from "./acting.ts";
import { type Arguments, refuseArguments } from "./arguments.ts";
import { type StateName, stateName } from "./changes.ts";

/** Why a question to the audit trail is refused. */
export type NotInTrail = NotOwn | "OVERLOADED" | "LOG_UNAVAILABLE";

/** A seat of an event. */
export interface Seat extends Omit<SeatFacts, "state"> {
  /** Null while the seat has no price. */
  readonly state: StateName | null;
}

/** Some of the seats of an event. */
export interface Seats {
  /** The last record that they reflect, from which `subscribe` continues. */
  readonly sequence: number;
  readonly seats: readonly Seat[];
  /** The number of seats that match, on all pages. */
  readonly total: number;
}

/** The general-admission areas of an event. */
export interface Areas {
  /** The last record that they reflect, from which `subscribe` continues. */
  readonly sequence: number;
  /** In the order of the layout. */
  readonly areas: readonly AreaFacts[];
}

/** A member of `Seat`; the name of `changedAtMs` is "updatedAt", as over HTTP. */
export type SeatSort = Exclude<keyof Seat, "changedAtMs"> | "updatedAt";

/** Which seats to list: by default all. */
export interface SeatFilter {
  readonly sectionId?: number | undefined;
  readonly rowId?: number | undefined;
  /** Milliseconds since 1970: only seats that changed then or later. */
  readonly changedSinceMs?: number | undefined;
  /** One criterion after the other; at last the id. */
  readonly sort?: readonly { readonly property: SeatSort; readonly descending: boolean }[];
  /** How many of the seats that match to leave out, and how many to list then. */
  readonly offset?: number;
  readonly limit?: number;
}

/** The seats of an event at an earlier moment. */
export interface PastSeats {
  readonly seats: readonly Seat[];
  readonly total: number;
  /** Whether ACTIVE seats could be booked then. */
  readonly isOnSale: boolean;
}

/** A transition of a seat, or of some places of an area. */
export interface AuditEntry extends Omit<Transition, "from" | "to"> {
  /** Null when the place had no price, or did not exist. */
  readonly from: StateName | null;
  readonly to: StateName | null;
}

/** Some of the transitions in the audit trail of an event. */
export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** The number of transitions that match, on all pages. */
  readonly total: number;
  /** The records that the trail covers. */
  readonly extent: TrailExtent;
}

/** Which transitions to list; every member may be left out. By default all, the oldest first. */
export type AuditFilter = Partial<TransitionQuery>;

const ALL = { offset: 0, limit: Number.MAX_SAFE_INTEGER };

export function seatsOf(
  acting: Acting,
  eventId: string,
  filter: SeatFilter,
): Promise<Result<Seats, NotOwn>> {
  return readEvent(acting, { eventId, seatFilter: filter }, (event) => {
    const { seats, total } = listSeats(event, { sort: [], ...ALL, ...copyOf(filter) });
    return { seats: seats.map((seat) => seatOf(seatFacts(event, seat))), total };
  });
}

export function areasOf(acting: Acting, eventId: string): Promise<Result<Areas, NotOwn>> {
  return readEvent(acting, { eventId }, ({ partition, prices }) => {
    return { areas: partition.layout.areas.map((_, area) => areaFacts(partition, prices, area)) };
  });
}

/** Reads the inventory of the caller's event, after its expired holds have ended. */
function readEvent<Shown extends object>(
  { store, caller }: Acting,
  given: Arguments & { readonly eventId: string },
  show: (event: ListedEvent) => Shown,
): Promise<Result<Shown & { readonly sequence: number }, NotOwn>> {
  return store.read((state) => {
    const refusal = refuseArguments(given);
    if (refusal !== null) return refusal;
    const { eventId } = given;
    const event = ownRow(state.catalog.events.get(eventId), caller, "event");
    if (isRefused(event)) return resultOf(event) as Refusal<NotOwn>;
    store.engine.expire(event);
    const shown = show(listedEvent(state, event));
    return { ok: true, value: { sequence: store.engine.sequence, ...shown } };
  });
}

export async function seatsAt(
  acting: Acting,
  eventId: string,
  moment: Moment,
  filter: SeatFilter,
): Promise<Result<PastSeats, NotInTrail>> {
  const refusal = refuseArguments({ eventId, moment, seatFilter: filter });
  if (refusal !== null) return refusal;
  const query = { sort: [], ...ALL, ...copyOf(filter) };
  const result = await ask(acting, { about: "seats", eventId, moment, query });
  if (!result.ok) return result;
  const { seats, ...rest } = result.value.answer;
  return { ok: true, value: { seats: seats.map(seatOf), ...rest } };
}

export async function areasAt(
  acting: Acting,
  eventId: string,
  moment: Moment,
): Promise<Result<readonly AreaFacts[], NotInTrail>> {
  const refusal = refuseArguments({ eventId, moment });
  if (refusal !== null) return refusal;
  const result = await ask(acting, { about: "areas", eventId, moment });
  return result.ok ? { ok: true, value: result.value.answer } : result;
}

export async function auditOf(
  acting: Acting,
  eventId: string,
  filter: AuditFilter,
): Promise<Result<AuditPage, NotInTrail>> {
  const refusal = refuseArguments({ eventId, auditFilter: filter });
  if (refusal !== null) return refusal;
  const query = { sort: [], ...ALL, ...copyOf(filter) };
  const result = await ask(acting, { about: "transitions", eventId, query });
  if (!result.ok) return result;
  const { answer, extent } = result.value;
  const entries = answer.transitions.map((transition) => ({
    ...transition,
    from: stateName(transition.from ?? SeatState.UNPRICED),
    to: stateName(transition.to ?? SeatState.UNPRICED),
  }));
  return { ok: true, value: { entries, total: answer.total, extent } };
}

function seatOf(facts: SeatFacts): Seat {
  return { ...facts, state: stateName(facts.state) };
}

interface Told<K extends keyof AuditAnswers> {
  readonly answer: AuditAnswers[K];
  readonly extent: TrailExtent;
}

/** Asks the trail about an event of the caller's, which may have been deleted. */
async function ask<K extends Exclude<keyof AuditAnswers, "reply">>(
  { store, caller }: Acting,
  question: AuditQuestion<K>,
): Promise<Result<Told<K>, NotInTrail>> {
  const { audit } = store;
  if (audit === null) throw new Error("this store was opened without the option `audit`");
  const { eventId } = question;
  const event = await store.read(({ catalog }) => catalog.events.get(eventId));
  const owner = event === undefined ? await audit.ask({ about: "owner", eventId }) : null;
  if (owner !== null && owner.gap !== null) return refuseGap(owner);
  const own = ownRow(event ?? { organizationId: owner!.value }, caller, "event");
  if (isRefused(own)) return resultOf(own) as Refusal<NotOwn>;
  const outcome = await audit.ask(question);
  if (outcome.gap !== null) return refuseGap(outcome);
  return { ok: true, value: { answer: outcome.value, extent: outcome.extent } };
}

const GAPS = {
  [AuditGap.NO_EVENT]: ["ENTITY_NOT_FOUND", "There was no such event then."],
  [AuditGap.TOO_EARLY]: ["VALIDATION_FAILED", "This is before the beginning of the audit trail."],
  [AuditGap.TOO_LATE]: ["VALIDATION_FAILED", "This is after the last record."],
  [AuditGap.TOO_MANY]: [
    "VALIDATION_FAILED",
    "Too many transitions match; filter them, or sort by sequence.",
  ],
  [AuditGap.BUSY]: ["OVERLOADED", "Too many questions are waiting; try again."],
  [AuditGap.UNAVAILABLE]: ["LOG_UNAVAILABLE", "The audit trail cannot be read at present."],
} as const satisfies Readonly<Record<AuditGap, readonly [RefusalCode, string]>>;

type Gap = Exclude<AuditOutcome<never>, { readonly gap: null }>;

function refuseGap({ gap }: Gap): Refusal<NotInTrail> {
  const [code, detail] = GAPS[gap];
  return { ok: false, code, detail, errors: [] };
}
