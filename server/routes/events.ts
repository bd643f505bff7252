/** Events, their seats and their areas. */
import { randomUUID } from "node:crypto";
import type { EventRow } from "../../engine/catalog.ts";
import type { CommandOf, EventBody } from "../../engine/commands.ts";
import { isRefusal } from "../../engine/queries/access.ts";
import { areaFacts, seatFacts } from "../../engine/queries/place-facts.ts";
import { listSeats, SEAT_SORTS, type SeatQuery } from "../../engine/queries/seat-listing.ts";
import { type FieldError } from "../../engine/results.ts";
import {
  BODIES,
  EVENT_STATUS,
  EVENT_WITH_ID,
  list,
  LOCAL_DATE,
  LONG,
  UUID_SHAPE,
} from "../../engine/shapes.ts";
import {
  offsetOf,
  PAGE_QUERY,
  pageAnswer,
  pageOfRows,
  pageShape,
  parseSort,
} from "../routing/page.ts";
import { refuseSort } from "../routing/page.ts";
import { Access, type Context, type Handled, type Route } from "../routing/route.ts";
import { answer, NO_CONTENT } from "../wire/answers.ts";
import { localDateTime, momentMs, momentOf } from "../wire/moments.ts";
import { AREA, EVENT, EVENT_EXPAND, EVENT_SEAT, EVENT_STATUS_CHANGE } from "../wire/shapes.ts";
import { areaView, eventExpandView, eventView, seatView } from "../wire/views.ts";
import { AS_OF, listPastAreas, listPastSeats } from "./audit.ts";
import { readEvent, showOwn, submit, UUID_ID } from "./handling.ts";

const BASE = {
  tag: "Events",
  access: Access.ORGANIZATION,
  durable: true,
} as const;

const SORTS = ["id", "name", "start", "endDate", "schemaId", "createdDate", "status"] as const;

const FILTERS = {
  id: { shape: UUID_SHAPE, description: "Exactly this event." },
  schemaId: { shape: LONG, description: "Events of this schema." },
  venueId: { shape: LONG, description: "Events at this venue." },
  name: { shape: { type: "string", maxLength: 255 }, description: "Part of the name, any case." },
  startDate: { shape: LOCAL_DATE, description: "Starting at or after this date-time or date." },
  endDate: { shape: LOCAL_DATE, description: "Ending at or before this date-time or date." },
  status: { shape: EVENT_STATUS, description: "Events of this status." },
};

const FORCE = {
  shape: { type: "boolean" },
  description: "Change the schema even while seats or places are held or sold.",
  default: false,
};

const SEAT_FILTERS = {
  sectionId: { shape: LONG, description: "Seats of this section." },
  rowId: { shape: LONG, description: "Seats of this row." },
  lastUpdated: { shape: LOCAL_DATE, description: "Seats changed at or after this date-time." },
};

export const EVENT_ROUTES: readonly Route[] = [
  {
    ...BASE,
    method: "post",
    path: "/api/private/v2.0/events/",
    summary: "Create an event",
    body: BODIES.createEvent,
    answers: { 201: EVENT },
    problems: [400, 403, 409],
    handle: createEvent,
  },
  {
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/events/",
    summary: "List events",
    query: { ...PAGE_QUERY, ...FILTERS },
    answers: { 200: pageShape(EVENT_EXPAND) },
    problems: [400, 403],
    handle: listEvents,
  },
  {
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/events/{id}",
    summary: "Read an event",
    params: UUID_ID,
    answers: { 200: EVENT_EXPAND },
    problems: [400, 403, 404],
    handle: readOne,
  },
  {
    ...BASE,
    method: "put",
    path: "/api/private/v2.0/events/",
    summary: "Change an event",
    query: { force: FORCE },
    body: EVENT_WITH_ID,
    answers: { 200: EVENT },
    problems: [400, 403, 404, 409],
    handle: updateEvent,
  },
  {
    ...BASE,
    method: "delete",
    path: "/api/private/v2.0/events/{id}",
    summary: "Delete an event with its prices, whatever its inventory",
    params: UUID_ID,
    answers: { 204: null },
    problems: [400, 403, 404, 409],
    handle: deleteEvent,
  },
  {
    ...BASE,
    method: "post",
    path: "/api/private/v2.0/events/{id}/status",
    summary: "Publish, archive or reopen an event",
    params: UUID_ID,
    body: BODIES.changeEventStatus,
    answers: { 200: EVENT_STATUS_CHANGE },
    problems: [400, 403, 404, 409],
    handle: changeStatus,
  },
  {
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/events/{id}/seats/",
    summary: "List the seats of an event, what changed since a time, or how it was at one",
    params: UUID_ID,
    query: { ...PAGE_QUERY, ...SEAT_FILTERS, asOf: AS_OF },
    answers: { 200: pageShape(EVENT_SEAT) },
    problems: [400, 403, 404],
    handle: listEventSeats,
  },
  {
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/events/{id}/areas/",
    summary: "Read the counters of the general-admission areas",
    params: UUID_ID,
    query: { asOf: AS_OF },
    answers: { 200: list(AREA) },
    problems: [400, 403, 404],
    handle: listAreas,
  },
];

