/** The seventeen rows of v1. */
import { randomUUID } from "node:crypto";
import {
  LEGACY_PRICE as NEW_PRICE,
  LEGACY_PRICE_CHANGE as PRICE_CHANGE,
} from "../../engine/bodies.ts";
import type { EventRow, SchemaRow } from "../../engine/catalog.ts";
import { EMPTY_DOCUMENT } from "../../engine/layout/layout.ts";
import { labelKey } from "../../engine/names.ts";
import { findPrice, ownEvent, ownRow, refuseEvent } from "../../engine/queries/access.ts";
import { capacitiesOf } from "../../engine/queries/summary.ts";
import { duplicate, isRefused, type Refusal, refuse, Result } from "../../engine/results.ts";
import { BOOLEAN, list, LOCAL_DATE, LONG, type TypeOf } from "../../engine/schema.ts";
import type { State } from "../../engine/state.ts";
import { DONE, LEGACY_PRICE as PRICE, legacyPriceView as priceView } from "../api/entities.ts";
import { type Handled, type Route, route, type WithBody } from "../api/route.ts";
import { submit } from "../api/router.ts";
import { answer, TRUE } from "../http/answers.ts";
import { momentMs, momentOf } from "../http/json.ts";
import { metadataView } from "../layouts/jobs.ts";
import { deletion } from "./events.ts";
import { EVENT_ID, ownRows, showOwn } from "./handling.ts";
import {
  CHANGED_EVENT,
  EVENT,
  LEGACY,
  LEGACY_ASSIGNMENT_ROUTES,
  LEGACY_BOOKING_ROUTES,
  LIST_QUERY,
  METADATA,
  NEW_EVENT,
  partOf,
  SCHEMA,
} from "./v1-booking.ts";

// v1 events: with `killAfter`, an end that may be left out, and updates of some members.

const LEGACY_EVENT_ROUTES: readonly Route[] = [
  route(LEGACY, "GET /api/private/v1.0/events/", {
    query: LIST_QUERY,
    answers: { 200: list(EVENT) },
    problems: [400, 403],
    handle: ({ services, caller, query }) => {
      const events = ownRows(services.engine.state.catalog.events, caller)
        .filter(({ status }) => status === "PUBLISHED")
        // Partition numbers rise with each event that is created.
        .sort((a, b) => a.partition - b.partition);
      return answer(200, partOf(events, query).map(eventView));
    },
  }),
  route(LEGACY, "POST /api/private/v1.0/events/", {
    body: NEW_EVENT,
    answers: { 200: EVENT },
    problems: [400, 403],
    handle: ({ services, caller, body }) => {
      const { name, schemaId, start, killAfter } = body;
      // An event without an end ends at `killAfter`, or else when it starts.
      const event = { name, schemaId, start, endDate: body.endDate ?? killAfter ?? start };
      const command = { caller, eventId: randomUUID(), body: event, killAfter };
      return submit(services, { kind: "createEvent", ...command }, (created) =>
        answer(200, eventView(created)),
      );
    },
  }),
  route(LEGACY, "PUT /api/private/v1.0/events/", {
    body: CHANGED_EVENT,
    answers: { 200: EVENT },
    problems: [400, 403],
    handle: ({ services, caller, body }) => {
      const eventId = body.id.toLowerCase();
      const stored = ownRow(services.engine.state.catalog.events.get(eventId), caller, "event");
      if (isRefused(stored)) return stored;
      const start = momentOf(body.start ?? stored.start);
      const event = {
        name: body.name ?? stored.name,
        schemaId: body.schemaId ?? stored.schemaId,
        start,
        // An event without an end of its own may move to a later start.
        endDate: body.endDate ?? (stored.endDate < start ? start : stored.endDate),
      };
      const change = { eventId, body: event, force: false, killAfter: body.killAfter };
      return submit(services, { kind: "updateEvent", caller, ...change }, (changed) =>
        answer(200, eventView(changed)),
      );
    },
  }),
  route(LEGACY, "DELETE /api/private/v1.0/events/{id}", {
    ...deletion(TRUE),
    answers: { 200: DONE },
    problems: [400, 403],
  }),
];

