/** Booking: the hot path. */
import {
  BEST_REQUEST,
  type BestRequest,
  CART,
  EXTENSION,
  type Extension,
  STATE_SELECTION,
  type StateSelection,
} from "../../engine/bodies.ts";
import type { BestPlaces } from "../../engine/best.ts";
import type { PartialLock } from "../../engine/best-effort.ts";
import { BOOKING_COMMANDS, heldBy } from "../../engine/booking.ts";
import { eventIdsOf } from "../../engine/cart.ts";
import { type BookingKind, type CommandOf, COMMANDS } from "../../engine/commands.ts";
import { SESSION_LENGTH_MAX } from "../../engine/constants.ts";
import type { Engine, Outcome } from "../../engine/engine.ts";
import type { Extended } from "../../engine/extend.ts";
import { helpedRefusal, withAlternatives } from "../../engine/queries/alternatives.ts";
import {
  type BookedChoices,
  bookedFacts,
  cartFacts,
  HOLD_SORTS,
  listHolds,
} from "../../engine/queries/holds.ts";
import { summarizeEvent } from "../../engine/queries/summary.ts";
import { isGranted, isRefused, type Refusal } from "../../engine/results.ts";
import { either, oneOf, text } from "../../engine/schema.ts";
import type { State } from "../../engine/state.ts";
import {
  BEST,
  BOOKED,
  bookedView,
  CART_BOOKED,
  cartView,
  DONE,
  EVENT_SUMMARY,
  EXTENDED,
  extendedView,
  HOLD,
  holdView,
  PARTIAL_LOCK,
} from "../api/entities.ts";
import { PAGE_QUERY, pageAnswer, pageShape, rangeOf } from "../api/page.ts";
import { type Route, route } from "../api/route.ts";
import { Access } from "../auth/access.ts";
import {
  bookingPath,
  extensionMeaning,
  meaningOf,
  meaningOfBest,
  meaningOfCart,
} from "../commands/command.ts";
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
import { BODY_BYTES, OF_LISTS } from "../http/limits.ts";

const BASE = {
  tag: "Booking",
  access: Access.ORGANIZATION,
  durable: true,
  bodyBytesMax: BODY_BYTES.booking,
};
const KINDS = Object.keys(BOOKING_COMMANDS) as readonly BookingKind[];
/** Calls of which there is a dry run. */
const CHECKED = [...KINDS, "extend", "best"] as const;
const CALL = { shape: oneOf(CHECKED), description: "The booking call to check.", required: true };

/** Calls with a representation of the booked objects, beside a lock. */
const SHOWN: ReadonlySet<BookingKind> = new Set(["sale", "directsale"]);

const BEST_EFFORT = "best-effort";
const MODE = {
  shape: oneOf(["all", BEST_EFFORT]),
  description:
    "`best-effort` locks what can be had, and says why the rest is not. `all` by default.",
};

export const BOOKING_ROUTES: readonly Route[] = [
  ...KINDS.map((kind) => (kind === "lock" ? lockRoute() : bookingRoute(kind))),
  route(BASE, "POST /api/private/v2.0/booking/best", {
    query: { eventId: EVENT_ID },
    eventsOf: ({ eventId }) => [eventId],
    body: BEST_REQUEST,
    meaning: ({ eventId }, body) => meaningOfBest(eventId, body),
    yields: true,
    answers: { 200: BEST },
    problems: problemsOf("best"),
    handle: ({ services: { engine }, caller, query: { eventId }, body }) => {
      const outcome = engine.submit({ kind: "best", caller, eventId, body });
      return bestAnswer(engine.state, eventId, outcome, true);
    },
  }),
  route(BASE, "POST /api/private/v2.0/booking/cart", {
    ...OF_LISTS,
    eventsOf: (_, body) => eventIdsOf(body),
    body: CART,
    meaning: (_, body) => meaningOfCart(body),
    yields: true,
    answers: { 200: CART_BOOKED },
    problems: problemsOf("cart"),
    handle: ({ services: { engine }, caller, body }) => {
      const outcome = engine.submit({ kind: "cart", caller, body });
      if (!isGranted(outcome)) return outcome;
      return answer(200, cartView(cartFacts(engine.state, outcome.value)));
    },
  }),
  route(BASE, "POST /api/private/v2.0/booking/check", {
    query: { eventId: EVENT_ID, call: CALL },
    isDryRun: true,
    problemPath: (query) => {
      const call = CHECKED.find((kind) => kind === new URLSearchParams(query).get("call"));
      return call === undefined ? undefined : bookingPath(call);
    },
    body: either(STATE_SELECTION, EXTENSION, BEST_REQUEST),
    bodyOf: ({ call }) =>
      call === "best" ? BEST_REQUEST : call === "extend" ? EXTENSION : STATE_SELECTION,
    yields: true,
    answers: { 200: either(DONE, EXTENDED, BEST) },
    problems: [...new Set(CHECKED.flatMap(problemsOf))].sort((a, b) => a - b),
    handle: ({ services: { engine }, caller, query: { eventId, call: kind }, body }) => {
      if (kind === "best") {
        const outcome = engine.check({ kind, caller, eventId, body: body as BestRequest });
        return bestAnswer(engine.state, eventId, outcome, false);
      }
      if (kind === "extend") {
        const outcome = engine.check({ kind, caller, eventId, body: body as Extension });
        return extensionAnswer(engine.state, eventId, outcome);
      }
      const outcome = engine.check({ kind, caller, eventId, body: body as StateSelection });
      if (!isGranted(outcome)) return outcome;
      return outcome.value ? TRUE : FALSE;
    },
  }),
  route(BASE, "POST /api/private/v2.0/booking/extend", {
    query: { eventId: EVENT_ID },
    eventsOf: ({ eventId }) => [eventId],
    body: EXTENSION,
    meaning: ({ eventId }, body) => extensionMeaning(eventId, body),
    answers: { 200: EXTENDED },
    problems: problemsOf("extend"),
    handle: ({ services: { engine }, caller, query: { eventId }, body }) => {
      const outcome = engine.submit({ kind: "extend", caller, eventId, body });
      return extensionAnswer(engine.state, eventId, outcome);
    },
  }),
  route(BASE, "GET /api/private/v2.0/booking/socket", {
    answers: { 101: null },
    problems: [400, 403],
    handle: ({ services, caller, head }) => services.commands.open(head, caller),
  }),
];

