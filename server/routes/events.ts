/** Events, their seats and their areas. */
import { randomUUID } from "node:crypto";
import { EVENT_MEMBERS } from "../../engine/bodies.ts";
import type { EventRow } from "../../engine/catalog.ts";
import { COMMANDS } from "../../engine/commands.ts";
import { NAME_LENGTH_MAX } from "../../engine/constants.ts";
import { labelKey } from "../../engine/names.ts";
import {
  areaFacts,
  isOnSale,
  listedEvent,
  listInSteps,
  SEAT_SORTS,
  seatFacts,
  type SeatQuery,
} from "../../engine/queries/seats.ts";
import { isRefused } from "../../engine/results.ts";
import {
  BOOLEAN,
  EVENT_STATUS,
  list,
  LOCAL_DATE,
  LONG,
  object,
  text,
  UUID,
} from "../../engine/schema.ts";
import type { State } from "../../engine/state.ts";
import {
  AREA,
  areaView,
  EVENT,
  EVENT_EXPAND,
  EVENT_RULES,
  EVENT_SEAT,
  EVENT_SERIES,
  EVENT_STATUS_CHANGE,
  eventExpandView,
  eventView,
  rulesView,
  seatView,
  SERIES,
  seriesView,
} from "../api/entities.ts";
import { inSlices } from "../api/overload.ts";
import {
  listRoute,
  PAGE_QUERY,
  pageAnswer,
  type PageQuery,
  pageShape,
  rangeOf,
} from "../api/page.ts";
import { type Context, type Handled, type QueryOf, type Route, route } from "../api/route.ts";
import { Access } from "../auth/access.ts";
import { commandRoute, problemsOf, submit } from "../api/router.ts";
import { type Answer, answer, asOfSequence, NO_CONTENT, type Problem } from "../http/answers.ts";
import { localDateTime, momentMs, momentOf } from "../http/json.ts";
import { ownRows, readEvent, showOwn, UUID_ID } from "./handling.ts";
import { AS_OF, listPastAreas, listPastSeats } from "./history.ts";

const BASE = { tag: "Events", access: Access.ORGANIZATION, durable: true };

/** A change of an event: its id is in the body, not in the path. */
const EVENT_WITH_ID = object({ id: UUID, ...EVENT_MEMBERS });

const SEARCHED = text({ maxLength: NAME_LENGTH_MAX, format: "text" });
const FILTERS = {
  id: { shape: UUID, description: "Exactly this event." },
  schemaId: { shape: LONG, description: "Events of this schema." },
  venueId: { shape: LONG, description: "Events at this venue." },
  name: { shape: SEARCHED, description: "Part of the name, any case." },
  startDate: { shape: LOCAL_DATE, description: "Starting at or after this date-time or date." },
  endDate: { shape: LOCAL_DATE, description: "Ending at or before this date-time or date." },
  status: { shape: EVENT_STATUS, description: "Events of this status." },
};

const FORCE = {
  shape: BOOLEAN,
  description: "Change the schema even while seats or places are held, sold or blocked.",
  default: false,
};

const FORCE_DELETE = {
  shape: BOOLEAN,
  description: "Delete the event even if the organization protects its sales.",
  default: false,
};

type DeleteContext = Context<{ readonly id: string }, { readonly force: boolean }, null>;

/** The deletion of an event, in v2 and v1. */
export function deletion(deleted: Answer) {
  return {
    params: UUID_ID,
    query: { force: FORCE_DELETE },
    handle: ({ services, caller, params, query: { force } }: DeleteContext) =>
      submit(services, { kind: "deleteEvent", caller, eventId: params.id, force }, () => deleted),
  };
}

const SEAT_FILTERS = {
  sectionId: { shape: LONG, description: "Seats of this section." },
  rowId: { shape: LONG, description: "Seats of this row." },
  lastUpdated: { shape: LOCAL_DATE, description: "Seats changed at or after this date-time." },
};

