/** Booking: the hot path. */
import { type BookingKind, COMMANDS } from "../../engine/commands.ts";
import { bookedFacts } from "../../engine/queries/inventory/booked.ts";
import { isGranted } from "../../engine/results.ts";
import type { StateSelection } from "../../engine/shapes/bodies.ts";
import type { State } from "../../engine/state.ts";
import { problemsOf } from "../routing/command-route.ts";
import { Access, type Route, route } from "../routing/route.ts";
import { type Answer, answer, FALSE, TRUE } from "../wire/answers.ts";
import { wantsRepresentation, withApplied } from "../routing/prefer.ts";
import { SelectionReader } from "../wire/selection-reader.ts";
import { BOOKED, DONE } from "../wire/shapes.ts";
import { bookedView } from "../wire/views.ts";
import { EVENT_ID } from "./handling.ts";

const BASE = { tag: "Booking", access: Access.ORGANIZATION, durable: true };
/** The calls that can answer with what they have booked. */
const SHOWN: ReadonlySet<BookingKind> = new Set(["lock", "sale", "directsale"]);

export const BOOKING_ROUTES: readonly Route[] = [
  bookingRoute("lock"),
  bookingRoute("unlock"),
  bookingRoute("sale"),
  bookingRoute("revertsale"),
  bookingRoute("directsale"),
  bookingRoute("block"),
  bookingRoute("unblock"),
];

function bookingRoute(kind: BookingKind): Route {
  const reader = new SelectionReader();
  const takesPrefer = SHOWN.has(kind);
  return route(BASE, `POST /api/private/v2.0/booking/${kind}`, {
    query: { eventId: EVENT_ID },
    eventParameter: "eventId",
    takesPrefer,
    body: COMMANDS[kind].members.body,
    readBody: (bytes) => reader.read(bytes),
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