/** To be made in the turn of the call. */
function extensionAnswer(
  state: State,
  eventId: string,
  outcome: Outcome<Extended>,
): Answer | Refusal {
  if (!isGranted(outcome)) return outcome;
  const sequence = state.sequenceOf(state.catalog.events.get(eventId)!);
  return answer(200, extendedView(outcome.value, sequence));
}

function readerOf() {
  const reader = new SelectionReader();
  return (bytes: Buffer) => reader.read(bytes);
}

/** A lock of all objects, or with `mode` of those that can be had. */
function lockRoute(): Route {
  return route(BASE, `POST ${bookingPath("lock")}`, {
    query: { eventId: EVENT_ID, mode: MODE },
    eventsOf: ({ eventId }) => [eventId],
    takesPrefer: true,
    body: COMMANDS.lock.members.body,
    readBody: readerOf(),
    meaning: ({ eventId, mode }, body) =>
      mode === BEST_EFFORT ? `${meaningOf(eventId, body)} ${mode}` : meaningOf(eventId, body),
    yields: true,
    answers: { 200: either(BOOKED, PARTIAL_LOCK) },
    problems: problemsOf("lock"),
    handle: ({ services: { engine }, caller, query: { eventId, mode }, body, head }) => {
      if (mode === BEST_EFFORT) {
        const given = { kind: "lockBestEffort", caller, eventId, body } as const;
        return partialAnswer(engine.state, given, engine.submit(given));
      }
      const given = { kind: "lock", caller, eventId, body } as const;
      return book(engine, given, wantsRepresentation(head.prefer) ? body : null);
    },
  });
}

/** To be made in the turn of the call: alternatives are those after it. */
function partialAnswer(
  state: State,
  given: CommandOf<"lockBestEffort">,
  outcome: Outcome<PartialLock>,
): Answer | Refusal {
  if (isRefused(outcome)) return helpedRefusal(state, given, outcome);
  const { eventId, body } = given;
  const { groupOfSeats, refused } = outcome.value;
  const shown = withAlternatives(state, state.catalog.events.get(eventId)!, body, refused);
  const places = representation(state, eventId, true, outcome.value);
  return answer(200, { ...places, groupOfSeats, refused: shown });
}

function bookingRoute(kind: Exclude<BookingKind, "lock">): Route {
  const takesPrefer = SHOWN.has(kind);
  return route(BASE, `POST ${bookingPath(kind)}`, {
    query: { eventId: EVENT_ID },
    eventsOf: ({ eventId }) => [eventId],
    takesPrefer,
    body: COMMANDS[kind].members.body,
    readBody: readerOf(),
    meaning: ({ eventId }, body) => meaningOf(eventId, body),
    answers: { 200: takesPrefer ? BOOKED : DONE },
    problems: problemsOf(kind),
    handle: ({ services: { engine }, caller, query: { eventId }, body, head }) => {
      const given = { kind, caller, eventId, body };
      if (!takesPrefer || !wantsRepresentation(head.prefer)) return book(engine, given, null);
      if (body.all !== true) return book(engine, given, body);
      return engine.atOneTime(() => book(engine, given, allOf(engine, eventId, body)));
    },
  });
}

/** @param shown - The objects of a representation; null for `true` in its place. */
function book(
  engine: Engine,
  given: CommandOf<BookingKind>,
  shown: StateSelection | null,
): Answer | Refusal {
  const outcome = engine.submit(given);
  if (!isGranted(outcome)) return outcome;
  if (!outcome.value) return FALSE;
  if (shown === null) return TRUE;
  const isLock = given.kind === "lock";
  return withApplied(answer(200, representation(engine.state, given.eventId, isLock, shown)));
}

/** The objects of a sale of all, in the moment of the call. */
function allOf(engine: Engine, eventId: string, body: StateSelection): StateSelection {
  const event = engine.state.catalog.events.get(eventId);
  if (event === undefined) return body;
  engine.expire(event);
  return heldBy(engine.state.partitionOf(event), body);
}

/** To be made in the turn of the call. */
function representation(state: State, eventId: string, isLock: boolean, selection: BookedChoices) {
  return bookedView(bookedFacts(state, state.catalog.events.get(eventId)!, isLock, selection));
}

/** @param isHeld - False for a dry run. */
function bestAnswer(
  state: State,
  eventId: string,
  outcome: Outcome<BestPlaces>,
  isHeld: boolean,
): Answer | Refusal {
  if (!isGranted(outcome)) return outcome;
  const { together, groupOfSeats } = outcome.value;
  const places = representation(state, eventId, isHeld, outcome.value);
  return answer(200, { ...places, together, groupOfSeats });
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
