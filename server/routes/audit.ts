/** The audit trail of an event, and its map as it was: also of an event that has been deleted. */
import type { Engine } from "../../engine/engine.ts";
import { STATE_NAMES } from "../../engine/inventory/states.ts";
import { isRefusal, ownRow } from "../../engine/queries/access.ts";
import {
  AuditGap,
  type AuditOutcome,
  type AuditQuestion,
  type AuditAnswers,
  type Moment,
  type TrailExtent,
  type Transition,
  type TransitionQuery,
} from "../../engine/queries/audit-trail.ts";
import type { SeatQuery } from "../../engine/queries/seat-listing.ts";
import { type FieldError, refuseInvalid, Result } from "../../engine/results.ts";
import { LOCAL_DATE, LONG } from "../../engine/shapes.ts";
import {
  offsetOf,
  PAGE_QUERY,
  pageAnswer,
  pageShape,
  parseSort,
  refuseSort,
} from "../routing/page.ts";
import { Access, type Context, type Handled, type Route } from "../routing/route.ts";
import { answer, type Problem } from "../wire/answers.ts";
import { localDateTime, momentMs } from "../wire/moments.ts";
import { AUDIT_ENTRY, AUDIT_TRAIL } from "../wire/shapes.ts";
import { areaView, seatView } from "../wire/views.ts";
import { readEvent, UUID_ID } from "./handling.ts";

const FILTERS = {
  seatId: { shape: LONG, description: "Transitions of this seat." },
  groupOfSeatsId: { shape: LONG, description: "Transitions of places in this area." },
  sessionId: {
    shape: { type: "string", minLength: 1, maxLength: 255 },
    description: "Transitions by this session, or of what it held.",
  },
  from: { shape: LOCAL_DATE, description: "At or after this date-time." },
  to: { shape: LOCAL_DATE, description: "At or before this date-time." },
  fromSequence: { shape: LONG, description: "From this sequence number on." },
  toSequence: { shape: LONG, description: "Up to this sequence number." },
};

/** As a query parameter of what can also be read as it was. */
export const AS_OF = {
  shape: { type: "string", format: "moment" },
  description: "As it was behind this sequence number, or at this date-time.",
};

export const AUDIT_ROUTES: readonly Route[] = [
  {
    tag: "Events",
    access: Access.ORGANIZATION,
    durable: true,
    method: "get",
    path: "/api/private/v2.0/events/{id}/audit/",
    summary: "List every transition of the event's seats and areas",
    params: UUID_ID,
    query: { ...PAGE_QUERY, ...FILTERS },
    answers: { 200: pageShape(AUDIT_ENTRY, { trail: AUDIT_TRAIL }) },
    problems: [400, 403, 404],
    handle: listTransitions,
  },
];

async function listTransitions(context: Context): Promise<Handled> {
  const { query } = context;
  const eventId = await ownedEvent(context);
  if (typeof eventId !== "string") return eventId;
  const sorts = parseSort(query["sort"], ["sequence"]);
  if (!Array.isArray(sorts)) return refuseSort(sorts as FieldError);
  const newestFirst = sorts[0]?.descending === true;
  const asked = {
    about: "transitions",
    eventId,
    query: transitionQuery(query, newestFirst),
  } as const;
  const outcome = await ask(context, asked);
  if (outcome.gap !== null) return refuseGap(outcome, query, query["to"] ? "to" : "toSequence");
  const { value, extent } = outcome;
  const content = value.transitions.map(entryView);
  return pageAnswer(content, value.total, query, { trail: trailView(extent) });
}

function transitionQuery(query: Context["query"], newestFirst: boolean): TransitionQuery {
  const ms = (name: string) => (query[name] === undefined ? undefined : momentMs(query[name]));
  const { seatId, groupOfSeatsId: areaId, sessionId: session, fromSequence, toSequence } = query;
  return {
    ...({ seatId, areaId, session, fromSequence, toSequence } as Partial<TransitionQuery>),
    fromMs: ms("from"),
    toMs: ms("to"),
    newestFirst,
    offset: offsetOf(query),
    limit: Number(query["size"]),
  };
}

/** The seats of an event at the moment `asOf`, as the list shows them. */
export async function listPastSeats(context: Context, query: SeatQuery): Promise<Handled> {
  const eventId = await ownedEvent(context);
  if (typeof eventId !== "string") return eventId;
  const moment = momentAsked(context.query["asOf"]);
  const outcome = await ask(context, { about: "seats", eventId, moment, query });
  if (outcome.gap !== null) return refuseGap(outcome, context.query, "asOf");
  const { seats, total, isPublished } = outcome.value;
  return pageAnswer(
    seats.map((seat) => seatView(seat, isPublished)),
    total,
    context.query,
  );
}

