/** v1 schemas: their list, and the metadata that give clients their composite keys. */
import type { SchemaRow } from "../../../engine/catalog.ts";
import { EMPTY_DOCUMENT } from "../../../engine/layout/layout.ts";
import { ownRow } from "../../../engine/queries/access.ts";
import { capacitiesOf } from "../../../engine/queries/capacities.ts";
import { isRefused } from "../../../engine/results.ts";
import { LOCAL_DATE, LONG } from "../../../engine/shapes/fields.ts";
import { BOOLEAN, list } from "../../../engine/shapes/shape.ts";
import type { State } from "../../../engine/state.ts";
import { type Route, route } from "../../routing/route.ts";
import { answer } from "../../wire/answers.ts";
import { momentMs } from "../../wire/moments.ts";
import { ownRows, showOwn } from "../handling.ts";
import { LEGACY, LIST_QUERY, partOf } from "./legacy.ts";
import { metadataView } from "../../layouts/metadata.ts";
import { METADATA, SCHEMA } from "./shapes.ts";

const SCHEMA_ID = { schemaId: LONG };

export const LEGACY_SCHEMA_ROUTES: readonly Route[] = [
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