function createEvent(context: Context): Handled {
  const { caller, body } = context;
  const command = { kind: "createEvent", caller, eventId: randomUUID(), body };
  return submit(context, command as CommandOf<"createEvent">, (event) =>
    answer(201, eventView(event)),
  );
}

function updateEvent(context: Context): Handled {
  const { caller, query } = context;
  const body = context.body as EventBody & { readonly id: string };
  const event = { eventId: body.id.toLowerCase(), force: query["force"] === true };
  return submit(context, { kind: "updateEvent", caller, body, ...event }, (row) =>
    answer(200, eventView(row)),
  );
}

function deleteEvent(context: Context): Handled {
  const { caller, params } = context;
  const command = { kind: "deleteEvent", caller, eventId: String(params["id"]) } as const;
  return submit(context, command, () => NO_CONTENT);
}

function readOne(context: Context): Handled {
  const { state } = context.services.engine;
  const event = state.catalog.events.get(String(context.params["id"]));
  return showOwn(event, context, "event", (own) => answer(200, eventExpandView(state, own)));
}

function listEvents({ services, caller, query }: Context): Handled {
  const { state } = services.engine;
  const events = [...state.catalog.events.values()].filter(
    (event) =>
      event.organizationId === caller.organizationId &&
      isWanted(event, query, state.catalog.schemas.get(event.schemaId)?.venueId),
  );
  const rows = events.map((event) => eventExpandView(state, event));
  return pageOfRows(rows, query, SORTS);
}

function isWanted(event: EventRow, query: Context["query"], venueId: number | undefined): boolean {
  const { id, schemaId, name, status, startDate, endDate } = query;
  if (id !== undefined && event.id !== id) return false;
  if (schemaId !== undefined && event.schemaId !== schemaId) return false;
  if (query["venueId"] !== undefined && venueId !== query["venueId"]) return false;
  if (status !== undefined && event.status !== status) return false;
  if (name !== undefined && !isPart(name as string, event.name)) return false;
  if (startDate !== undefined && event.start < momentOf(startDate)) return false;
  return endDate === undefined || event.endDate <= momentOf(endDate);
}

function isPart(part: string, name: string): boolean {
  return name.toLowerCase().includes(part.toLowerCase());
}

function changeStatus(context: Context): Handled {
  const { caller, params, body } = context;
  const command = { kind: "changeEventStatus", caller, eventId: params["id"], body };
  return submit(context, command as CommandOf<"changeEventStatus">, (event) => {
    const { id, name, status, publishedAtMs } = event;
    const publishedAt = publishedAtMs === null ? null : localDateTime(publishedAtMs);
    return answer(200, { id, name, status, publishedAt });
  });
}

function listEventSeats(context: Context): Handled | Promise<Handled> {
  const { services, caller, params, query } = context;
  const seatQuery = seatQueryOf(query);
  if (query["asOf"] !== undefined && !isFault(seatQuery)) return listPastSeats(context, seatQuery);
  const event = readEvent(services.engine, caller, params["id"]);
  if (isRefusal(event)) return event;
  if (isFault(seatQuery)) return refuseSort(seatQuery);
  const { state } = services.engine;
  const partition = state.partitionOf(event);
  const prices = state.catalog.pricesOf(event.id);
  const { seats, total } = listSeats(partition, prices, seatQuery);
  const isPublished = event.status === "PUBLISHED";
  const content = seats.map((seat) => seatView(seatFacts(partition, prices, seat), isPublished));
  return pageAnswer(content, total, query);
}

function seatQueryOf(query: Context["query"]): SeatQuery | FieldError {
  const sort = parseSort(query["sort"], SEAT_SORTS);
  if (!Array.isArray(sort)) return sort as FieldError;
  const { sectionId, rowId, lastUpdated } = query;
  return {
    ...({ sectionId, rowId } as Partial<SeatQuery>),
    changedSinceMs: lastUpdated === undefined ? undefined : momentMs(lastUpdated),
    sort,
    offset: offsetOf(query),
    limit: Number(query["size"]),
  };
}

function isFault(value: SeatQuery | FieldError): value is FieldError {
  return "code" in value;
}

function listAreas(context: Context): Handled | Promise<Handled> {
  if (context.query["asOf"] !== undefined) return listPastAreas(context);
  const { services, caller, params } = context;
  const { engine } = services;
  const event = readEvent(engine, caller, params["id"]);
  if (isRefusal(event)) return event;
  const partition = engine.state.partitionOf(event);
  const prices = engine.state.catalog.pricesOf(event.id);
  const areas = partition.layout.areas.map((_, area) => areaFacts(partition, prices, area));
  return answer(200, areas.map(areaView));
}
