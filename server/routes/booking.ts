/** Booking: the hot path. */
import type { BookingKind, CommandOf, StateSelection } from "../../engine/commands.ts";
import { BODIES, UUID_SHAPE } from "../../engine/shapes.ts";
import { Access, type Context, type Handled, type Route } from "../routing/route.ts";
import { type Answer, FALSE, TRUE } from "../wire/answers.ts";
import { SelectionReader } from "../wire/selection-reader.ts";
import { DONE } from "../wire/shapes.ts";
import { submit } from "./handling.ts";

const SUMMARIES: Readonly<Record<BookingKind, string>> = {
  lock: "Lock seats and places of areas",
  unlock: "Unlock seats and places of areas",
  sale: "Sell what is locked",
  revertsale: "Put what is sold back on sale",
  directsale: "Sell what is on sale in one step",
  block: "Withdraw from sale",
  unblock: "Put what is withdrawn back on sale",
};

const PROBLEMS: Readonly<Record<BookingKind, readonly number[]>> = {
  lock: [400, 402, 403, 422],
  unlock: [400, 402, 403],
  sale: [400, 402, 403, 422],
  revertsale: [400, 402, 403],
  directsale: [400, 402, 403, 422],
  block: [400, 402, 403],
  unblock: [400, 402, 403],
};

const EVENT_ID = { shape: UUID_SHAPE, description: "The event.", required: true };

function bookingRoute(kind: BookingKind): Route {
  const reader = new SelectionReader();
  return {
    method: "post",
    path: `/api/private/v2.0/booking/${kind}`,
    tag: "Booking",
    summary: SUMMARIES[kind],
    access: Access.ORGANIZATION,
    query: { eventId: EVENT_ID },
    body: BODIES[kind],
    readBody: (bytes) => reader.read(bytes),
    answers: { 200: DONE },
    problems: PROBLEMS[kind],
    durable: true,
    handle: (context) => book(kind, context),
  };
}

function book(kind: BookingKind, context: Context): Handled {
  const { caller, query, body } = context;
  const eventId = query["eventId"] as string;
  const command = { kind, caller, eventId, body: body as StateSelection };
  return submit(context, command as CommandOf<BookingKind>, show);
}

function show(isDone: boolean): Answer {
  return isDone ? TRUE : FALSE;
}

export const BOOKING_ROUTES: readonly Route[] = (Object.keys(SUMMARIES) as BookingKind[]).map(
  bookingRoute,
);
