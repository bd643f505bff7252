/** The audit trail of an event, and its past seat maps. Deleted events are included. */
import { SESSION_LENGTH_MAX } from "../../engine/constants.ts";
import { STATE_NAMES } from "../../engine/inventory/states.ts";
import { ownRow } from "../../engine/queries/access.ts";
import {
  askerOf,
  type AuditAnswers,
  AuditGap,
  type AuditOutcome,
  type AuditQuestion,
  type Moment,
  type TrailExtent,
  type Transition,
  TRANSITION_SORTS,
  type TransitionQuery,
  type TransitionSort,
} from "../../engine/queries/history.ts";
import type { SeatQuery } from "../../engine/queries/seats.ts";
import { isRefused, refuseInvalid, Result } from "../../engine/results.ts";
import { LOCAL_DATE, LONG, SEQUENCE, text } from "../../engine/schema.ts";
import {
  EVENT_HISTORY,
  PAGE_QUERY,
  pageAnswer,
  type PageQuery,
  pageShape,
  type Range,
  rangeOf,
} from "../api/page.ts";
import { type Context, type Handled, type QueryOf, type Route, route } from "../api/route.ts";
import { Access } from "../auth/access.ts";
import { answer, asOfSequence, compressed, FrontResult, type Problem } from "../http/answers.ts";
import { localDateTime, momentMs } from "../http/json.ts";
import { areaView, AUDIT_ENTRY, AUDIT_TRAIL, historyView, seatView } from "../api/entities.ts";
import { type ById, readEvent, UUID_ID } from "./handling.ts";

const FILTERS = {
  seatId: { shape: LONG, description: "Transitions of this seat." },
  groupOfSeatsId: { shape: LONG, description: "Transitions of places in this area." },
  sessionId: {
    shape: text({ minLength: 1, maxLength: SESSION_LENGTH_MAX }),
    description: "Transitions by this session, or of what it held.",
  },
  from: { shape: LOCAL_DATE, description: "At or after this date-time." },
  to: { shape: LOCAL_DATE, description: "At or before this date-time." },
  fromSequence: { shape: LONG, description: "From this sequence number on." },
  toSequence: { shape: LONG, description: "Up to this sequence number." },
};

/** The query parameter of rows that can also show the past. */
export const AS_OF = {
  shape: text({ format: "moment" }),
  description: "As it was after this sequence number, or at this date-time.",
};

const HISTORY_SINCE = {
  shape: SEQUENCE,
  description: "Changes after this sequence number; all that are kept when left out.",
};

const BASE = { tag: "Events", access: Access.ORGANIZATION, durable: true, isHistory: true };

export const AUDIT_ROUTES: readonly Route[] = [
  route(BASE, "GET /api/private/v2.0/events/{id}/audit/", {
    params: UUID_ID,
    query: { ...PAGE_QUERY, ...FILTERS },
    answers: { 200: pageShape(AUDIT_ENTRY, { trail: AUDIT_TRAIL }) },
    problems: [400, 403, 404, 410],
    handle: listTransitions,
  }),
  route(BASE, "GET /api/private/v2.0/events/{id}/history/", {
    params: UUID_ID,
    query: { since: HISTORY_SINCE },
    answers: { 200: EVENT_HISTORY },
    problems: [400, 403, 404, 410],
    handle: readHistory,
  }),
];

async function readHistory(
  context: Context<{ readonly id: string }, { readonly since: number | undefined }>,
): Promise<Handled> {
  const eventId = await ownedEvent(context);
  if (typeof eventId !== "string") return eventId;
  const { since } = context.query;
  const outcome = await ask(context, { about: "columns", eventId, since: since ?? null });
  if (outcome.gap !== null) return refuseGap(outcome, "since", since);
  const first = since ?? outcome.extent.firstSequence - 1;
  return compressed(answer(200, historyView(outcome.value, first)), context.head.acceptEncoding);
}

type AuditQuery = PageQuery & QueryOf<typeof FILTERS>;

async function listTransitions(
  context: Context<{ readonly id: string }, AuditQuery>,
): Promise<Handled> {
  const { query } = context;
  const eventId = await ownedEvent(context);
  if (typeof eventId !== "string") return eventId;
  const range = rangeOf(query, TRANSITION_SORTS);
  if (isRefused(range)) return range;
  const outcome = await ask(context, {
    about: "transitions",
    eventId,
    query: transitionQuery(query, range),
  });
  if (outcome.gap !== null) {
    const field = query.to === undefined ? "toSequence" : "to";
    return refuseGap(outcome, field, query[field]);
  }
  const { value, extent } = outcome;
  const content = value.transitions.map(entryView);
  return pageAnswer(content, value.total, query, { trail: trailView(extent) });
}

function transitionQuery(
  query: AuditQuery,
  { sort, offset, limit }: Range<TransitionSort>,
): TransitionQuery {
  const { seatId, groupOfSeatsId: areaId, sessionId: session, fromSequence, toSequence } = query;
  const { from, to } = query;
  return {
    seatId,
    areaId,
    session,
    fromSequence,
    toSequence,
    fromMs: from === undefined ? undefined : momentMs(from),
    toMs: to === undefined ? undefined : momentMs(to),
    sort,
    offset,
    limit,
  };
}