function eventView({ id, start, endDate, killAfter, name, schemaId }: EventRow) {
  return { id, start, endDate, killAfter: killAfter ?? undefined, name, schemaId };
}

// v1 prices: one at a time, and no name twice on an event.

const PRICE_ID = { shape: LONG, description: "The price.", required: true };

const LEGACY_PRICE_ROUTES: readonly Route[] = [
  route(LEGACY, "GET /api/private/v1.0/prices/", {
    query: { id: EVENT_ID },
    answers: { 200: list(PRICE) },
    problems: [400, 403],
    handle: ({ services, caller, query }) => {
      const { state } = services.engine;
      const event = ownEvent(state, caller, query.id);
      if (event === null) return refuseEvent();
      const prices = [...state.catalog.pricesOf(event.id).values()].sort((a, b) => a.id - b.id);
      return answer(200, prices.map(priceView));
    },
  }),
  route(LEGACY, "POST /api/private/v1.0/prices/", {
    body: NEW_PRICE,
    answers: { 200: PRICE },
    problems: [400, 403, 409],
    handle: createPrice,
  }),
  route(LEGACY, "PUT /api/private/v1.0/prices/", {
    body: PRICE_CHANGE,
    answers: { 200: PRICE },
    problems: [400, 403, 404, 409],
    handle: updatePrice,
  }),
  route(LEGACY, "DELETE /api/private/v1.0/prices/", {
    query: { id: PRICE_ID },
    answers: { 200: DONE },
    problems: [400, 403, 409],
    handle: ({ services, caller, query: { id: priceId } }) => {
      const { catalog } = services.engine.state;
      const eventId = catalog.prices.get(priceId)?.eventId ?? "";
      const event = ownRow(catalog.events.get(eventId), caller, "price");
      if (isRefused(event)) return event;
      return submit(services, { kind: "deletePrice", caller, eventId, priceId }, () => TRUE);
    },
  }),
];

function createPrice({
  services,
  caller,
  body: price,
}: WithBody<TypeOf<typeof NEW_PRICE>>): Handled {
  const { state } = services.engine;
  const { name, externalId } = price;
  const eventId = price.eventId.toLowerCase();
  const event = ownEvent(state, caller, eventId);
  if (event === null) return refuseEvent();
  const taken = refuseTakenName(state, eventId, { id: 0, name });
  if (taken !== null) return taken;
  const body = [{ name, eventId, externalId }];
  return submit(services, { kind: "createPrices", caller, eventId, body }, ([created]) =>
    answer(200, priceView(created!)),
  );
}

function updatePrice({
  services,
  caller,
  body: price,
}: WithBody<TypeOf<typeof PRICE_CHANGE>>): Handled {
  const { state } = services.engine;
  const eventId = price.eventId.toLowerCase();
  const found = findPrice(state, { caller, eventId, priceId: price.id });
  if (isRefused(found)) return found;
  const taken = refuseTakenName(state, eventId, price);
  if (taken !== null) return taken;
  const { id, name } = price;
  const { amount, currency } = found;
  const externalId = price.externalId ?? found.externalId;
  const body = [{ id, name, eventId, externalId, amount, currency }];
  return submit(services, { kind: "updatePrices", caller, eventId, body }, ([changed]) =>
    answer(200, priceView(changed!)),
  );
}

/** @returns DUPLICATE_NAME when another price of the event has the name; else null. */
function refuseTakenName(
  { catalog }: State,
  eventId: string,
  { id, name }: { readonly id: number; readonly name: string },
): Refusal | null {
  const prices = [...catalog.pricesOf(eventId).values()];
  const key = labelKey(name);
  if (!prices.some((price) => price.id !== id && labelKey(price.name) === key)) return null;
  const error = duplicate("name", name, "is the name of another price of the event");
  return refuse(Result.DUPLICATE_NAME, "The event has a price of that name.", [error]);
}

// v1 schemas: their list, and the metadata that give clients their composite keys.

const SCHEMA_ID = { schemaId: LONG };

