/** Booking: the hot path. */
import { type BookingKind, COMMANDS } from "../../engine/commands.ts";
import type { StateSelection } from "../../engine/shapes/bodies.ts";
import { problemsOf, submit } from "../routing/command-route.ts";
import { Access, type Route, route } from "../routing/route.ts";
import { type Answer, FALSE, TRUE } from "../wire/answers.ts";
import { SelectionReader } from "../wire/selection-reader.ts";
import { DONE } from "../wire/shapes.ts";
import { EVENT_ID } from "./handling.ts";

const BASE = { tag: "Booking", access: Access.ORGANIZATION, durable: true };

export const BOOKING_ROUTES: readonly Route[] = [
  bookingRoute("lock"),
  bookingRoute("unlock"),
  bookingRoute("sale"),
  bookingRoute("revertsale"),
  bookingRoute("directsale"),
  bookingRoute("block"),
  bookingRoute("unblock"),
  route(BASE, "GET /api/private/v2.0/booking/socket", {
    answers: { 101: null },
    problems: [400, 403],
    handle: ({ services, caller, head }) => services.commands.open(head, caller),
  }),
];

function bookingRoute(kind: BookingKind): Route {
  const reader = new SelectionReader();
  return route(BASE, `POST /api/private/v2.0/booking/${kind}`, {
    query: { eventId: EVENT_ID },
    eventParameter: "eventId",
    body: COMMANDS[kind].members.body,
    readBody: (bytes) => reader.read(bytes),
    meaning: ({ eventId }, body) => `${eventId} ${textOf(body)}`,
    yields: kind === "lock",
    answers: { 200: DONE },
    problems: problemsOf(kind),
    handle: ({ services, caller, query, body }) =>
      submit(services, { kind, caller, eventId: query.eventId, body }, show),
  });
}

/** The same text for the same selection, whatever the bytes that it was sent in. */
function textOf({ sessionId, seats, groupOfSeats, holdType }: StateSelection): string {
  const choices = (list: StateSelection["seats"]) =>
    (list ?? []).map(({ id, capacity }) => [id, capacity ?? null]);
  const texts = [sessionId ?? null, holdType ?? null];
  return JSON.stringify([...texts, choices(seats), choices(groupOfSeats)]);
}

function show(isDone: boolean): Answer {
  return isDone ? TRUE : FALSE;
}
