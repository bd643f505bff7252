/** Booking: the hot path. */
import { BOOKING_COMMANDS, type BookingKind, COMMANDS } from "../../engine/commands.ts";
import { bookedFacts } from "../../engine/queries/inventory/booked.ts";
import { isGranted } from "../../engine/results.ts";
import { STATE_SELECTION, type StateSelection } from "../../engine/shapes/bodies.ts";
import { oneOf } from "../../engine/shapes/shape.ts";
import type { State } from "../../engine/state.ts";
import { bookingPath, meaningOf } from "../routing/booking-request.ts";
import { problemsOf } from "../routing/command-route.ts";
import { Access, type Route, route } from "../routing/route.ts";
import { type Answer, answer, FALSE, TRUE } from "../wire/answers.ts";
import { wantsRepresentation, withApplied } from "../routing/prefer.ts";
import { SelectionReader } from "../wire/selection-reader.ts";
import { BOOKED, DONE } from "../wire/shapes.ts";
import { bookedView } from "../wire/views.ts";
import { EVENT_ID } from "./handling.ts";

const BASE = { tag: "Booking", access: Access.ORGANIZATION, durable: true };
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
      return isShown ? representation(engine.state, eventId, body) : TRUE;
    },
  });
}

/** To be made in the turn of the call. */
function representation(state: State, eventId: string, selection: StateSelection): Answer {
  const booked = bookedFacts(state, state.catalog.events.get(eventId)!, selection);
  return withApplied(answer(200, bookedView(booked)));
}
