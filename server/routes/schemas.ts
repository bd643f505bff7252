/** Schemas, their layouts and their seat maps. */
import { COMMANDS } from "../../engine/commands.ts";
import { EMPTY_DOCUMENT, GroupType } from "../../engine/layout/layout.ts";
import type { LayoutBody } from "../../engine/shapes/bodies.ts";
import { LONG } from "../../engine/shapes/fields.ts";
import { BOOLEAN, list, oneOf } from "../../engine/shapes/shape.ts";
import { commandRoute, problemsOf, submit } from "../routing/command-route.ts";
import { PAGE_QUERY, pageOfRows, type PageQuery, pageShape } from "../routing/page.ts";
import {
  Access,
  type Context,
  type Handled,
  type QueryOf,
  type Route,
  route,
} from "../routing/route.ts";
import { answer, NO_CONTENT } from "../wire/answers.ts";
import { GROUP_OF_SEATS, LAYOUT, SCHEMA } from "../wire/shapes.ts";
import { groupViews, schemaView } from "../wire/views.ts";
import { type ById, LONG_ID, showOwn } from "./handling.ts";

const BASE = { tag: "Schemas", access: Access.ORGANIZATION, durable: true };

const LAYOUT_BYTES_MAX = 64 * 1_024 * 1_024;

const VENUE_ID = { venueId: { shape: LONG, description: "Schemas of this venue." } };
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
  ...BASE,
  summary: "Read the layout of a schema",
  params: LONG_ID,
  answers: { 200: LAYOUT },
  problems: [400, 403, 404],
  handle: readLayout,
};
const PUT_LAYOUT = {
  ...BASE,
  summary: "Put the layout of a schema",
  params: LONG_ID,
  query: { forceDelete: FORCE_DELETE },
  body: COMMANDS.putLayout.members.body,
  bodyBytesMax: LAYOUT_BYTES_MAX,
  answers: { 200: LAYOUT },
  problems: problemsOf("putLayout"),
  handle: putLayout,
};

export const SCHEMA_ROUTES: readonly Route[] = [
  commandRoute("createSchema", {
    ...BASE,
    method: "post",
    path: "/api/private/v2.0/schemas/",
    summary: "Create a schema",
    answers: { 201: SCHEMA },
    show: (schema, { engine }) => answer(201, schemaView(engine.state, schema)),
  }),
  route({
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/schemas/",
    summary: "List schemas",
    query: { ...PAGE_QUERY, ...VENUE_ID },
    answers: { 200: pageShape(SCHEMA) },
    problems: [400, 403],
    handle: listSchemas,
  }),
  route({
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/schemas/{id}",
    summary: "Read a schema",
    params: LONG_ID,
    answers: { 200: SCHEMA },
    problems: [400, 403, 404],
    handle: readSchema,
  }),
  commandRoute("updateSchema", {
    ...BASE,
    method: "put",
    path: "/api/private/v2.0/schemas/",
    summary: "Change a schema",
    answers: { 200: SCHEMA },
    show: (schema, { engine }) => answer(200, schemaView(engine.state, schema)),
  }),
  commandRoute("deleteSchema", {
    ...BASE,
    method: "delete",
    path: "/api/private/v2.0/schemas/{id}",
    summary: "Delete a schema with its layout and pricing zones",
    answers: { 204: null },
    show: () => NO_CONTENT,
  }),
  route({
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/schemas/{schemaId}/seatmaps/",
    summary: "List the sections, rows, tables and areas of a schema",
    params: { schemaId: LONG },
    query: GROUP_FILTERS,
    answers: { 200: list(GROUP_OF_SEATS) },
    problems: [400, 403, 404],
    handle: listGroups,
  }),
  route({ ...READ_LAYOUT, method: "get", path: "/api/private/v2.0/schemas/{id}/layout" }),
  route({ ...PUT_LAYOUT, method: "put", path: "/api/private/v2.0/schemas/{id}/layout" }),
  route({
    ...READ_LAYOUT,
    method: "get",
    path: "/api/seatmap/{id}/",
    access: Access.EDITOR,
    query: { orgId: ORGANIZATION_ID },
  }),
  route({
    ...PUT_LAYOUT,
    method: "put",
    path: "/api/seatmap/{id}/",
    access: Access.EDITOR,
    query: { orgId: ORGANIZATION_ID, forceDelete: FORCE_DELETE },
  }),
];

function readSchema(context: ById): Handled {
  const { state } = context.services.engine;
  const schema = state.catalog.schemas.get(context.params.id);
  return showOwn(schema, context, "schema", (own) => answer(200, schemaView(state, own)));
}

type SchemaQuery = PageQuery & QueryOf<typeof VENUE_ID>;

function listSchemas({ services, caller, query }: Context<unknown, SchemaQuery>): Handled {
  const { state } = services.engine;
  const schemas = [...state.catalog.schemas.values()]
    .filter(({ organizationId }) => organizationId === caller.organizationId)
    .filter(({ venueId }) => query.venueId === undefined || venueId === query.venueId)
    .map((schema) => schemaView(state, schema));
  return pageOfRows(schemas, query, [
    "id",
    "name",
    "venueId",
    "draft",
    "template",
    "archived",
    "externalId",
  ]);
}

type GroupsOfSchema = Context<{ readonly schemaId: number }, QueryOf<typeof GROUP_FILTERS>>;

function listGroups(context: GroupsOfSchema): Handled {
  const { parentId, type } = context.query;
  const { catalog } = context.services.engine.state;
  const schema = catalog.schemas.get(context.params.schemaId);
  return showOwn(schema, context, "schema", ({ id }) => {
    const document = catalog.layouts.get(id)?.document ?? EMPTY_DOCUMENT;
    const groups = groupViews(id, document, catalog.zoneAssignments)
      .filter((group) => parentId === undefined || group.parentId === parentId)
      .filter((group) => type === undefined || group.type === type);
    return answer(200, groups);
  });
}

function readLayout(context: ById): Handled {
  const { catalog } = context.services.engine.state;
  const schema = catalog.schemas.get(context.params.id);
  return showOwn(schema, context, "schema", ({ id }) =>
    answer(200, catalog.layouts.get(id)?.document ?? EMPTY_DOCUMENT),
  );
}

type LayoutPut = Context<{ readonly id: number }, { readonly forceDelete: boolean }, LayoutBody>;

function putLayout({ services, caller, params, query, body }: LayoutPut): Handled {
  const { forceDelete } = query;
  return submit(
    services,
    { kind: "putLayout", caller, schemaId: params.id, body, forceDelete },
    (document) => answer(200, document),
  );
}