/** The seats of an event at a moment, in the form of the current list. */
export async function listPastSeats(
  context: Context<{ readonly id: string }, PageQuery>,
  asOf: string,
  query: SeatQuery,
): Promise<Handled> {
  const eventId = await ownedEvent(context);
  if (typeof eventId !== "string") return eventId;
  const outcome = await ask(context, { about: "seats", eventId, moment: momentAsked(asOf), query });
  if (outcome.gap !== null) return refuseGap(outcome, "asOf", asOf);
  const { seats, total, isOnSale } = outcome.value;
  const content = seats.map((seat) => seatView(seat, isOnSale));
  return asOfSequence(pageAnswer(content, total, context.query), outcome.sequence);
}

/** The areas of an event at a moment. */
export async function listPastAreas(context: ById<string>, asOf: string): Promise<Handled> {
  const eventId = await ownedEvent(context);
  if (typeof eventId !== "string") return eventId;
  const outcome = await ask(context, { about: "areas", eventId, moment: momentAsked(asOf) });
  if (outcome.gap !== null) return refuseGap(outcome, "asOf", asOf);
  return asOfSequence(answer(200, outcome.value.map(areaView)), outcome.sequence);
}

/** The id of the caller's event, which may have been deleted; or the refusal. */
export async function ownedEvent(context: ById<string>): Promise<string | Problem> {
  const { services, caller, params } = context;
  const { id: eventId } = params;
  if (services.engine.state.catalog.events.has(eventId)) {
    const event = readEvent(context, eventId);
    return isRefused(event) ? event : eventId;
  }
  const outcome = await ask(context, { about: "owner", eventId });
  if (outcome.gap !== null && outcome.gap !== AuditGap.NO_EVENT) {
    return refuseGap(outcome, "id", undefined);
  }
  const row = outcome.gap === null ? { organizationId: outcome.value } : undefined;
  const own = ownRow(row, caller, "event");
  return isRefused(own) ? own : eventId;
}

/** Asks the trail once everything that has happened so far is on disk. */
async function ask<K extends keyof AuditAnswers>(
  { services, caller, head }: Context,
  question: AuditQuestion<K>,
): Promise<AuditOutcome<AuditAnswers[K]>> {
  await new Promise<void>((resolve) => {
    services.engine.afterDurable(resolve);
  });
  return services.audit.ask(question, askerOf(caller), head);
}

function momentAsked(asOf: string): Moment {
  return /^\d+$/.test(asOf) ? { sequence: Number(asOf) } : { timeMs: momentMs(asOf) };
}

type Missing = Exclude<AuditOutcome<never>, { readonly gap: null }>;

/** @param field - The parameter that asks for the missing part of the trail. */
function refuseGap({ gap, extent }: Missing, field: string, asked: unknown): Problem {
  const rejectedValue = asked ?? null;
  const range = (message: string) =>
    refuseInvalid([{ field, code: "RANGE", message, rejectedValue }]);
  switch (gap) {
    case AuditGap.NO_EVENT:
      return {
        refused: Result.ENTITY_NOT_FOUND,
        detail: "There was no such event then: it was made later, or deleted before.",
      };
    case AuditGap.TOO_EARLY:
      return range(`is before the beginning of the audit trail, record ${extent?.firstSequence}`);
    case AuditGap.DAMAGED:
      return {
        refused: FrontResult.HISTORY_GONE,
        detail: "This part of the audit trail is damaged, and cannot be read any more.",
      };
    case AuditGap.TOO_LATE:
      return range(`is after the last record, ${extent?.lastSequence}`);
    case AuditGap.TOO_MANY:
      return refuseInvalid([
        { field: "sort", code: "SIZE", message: TOO_MANY, rejectedValue: null },
      ]);
    case AuditGap.TOO_LONG:
      return refuseInvalid([
        { field: "fromSequence", code: "SIZE", message: TOO_LONG, rejectedValue: null },
      ]);
    case AuditGap.BUSY:
      return { refused: Result.OVERLOADED, detail: "Too many questions wait; try again." };
    case AuditGap.UNAVAILABLE:
      return {
        refused: Result.LOG_UNAVAILABLE,
        detail: "The audit trail cannot be read just now: try again shortly.",
      };
    default:
      return gap satisfies never;
  }
}

const TOO_MANY = "too many transitions match; filter them, or sort by sequence";
const TOO_LONG = "more than 20 million transitions match; narrow the range of time or sequence";

/** By `ActorKind`. */
const ACTOR_NAMES = ["SYSTEM", "ORGANIZATION", "TENANT", "ACCOUNT"];

function entryView(transition: Transition) {
  const { sequence, ordinal, timeMs, call, actor, session, holdType } = transition;
  const { placeId, isArea, from, to, places, priceId, hold, channel } = transition;
  return {
    sequence,
    ordinal,
    time: localDateTime(timeMs),
    call,
    actorType: ACTOR_NAMES[actor.kind],
    actorId: actor.id || undefined,
    sessionId: session || undefined,
    holdType: holdType || undefined,
    holdSequence: hold > 0 ? hold : undefined,
    seatId: isArea ? undefined : placeId,
    groupOfSeatsId: isArea ? placeId : undefined,
    capacity: places ?? undefined,
    fromState: from === null ? null : STATE_NAMES[from],
    toState: to === null ? null : STATE_NAMES[to],
    priceId: priceId || undefined,
    channel,
  };
}

function trailView({ firstSequence, firstTimeMs, lastSequence }: TrailExtent) {
  const firstTime = firstTimeMs === 0 ? undefined : localDateTime(firstTimeMs);
  return { firstSequence, firstTime, lastSequence };
}
