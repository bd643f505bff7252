/** Schemas, their layouts and their seat maps. */
import { randomUUID } from "node:crypto";
import { assert } from "../../engine/assert.ts";
import type { LayoutBody } from "../../engine/bodies.ts";
import { COMMANDS } from "../../engine/commands.ts";
import { EMPTY_DOCUMENT, GroupType } from "../../engine/layout/layout.ts";
import { ownRow } from "../../engine/queries/access.ts";
import { isRefused } from "../../engine/results.ts";
import { BOOLEAN, list, LONG, oneOf, UUID } from "../../engine/schema.ts";
import {
  CLONE,
  cloneView,
  GROUP_OF_SEATS,
  groupViews,
  LAYOUT,
  SCHEMA,
  schemaView,
  VENUE,
  venueView,
} from "../api/entities.ts";
import { GEOMETRY, listRoute } from "../api/page.ts";
import { type Context, type Handled, type Route, route } from "../api/route.ts";
import { Access } from "../auth/access.ts";
import { commandRoute, problemsOf, submit } from "../api/router.ts";
import {
  answer,
  inflated,
  layoutAnswer,
  layoutPutAnswer,
  NO_CONTENT,
  versionsIn,
} from "../http/answers.ts";
import type { LongBody } from "../http/front.ts";
import { LAYOUT_LIMITS } from "../http/json.ts";
import { type ById, LONG_ID, ownRows, showOwn, UUID_ID } from "./handling.ts";
import { BODY_BYTES, BODY_VALUES } from "../http/limits.ts";

const BASE = { tag: "Schemas", access: Access.ORGANIZATION, durable: true };

const WITH_THUMBNAIL = { bodyBytesMax: BODY_BYTES.schema, bodyValuesMax: BODY_VALUES.schema };

const GROUP_FILTERS = {
  parentId: { shape: LONG, description: "Only children of this group." },
  type: {
    shape: oneOf(Object.values(GroupType)),
    description: "Only groups of this type.",
  },
};
const FORCE_DELETE = {
  shape: BOOLEAN,
  description: "Remove seats even while they are held, sold or blocked.",
  default: false,
};
/** Layout tools name the organization in the query. */
const ORGANIZATION_ID = { shape: LONG, description: "The organization acted for." };

const READ_LAYOUT = {
  params: LONG_ID,
  hasVersion: true,
  answers: { 200: LAYOUT },
  problems: [400, 403, 404],
  handle: readLayout,
};
const PUT_LAYOUT = {
  params: LONG_ID,
  query: { forceDelete: FORCE_DELETE },
  body: COMMANDS.putLayout.members.body,
  bodyBytesMax: BODY_BYTES.layout,
  bodyValuesMax: LAYOUT_LIMITS.values,
  hasVersion: true,
  answers: { 200: LAYOUT },
  problems: problemsOf("putLayout"),
  isLong: ({ services, params }: LayoutTarget, bytes: number) =>
    services.layouts.isLongPut(params.id, bytes),
  takesIfMatch: true,
  handleLong: ({ services, caller, params, query, head }: LayoutTarget, body: LongBody) => {
    const { forceDelete } = query;
    const versions = versionsIn(head.ifMatch);
    return services.layouts.put({ caller, schemaId: params.id, forceDelete, versions }, body);
  },
  handle: putLayout,
};

export const SCHEMA_ROUTES: readonly Route[] = [
  commandRoute(BASE, "POST /api/private/v2.0/schemas/", "createSchema", {
    ...WITH_THUMBNAIL,
    answers: { 201: SCHEMA },
    show: (schema, { engine }) => answer(201, schemaView(engine.state, schema)),
  }),
  listRoute(BASE, "GET /api/private/v2.0/schemas/", {
    filters: { venueId: { shape: LONG, description: "Schemas of this venue." } },
    item: SCHEMA,
    rows: ({ services, caller, query }) => {
      const { state } = services.engine;
      return ownRows(state.catalog.schemas, caller)
        .filter(({ venueId }) => query.venueId === undefined || venueId === query.venueId)
        .map((schema) => schemaView(state, schema));
    },
  }),
  route(BASE, "GET /api/private/v2.0/schemas/{id}", {
    params: LONG_ID,
    answers: { 200: SCHEMA },
    problems: [400, 403, 404],
    handle: (context) => {
      const { state } = context.services.engine;
      const schema = state.catalog.schemas.get(context.params.id);
      return showOwn(schema, context, "schema", (own) => answer(200, schemaView(state, own)));
    },
  }),
  commandRoute(BASE, "PUT /api/private/v2.0/schemas/", "updateSchema", {
    ...WITH_THUMBNAIL,
    answers: { 200: SCHEMA },
    show: (schema, { engine }) => answer(200, schemaView(engine.state, schema)),
  }),
  commandRoute(BASE, "DELETE /api/private/v2.0/schemas/{id}", "deleteSchema", {
    answers: { 204: null },
    show: () => NO_CONTENT,
  }),
  route(BASE, "GET /api/private/v2.0/schemas/{schemaId}/seatmaps/", {
    params: { schemaId: LONG },
    query: GROUP_FILTERS,
    answers: { 200: list(GROUP_OF_SEATS) },
    problems: [400, 403, 404],
    handle: (context) => {
      const { parentId, type } = context.query;
      const { engine, layouts } = context.services;
      const { catalog } = engine.state;
      const schema = ownRow(catalog.schemas.get(context.params.schemaId), context.caller, "schema");
      if (isRefused(schema)) return schema;
      if (layouts.isLarge(schema.id)) return layouts.showGroups(schema.id, { parentId, type });
      const document = catalog.layouts.get(schema.id)?.document ?? EMPTY_DOCUMENT;
      const groups = groupViews(schema.id, document, catalog.zoneAssignments.of(schema.id))
        .filter((group) => parentId === undefined || group.parentId === parentId)
        .filter((group) => type === undefined || group.type === type);
      return answer(200, groups);
    },
  }),
  route(BASE, "GET /api/private/v2.0/schemas/{id}/geometry/", {
    params: LONG_ID,
    answers: { 200: GEOMETRY },
    problems: [400, 403, 404],
    handle: readGeometry,
  }),
  route(BASE, "GET /api/private/v2.0/schemas/{id}/layout", READ_LAYOUT),
  route(BASE, "PUT /api/private/v2.0/schemas/{id}/layout", PUT_LAYOUT),
  route(BASE, "GET /api/seatmap/{id}/", {
    ...READ_LAYOUT,
    access: Access.EDITOR,
    query: { orgId: ORGANIZATION_ID },
  }),
  route(BASE, "PUT /api/seatmap/{id}/", {
    ...PUT_LAYOUT,
    access: Access.EDITOR,
    query: { orgId: ORGANIZATION_ID, forceDelete: FORCE_DELETE },
  }),
];

