/** Booking: the hot path. */
import { STATE_SELECTION, type StateSelection } from "../../engine/bodies.ts";
import { BOOKING_COMMANDS } from "../../engine/booking.ts";
import { type BookingKind, COMMANDS } from "../../engine/commands.ts";
import { SESSION_LENGTH_MAX } from "../../engine/constants.ts";
import { bookedFacts, HOLD_SORTS, listHolds } from "../../engine/queries/holds.ts";
import { summarizeEvent } from "../../engine/queries/summary.ts";
import { isGranted, isRefused } from "../../engine/results.ts";
import { oneOf, text } from "../../engine/schema.ts";
import type { State } from "../../engine/state.ts";
import { BOOKED, bookedView, DONE, EVENT_SUMMARY, HOLD, holdView } from "../api/entities.ts";
import { PAGE_QUERY, pageAnswer, pageShape, rangeOf } from "../api/page.ts";
import { type Route, route } from "../api/route.ts";
import { Access } from "../auth/access.ts";
import { bookingPath, meaningOf } from "../commands/command.ts";
import { problemsOf } from "../api/router.ts";
import {
  type Answer,
  answer,
  asOfSequence,
  FALSE,
  TRUE,
  wantsRepresentation,
  withApplied,
} from "../http/answers.ts";
import { SelectionReader } from "../http/selection-reader.ts";
import { EVENT_ID, readEvent, UUID_ID } from "./handling.ts";
import { BODY_BYTES } from "../http/limits.ts";

const BASE = {
  tag: "Booking",
  access: Access.ORGANIZATION,
  durable: true,
  bodyBytesMax: BODY_BYTES.booking,
};
const KINDS = Object.keys(BOOKING_COMMANDS) as readonly BookingKind[];
const CALL = { shape: oneOf(KINDS), description: "The booking call to check.", required: true };
/** The calls that can answer with what they have booked. */
const SHOWN: ReadonlySet<BookingKind> = new Set(["lock", "sale", "directsale"]);

export const BOOKING_ROUTES: readonly Route[] = [
  ...KINDS.map(bookingRoute),
  route(BASE, "POST /api/private/v2.0/booking/check", {
    query: { eventId: EVENT_ID, call: CALL },
    isDryRun: true,
    problemPath: (query) => {
      const call = KINDS.find((kind) => kind === new URLSearchParams(query).get("call"));
      return call === undefined ? undefined : bookingPath(call);
    },
    body: STATE_SELECTION,
    readBody: readerOf(),
    yields: true,
    answers: { 200: DONE },
    problems: [...new Set(KINDS.flatMap(problemsOf))].sort((a, b) => a - b),
    handle: ({ services: { engine }, caller, query: { eventId, call: kind }, body }) => {
      const outcome = engine.check({ kind, caller, eventId, body });
      if (!isGranted(outcome)) return outcome;
      return outcome.value ? TRUE : FALSE;
    },
  }),
  route(BASE, "GET /api/private/v2.0/booking/socket", {
    answers: { 101: null },
    problems: [400, 403],
    handle: ({ services, caller, head }) => services.commands.open(head, caller),
  }),
];

function readerOf() {
  const reader = new SelectionReader();
  return (bytes: Buffer) => reader.read(bytes);
}

function bookingRoute(kind: BookingKind): Route {
  const takesPrefer = SHOWN.has(kind);
  return route(BASE, `POST ${bookingPath(kind)}`, {
    query: { eventId: EVENT_ID },
    eventParameter: "eventId",
    takesPrefer,
    body: COMMANDS[kind].members.body,
    readBody: readerOf(),
    meaning: ({ eventId }, body) => meaningOf(eventId, body),
    yields: kind === "lock",
    answers: { 200: takesPrefer ? BOOKED : DONE },
    problems: problemsOf(kind),
    handle: ({ services: { engine }, caller, query: { eventId }, body, head }) => {
      const outcome = engine.submit({ kind, caller, eventId, body });
      if (!isGranted(outcome)) return outcome;
      if (!outcome.value) return FALSE;
      const isShown = takesPrefer && wantsRepresentation(head.prefer);
      return isShown ? representation(engine.state, eventId, kind, body) : TRUE;
    },
  });
}

/** To be made in the turn of the call. */
function representation(
  state: State,
  eventId: string,
  kind: BookingKind,
  selection: StateSelection,
): Answer {
  const booked = bookedFacts(state, state.catalog.events.get(eventId)!, kind, selection);
  return withApplied(answer(200, bookedView(booked)));
}

// What a console shows of an event: its figures and its holds.

const INVENTORY_BASE = {
  tag: "Events",
  access: Access.ORGANIZATION,
  durable: true,
  hasSequence: true,
};

const SESSION = {
  shape: text({ minLength: 1, maxLength: SESSION_LENGTH_MAX }),
  description: "Holds of this session.",
};

export const INVENTORY_ROUTES: readonly Route[] = [
  route(INVENTORY_BASE, "GET /api/private/v2.0/events/{id}/summary/", {
    params: UUID_ID,
    answers: { 200: EVENT_SUMMARY },
    problems: [400, 403, 404],
    handle: (context) => {
      const { state } = context.services.engine;
      const event = readEvent(context, context.params.id);
      if (isRefused(event)) return event;
      const sequence = state.sequenceOf(event);
      return asOfSequence(answer(200, { sequence, ...summarizeEvent(state, event) }), sequence);
    },
  }),
  route(INVENTORY_BASE, "GET /api/private/v2.0/events/{id}/holds/", {
    params: UUID_ID,
    query: { ...PAGE_QUERY, sessionId: SESSION },
    answers: { 200: pageShape(HOLD) },
    problems: [400, 403, 404],
    handle: (context) => {
      const { services, params, query } = context;
      const { state } = services.engine;
      const event = readEvent(context, params.id);
      if (isRefused(event)) return event;
      const range = rangeOf(query, HOLD_SORTS);
      if (isRefused(range)) return range;
      const page = listHolds(state.partitionOf(event), { session: query.sessionId, ...range });
      const shown = pageAnswer(page.holds.map(holdView), page.total, query);
      return asOfSequence(shown, state.sequenceOf(event));
    },
  }),
];