export const EVENT_ROUTES: readonly Route[] = [
  route(BASE, "POST /api/private/v2.0/events/", {
    body: COMMANDS.createEvent.members.body,
    answers: { 201: EVENT },
    problems: problemsOf("createEvent"),
    handle: ({ services, caller, body }) => {
      const eventId = randomUUID();
      return submit(services, { kind: "createEvent", caller, eventId, body }, (event) =>
        answer(201, eventView(event)),
      );
    },
  }),
  listRoute(BASE, "GET /api/private/v2.0/events/", {
    filters: FILTERS,
    item: EVENT_EXPAND,
    rows: ({ services, caller }) =>
      // Partition numbers rise with each event that is created.
      ownRows(services.engine.state.catalog.events, caller).sort(
        (a, b) => a.partition - b.partition,
      ),
    isWanted: (event, { services, query }) => isWanted(services.engine.state, event, query),
    view: (event, { services }) => eventExpandView(services.engine.state, event),
  }),
  route(BASE, "GET /api/private/v2.0/events/{id}", {
    params: UUID_ID,
    answers: { 200: EVENT_EXPAND },
    problems: [400, 403, 404],
    handle: (context) => {
      const { state } = context.services.engine;
      const event = state.catalog.events.get(context.params.id);
      return showOwn(event, context, "event", (own) => answer(200, eventExpandView(state, own)));
    },
  }),
  route(BASE, "PUT /api/private/v2.0/events/", {
    query: { force: FORCE },
    body: EVENT_WITH_ID,
    answers: { 200: EVENT },
    problems: problemsOf("updateEvent"),
    handle: ({ services, caller, query: { force }, body }) => {
      const change = { eventId: body.id.toLowerCase(), body, force };
      return submit(services, { kind: "updateEvent", caller, ...change }, (event) =>
        answer(200, eventView(event)),
      );
    },
  }),
  route(BASE, "DELETE /api/private/v2.0/events/{id}", {
    ...deletion(NO_CONTENT),
    answers: { 204: null },
    problems: problemsOf("deleteEvent"),
  }),
  commandRoute(BASE, "PUT /api/private/v2.0/events/{id}/rules", "changeEventRules", {
    answers: { 200: EVENT_RULES },
    show: (event, { engine }) => answer(200, rulesView(engine.state, event)),
  }),
  route(BASE, "GET /api/private/v2.0/events/{id}/rules", {
    params: UUID_ID,
    answers: { 200: EVENT_RULES },
    problems: [400, 403, 404],
    handle: (context) => {
      const event = readEvent(context, context.params.id);
      if (isRefused(event)) return event;
      return answer(200, rulesView(context.services.engine.state, event));
    },
  }),
  commandRoute(BASE, "POST /api/private/v2.0/events/{id}/status", "changeEventStatus", {
    answers: { 200: EVENT_STATUS_CHANGE },
    show: ({ id, name, status, publishedAtMs }) => {
      const publishedAt = publishedAtMs === null ? undefined : localDateTime(publishedAtMs);
      return answer(200, { id, name, status, publishedAt });
    },
  }),
  route(BASE, "POST /api/private/v2.0/events/{id}/clone", {
    params: UUID_ID,
    body: COMMANDS.cloneEvent.members.body,
    mayBeEmpty: true,
    answers: { 201: EVENT },
    problems: problemsOf("cloneEvent"),
    handle: ({ services, caller, params, body }) => {
      const clone = { eventId: params.id, cloneId: randomUUID(), body };
      return submit(services, { kind: "cloneEvent", caller, ...clone }, (event) =>
        answer(201, eventView(event)),
      );
    },
  }),
  route(BASE, "GET /api/private/v2.0/events/{id}/seats/", {
    params: UUID_ID,
    query: { ...PAGE_QUERY, ...SEAT_FILTERS, asOf: AS_OF },
    hasSequence: true,
    answers: { 200: pageShape(EVENT_SEAT) },
    problems: [400, 403, 404, 410],
    handle: listEventSeats,
  }),
  route(BASE, "GET /api/private/v2.0/events/{id}/areas/", {
    params: UUID_ID,
    query: { asOf: AS_OF },
    hasSequence: true,
    answers: { 200: list(AREA) },
    problems: [400, 403, 404, 410],
    handle: (context) => {
      const { services, params, query } = context;
      if (query.asOf !== undefined) return listPastAreas(context, query.asOf);
      const { state } = services.engine;
      const event = readEvent(context, params.id);
      if (isRefused(event)) return event;
      const partition = state.partitionOf(event);
      const prices = state.catalog.pricesOf(event.id);
      const areas = partition.layout.areas.map((_, area) => areaFacts(partition, prices, area));
      return asOfSequence(answer(200, areas.map(areaView)), state.sequenceOf(event));
    },
  }),
];