function readLayout(context: ById): Handled | Promise<Handled> {
  const { engine, layouts } = context.services;
  const { catalog } = engine.state;
  const schema = ownRow(catalog.schemas.get(context.params.id), context.caller, "schema");
  if (isRefused(schema)) return schema;
  if (layouts.isLarge(schema.id)) return layouts.show(schema.id);
  return layoutAnswer(catalog.layouts.get(schema.id));
}

async function readGeometry({ services, caller, params, head }: ById): Promise<Handled> {
  const { engine, layouts } = services;
  const schema = ownRow(engine.state.catalog.schemas.get(params.id), caller, "schema");
  if (isRefused(schema)) return schema;
  const shown = await layouts.showGeometry(schema.id);
  return isRefused(shown) ? shown : inflated(shown, head.acceptEncoding);
}

type LayoutTarget = Context<{ readonly id: number }, { readonly forceDelete: boolean }, null>;
type LayoutPut = Context<{ readonly id: number }, { readonly forceDelete: boolean }, LayoutBody>;

function putLayout({ services, caller, params, query, body, head }: LayoutPut): Handled {
  const { forceDelete } = query;
  const versions = versionsIn(head.ifMatch);
  return submit(
    services,
    { kind: "putLayout", caller, schemaId: params.id, body, forceDelete, versions },
    ({ inUse }, { engine }) => {
      const row = engine.state.catalog.layouts.get(params.id);
      assert(row !== undefined, "a layout that was put is stored");
      return layoutPutAnswer(row, inUse);
    },
  );
}

// Cloning of schemas.

export const CLONE_ROUTES: readonly Route[] = [
  route(BASE, "POST /api/private/v2.0/schemas/clone/{id}", {
    params: LONG_ID,
    answers: { 200: UUID },
    problems: [...problemsOf("cloneSchema"), 413],
    handle: ({ services, caller, params }) => {
      const operation = { schemaId: params.id, cloneId: randomUUID() };
      const { schemas } = services.engine.state.catalog;
      const isOwn = schemas.get(params.id)?.organizationId === caller.organizationId;
      if (isOwn && services.layouts.isLarge(params.id)) {
        return services.layouts.clone(caller, params.id, operation.cloneId);
      }
      return submit(services, { kind: "cloneSchema", caller, ...operation }, ({ id }) =>
        answer(200, id),
      );
    },
  }),
  route(BASE, "GET /api/private/v2.0/schemas/clone/{id}", {
    params: UUID_ID,
    answers: { 200: CLONE },
    problems: [400, 403, 404],
    handle: (context) => {
      const clone = context.services.engine.state.catalog.clones.get(context.params.id);
      return showOwn(clone, context, "clone operation", (own) => answer(200, cloneView(own)));
    },
  }),
];

// Venues.

const VENUES_BASE = { tag: "Venues", access: Access.ORGANIZATION, durable: true };

export const VENUE_ROUTES: readonly Route[] = [
  commandRoute(VENUES_BASE, "POST /api/private/v2.0/venues/", "createVenue", {
    answers: { 201: VENUE },
    show: (venue) => answer(201, venueView(venue)),
  }),
  listRoute(VENUES_BASE, "GET /api/private/v2.0/venues/", {
    item: VENUE,
    rows: ({ services, caller }) =>
      ownRows(services.engine.state.catalog.venues, caller).map(venueView),
  }),
  commandRoute(VENUES_BASE, "PUT /api/private/v2.0/venues/", "updateVenue", {
    answers: { 200: VENUE },
    show: (venue) => answer(200, venueView(venue)),
  }),
  route(VENUES_BASE, "GET /api/private/v2.0/venues/{id}", {
    params: LONG_ID,
    answers: { 200: VENUE },
    problems: [400, 403, 404],
    handle: (context) => {
      const venue = context.services.engine.state.catalog.venues.get(context.params.id);
      return showOwn(venue, context, "venue", (own) => answer(200, venueView(own)));
    },
  }),
  commandRoute(VENUES_BASE, "DELETE /api/private/v2.0/venues/{id}", "deleteVenue", {
    answers: { 204: null },
    show: () => NO_CONTENT,
  }),
];