/** The areas of an event at the moment `asOf`. */
export async function listPastAreas(context: Context): Promise<Handled> {
  const eventId = await ownedEvent(context);
  if (typeof eventId !== "string") return eventId;
  const moment = momentAsked(context.query["asOf"]);
  const outcome = await ask(context, { about: "areas", eventId, moment });
  if (outcome.gap !== null) return refuseGap(outcome, context.query, "asOf");
  return answer(200, outcome.value.map(areaView));
}

/** The id of the caller's event, whether it is there still or not; or the refusal. */
async function ownedEvent(context: Context): Promise<string | Problem> {
  const { services, caller, params } = context;
  const eventId = String(params["id"]);
  if (services.engine.state.catalog.events.has(eventId)) {
    const event = readEvent(services.engine, caller, eventId);
    return isRefusal(event) ? event : eventId;
  }
  const outcome = await ask(context, { about: "owner", eventId });
  if (outcome.gap !== null && outcome.gap !== AuditGap.NO_EVENT) {
    return refuseGap(outcome, context.query, "id");
  }
  const row = outcome.gap === null ? { organizationId: outcome.value } : undefined;
  const own = ownRow(row, caller, "event");
  return isRefusal(own) ? own : eventId;
}

/** Answered from all that has happened so far. */
async function ask<K extends keyof AuditAnswers>(
  { services }: Context,
  question: AuditQuestion<K>,
): Promise<AuditOutcome<AuditAnswers[K]>> {
  await durable(services.engine);
  return services.audit.ask(question);
}

function durable(engine: Engine): Promise<void> {
  return new Promise((resolve) => {
    engine.afterDurable(resolve);
  });
}

function momentAsked(asOf: unknown): Moment {
  const isSequence = /^\d+$/.test(String(asOf));
  return isSequence ? { sequence: Number(asOf) } : { timeMs: momentMs(asOf) };
}

type Missing = Exclude<AuditOutcome<never>, { readonly gap: null }>;

/** @param field - The parameter that asks for what is not there. */
function refuseGap({ gap, extent }: Missing, query: Context["query"], field: string): Problem {
  const rejectedValue = query[field] ?? null;
  const range = (message: string) =>
    refuseInvalid([{ field, code: "RANGE", message, rejectedValue }]);
  switch (gap) {
    case AuditGap.NO_EVENT:
      return { refused: Result.ENTITY_NOT_FOUND, detail: "There was no such event then." };
    case AuditGap.TOO_EARLY:
      return range(`is before the beginning of the audit trail, record ${extent?.firstSequence}`);
    case AuditGap.TOO_LATE:
      return range(`is behind the last record, ${extent?.lastSequence}`);
    case AuditGap.BUSY:
      return { refused: Result.OVERLOADED, detail: "Too many questions wait; try again." };
    case AuditGap.UNAVAILABLE:
      return {
        refused: Result.LOG_UNAVAILABLE,
        detail: "The audit trail cannot be read just now.",
      };
    default:
      return gap satisfies never;
  }
}

const ACTOR_NAMES = ["SYSTEM", "ORGANIZATION", "TENANT", "ACCOUNT"] as const;

function entryView(transition: Transition) {
  const { sequence, ordinal, timeMs, call, actor, session, holdType } = transition;
  const { placeId, isArea, from, to, places, priceId, hold } = transition;
  return {
    sequence,
    ordinal,
    time: localDateTime(timeMs),
    call,
    actorType: ACTOR_NAMES[actor.kind],
    actorId: actor.id === 0 ? null : actor.id,
    sessionId: session === "" ? null : session,
    holdType: holdType === "" ? null : holdType,
    holdSequence: hold > 0 ? hold : null,
    seatId: isArea ? null : placeId,
    groupOfSeatsId: isArea ? placeId : null,
    capacity: places,
    fromState: from === null ? null : STATE_NAMES[from],
    toState: to === null ? null : STATE_NAMES[to],
    priceId: priceId === 0 ? null : priceId,
  };
}

function trailView({ firstSequence, firstTimeMs, lastSequence }: TrailExtent) {
  const firstTime = firstTimeMs === 0 ? null : localDateTime(firstTimeMs);
  return { firstSequence, firstTime, lastSequence };
}