const LEGACY_SCHEMA_ROUTES: readonly Route[] = [
  route(LEGACY, "GET /api/private/v1.0/venues/schemas/", {
    query: {
      ...LIST_QUERY,
      venueId: { shape: LONG, description: "Schemas of this venue." },
      lastUpdated: { shape: LOCAL_DATE, description: "Schemas updated after this date-time." },
    },
    answers: { 200: list(SCHEMA) },
    problems: [400, 403],
    handle: ({ services, caller, query }) => {
      const { state } = services.engine;
      const { venueId, lastUpdated } = query;
      const sinceMs = lastUpdated === undefined ? -1 : momentMs(lastUpdated);
      const schemas = ownRows(state.catalog.schemas, caller)
        .filter((schema) => !schema.draft)
        .filter((schema) => venueId === undefined || schema.venueId === venueId)
        .filter(({ updatedAtMs }) => updatedAtMs > sinceMs)
        .sort((a, b) => a.id - b.id);
      const events = eventsBySchema(state);
      const views = partOf(schemas, query).map((schema) => schemaView(schema, events, null));
      return answer(200, views);
    },
  }),
  route(LEGACY, "GET /api/private/v1.0/venues/schemas/{schemaId}/details/", {
    params: SCHEMA_ID,
    answers: { 200: SCHEMA },
    problems: [400, 403],
    handle: (context) => {
      const { state } = context.services.engine;
      return showOwn(publicSchema(state, context.params.schemaId), context, "schema", (own) => {
        const capacity = capacityOf(state, own);
        return answer(200, schemaView(own, eventsBySchema(state), capacity));
      });
    },
  }),
  route(LEGACY, "GET /api/private/v1.0/venues/schemas/{schemaId}/", {
    params: SCHEMA_ID,
    query: {
      numberedSections: {
        shape: BOOLEAN,
        description: "Put its position before the name of a section.",
        default: false,
      },
      useInternalIds: { shape: BOOLEAN, description: "Use ids as keys, in text.", default: false },
    },
    answers: { 200: METADATA },
    // A large layout waits for its turn.
    problems: [400, 403, 503],
    handle: (context) => {
      const { engine, layouts } = context.services;
      const { state } = engine;
      const { numberedSections: isNumbered, useInternalIds: hasIds } = context.query;
      const options = { isNumbered, hasIds };
      const found = publicSchema(state, context.params.schemaId);
      const schema = ownRow(found, context.caller, "schema");
      if (isRefused(schema)) return schema;
      const { id } = schema;
      if (layouts.isLarge(id)) return layouts.showMetadata(id, options);
      const document = state.catalog.layouts.get(id)?.document ?? EMPTY_DOCUMENT;
      return answer(200, metadataView(document, state.layoutOf(id), options));
    },
  }),
];

/** A draft is hidden from production use. */
function publicSchema({ catalog }: State, id: number): SchemaRow | undefined {
  const schema = catalog.schemas.get(id);
  return schema?.draft === true ? undefined : schema;
}

type EventsBySchema = ReadonlyMap<number, string | null>;

/** In v1 a schema names its event: null when it has several. Cost: O(events). */
function eventsBySchema({ catalog }: State): EventsBySchema {
  const events = new Map<number, string | null>();
  for (const { id, schemaId } of catalog.events.values()) {
    events.set(schemaId, events.has(schemaId) ? null : id);
  }
  return events;
}

/** @param capacity - Only the details show it. */
function schemaView(
  { id, name, venueId }: SchemaRow,
  events: EventsBySchema,
  capacity: number | null,
) {
  return { id, capacity, name, venueId, eventId: events.get(id) ?? null };
}

/** Seats and places; null when neither is known. */
function capacityOf(state: State, schema: SchemaRow): number | null {
  const { seatsCapacity, gaCapacity } = capacitiesOf(state, schema);
  if (seatsCapacity === null && gaCapacity === null) return null;
  return (seatsCapacity ?? 0) + (gaCapacity ?? 0);
}

export const LEGACY_ROUTES: readonly Route[] = [
  ...LEGACY_BOOKING_ROUTES,
  ...LEGACY_EVENT_ROUTES,
  ...LEGACY_ASSIGNMENT_ROUTES,
  ...LEGACY_PRICE_ROUTES,
  ...LEGACY_SCHEMA_ROUTES,
];