function isWanted({ catalog }: State, event: EventRow, query: QueryOf<typeof FILTERS>): boolean {
  const { id, schemaId, venueId, name, status, startDate, endDate } = query;
  const schema = catalog.schemas.get(event.schemaId);
  if (id !== undefined && event.id !== id) return false;
  if (schemaId !== undefined && event.schemaId !== schemaId) return false;
  if (venueId !== undefined && schema?.venueId !== venueId) return false;
  if (status !== undefined && event.status !== status) return false;
  if (name !== undefined && !isPart(name, event.name)) return false;
  if (startDate !== undefined && event.start < momentOf(startDate)) return false;
  return endDate === undefined || event.endDate <= momentOf(endDate);
}

function isPart(part: string, name: string): boolean {
  return labelKey(name).toLowerCase().includes(labelKey(part).toLowerCase());
}

interface AsOf {
  readonly asOf: string | undefined;
}

type SeatsQuery = PageQuery & AsOf & QueryOf<typeof SEAT_FILTERS>;

function listEventSeats(
  context: Context<{ readonly id: string }, SeatsQuery>,
): Handled | Promise<Handled> {
  const { params, query } = context;
  const { asOf } = query;
  const seatQuery = seatQueryOf(query);
  if (asOf !== undefined && !isRefused(seatQuery)) return listPastSeats(context, asOf, seatQuery);
  const event = readEvent(context, params.id);
  if (isRefused(event)) return event;
  if (isRefused(seatQuery)) return seatQuery;
  return inSlices(showSeats(context, seatQuery), context.caller.organizationId);
}

function* showSeats(
  context: Context<{ readonly id: string }, SeatsQuery>,
  seatQuery: SeatQuery,
): Generator<void, Handled> {
  const { state } = context.services.engine;
  const event = readEvent(context, context.params.id);
  if (isRefused(event)) return event;
  const sequence = state.sequenceOf(event);
  const onSale = isOnSale(state, event);
  const { seats, total, shown } = yield* listInSteps(listedEvent(state, event), seatQuery);
  const content = seats.map((seat) => seatView(seatFacts(shown, seat), onSale));
  return asOfSequence(pageAnswer(content, total, context.query), sequence);
}

function seatQueryOf(query: SeatsQuery): SeatQuery | Problem {
  const range = rangeOf(query, SEAT_SORTS);
  if (isRefused(range)) return range;
  const { sectionId, rowId, lastUpdated } = query;
  const changedSinceMs = lastUpdated === undefined ? undefined : momentMs(lastUpdated);
  return { sectionId, rowId, changedSinceMs, ...range };
}

// Series of events.

const SERIES_BASE = { tag: "Series", access: Access.ORGANIZATION, durable: true };

export const SERIES_ROUTES: readonly Route[] = [
  commandRoute(SERIES_BASE, "POST /api/private/v2.0/series/", "createSeries", {
    answers: { 201: SERIES },
    show: (series) => answer(201, seriesView(series)),
  }),
  listRoute(SERIES_BASE, "GET /api/private/v2.0/series/", {
    item: SERIES,
    rows: ({ services, caller }) =>
      ownRows(services.engine.state.catalog.series, caller).map(seriesView),
  }),
  commandRoute(SERIES_BASE, "DELETE /api/private/v2.0/series/{id}", "deleteSeries", {
    answers: { 204: null },
    show: () => NO_CONTENT,
  }),
  commandRoute(SERIES_BASE, "PUT /api/private/v2.0/events/{id}/series", "bindEvent", {
    answers: { 200: EVENT_SERIES },
    show: ({ id, name, seriesId }) => answer(200, { id, name, seriesId }),
  }),
];
