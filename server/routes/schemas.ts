/** Schemas, their layouts and their seat maps. */
import type { CommandOf } from "../../engine/commands.ts";
import { EMPTY_DOCUMENT, GroupType } from "../../engine/layout/layout.ts";
import { BODIES, list, LONG, type Shape } from "../../engine/shapes.ts";
import { PAGE_QUERY, pageOfRows, pageShape } from "../routing/page.ts";
import { Access, type Context, type Handled, type Route } from "../routing/route.ts";
import { answer, NO_CONTENT } from "../wire/answers.ts";
import { GROUP_OF_SEATS, LAYOUT, SCHEMA } from "../wire/shapes.ts";
import { groupViews, schemaView } from "../wire/views.ts";
import { LONG_ID, showOwn, submit } from "./handling.ts";

const BASE = { tag: "Schemas", access: Access.ORGANIZATION, durable: true } as const;

const LAYOUT_BYTES_MAX = 64 * 1_024 * 1_024;
const SORTS = ["id", "name", "venueId", "draft", "template", "archived", "externalId"] as const;
const BOOLEAN: Shape = { type: "boolean" };

const FORCE_DELETE = {
  shape: BOOLEAN,
  description: "Remove seats even while they are held, sold or blocked.",
  default: false,
};
const ORGANIZATION_ID = { shape: LONG, description: "The organization acted for." };

const GET_LAYOUT = {
  ...BASE,
  method: "get",
  summary: "Read the layout of a schema",
  params: LONG_ID,
  answers: { 200: LAYOUT },
  problems: [400, 403, 404],
  handle: readLayout,
} as const;

const PUT_LAYOUT = {
  ...BASE,
  method: "put",
  summary: "Put the layout of a schema",
  params: LONG_ID,
  query: { forceDelete: FORCE_DELETE },
  body: BODIES.putLayout,
  bodyBytesMax: LAYOUT_BYTES_MAX,
  answers: { 200: LAYOUT },
  problems: [400, 403, 404, 409],
  handle: putLayout,
} as const;

export const SCHEMA_ROUTES: readonly Route[] = [
  {
    ...BASE,
    method: "post",
    path: "/api/private/v2.0/schemas/",
    summary: "Create a schema",
    body: BODIES.createSchema,
    answers: { 201: SCHEMA },
    problems: [400, 403, 409],
    handle: createSchema,
  },
  {
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/schemas/",
    summary: "List schemas",
    query: { ...PAGE_QUERY, venueId: { shape: LONG, description: "Schemas of this venue." } },
    answers: { 200: pageShape(SCHEMA) },
    problems: [400, 403],
    handle: listSchemas,
  },
  {
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/schemas/{id}",
    summary: "Read a schema",
    params: LONG_ID,
    answers: { 200: SCHEMA },
    problems: [400, 403, 404],
    handle: readSchema,
  },
  {
    ...BASE,
    method: "put",
    path: "/api/private/v2.0/schemas/",
    summary: "Change a schema",
    body: BODIES.updateSchema,
    answers: { 200: SCHEMA },
    problems: [400, 403, 404],
    handle: updateSchema,
  },
  {
    ...BASE,
    method: "delete",
    path: "/api/private/v2.0/schemas/{id}",
    summary: "Delete a schema with its layout and pricing zones",
    params: LONG_ID,
    answers: { 204: null },
    problems: [400, 403, 404, 409],
    handle: deleteSchema,
  },
  {
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/schemas/{schemaId}/seatmaps/",
    summary: "List the sections, rows, tables and areas of a schema",
    params: { schemaId: LONG },
    query: {
      parentId: { shape: LONG, description: "Only children of this group." },
      type: {
        shape: { type: "string", enum: Object.values(GroupType) },
        description: "Only groups of this type.",
      },
    },
    answers: { 200: list(GROUP_OF_SEATS) },
    problems: [400, 403, 404],
    handle: listGroups,
  },
  { ...GET_LAYOUT, path: "/api/private/v2.0/schemas/{id}/layout" },
  { ...PUT_LAYOUT, path: "/api/private/v2.0/schemas/{id}/layout" },
  {
    ...GET_LAYOUT,
    path: "/api/seatmap/{id}/",
    access: Access.EDITOR,
    query: { orgId: ORGANIZATION_ID },
  },
  {
    ...PUT_LAYOUT,
    path: "/api/seatmap/{id}/",
    access: Access.EDITOR,
    query: { orgId: ORGANIZATION_ID, forceDelete: FORCE_DELETE },
  },
];

function createSchema(context: Context): Handled {
  const { caller, body, services } = context;
  const command = { kind: "createSchema", caller, body } as CommandOf<"createSchema">;
  return submit(context, command, (schema) =>
    answer(201, schemaView(services.engine.state, schema)),
  );
}

function updateSchema(context: Context): Handled {
  const { caller, body, services } = context;
  const command = { kind: "updateSchema", caller, body } as CommandOf<"updateSchema">;
  return submit(context, command, (schema) =>
    answer(200, schemaView(services.engine.state, schema)),
  );
}

function deleteSchema(context: Context): Handled {
  const { caller, params } = context;
  const command = { kind: "deleteSchema", caller, schemaId: Number(params["id"]) } as const;
  return submit(context, command, () => NO_CONTENT);
}

function readSchema(context: Context): Handled {
  const { state } = context.services.engine;
  const schema = state.catalog.schemas.get(Number(context.params["id"]));
  return showOwn(schema, context, "schema", (own) => answer(200, schemaView(state, own)));
}

function listSchemas({ services, caller, query }: Context): Handled {
  const { state } = services.engine;
  const schemas = [...state.catalog.schemas.values()]
    .filter(({ organizationId }) => organizationId === caller.organizationId)
    .filter(({ venueId }) => query["venueId"] === undefined || venueId === query["venueId"])
    .map((schema) => schemaView(state, schema));
  return pageOfRows(schemas, query, SORTS);
}

function listGroups(context: Context): Handled {
  const { parentId, type } = context.query;
  const { catalog } = context.services.engine.state;
  const schema = catalog.schemas.get(Number(context.params["schemaId"]));
  return showOwn(schema, context, "schema", ({ id }) => {
    const document = catalog.layouts.get(id)?.document ?? EMPTY_DOCUMENT;
    const groups = groupViews(id, document, catalog.zoneAssignments)
      .filter((group) => parentId === undefined || group.parentId === parentId)
      .filter((group) => type === undefined || group.type === type);
    return answer(200, groups);
  });
}

function readLayout(context: Context): Handled {
  const { catalog } = context.services.engine.state;
  const schema = catalog.schemas.get(Number(context.params["id"]));
  return showOwn(schema, context, "schema", ({ id }) =>
    answer(200, catalog.layouts.get(id)?.document ?? EMPTY_DOCUMENT),
  );
}

function putLayout(context: Context): Handled {
  const { caller, params, query, body } = context;
  const forceDelete = query["forceDelete"] === true;
  const command = { kind: "putLayout", caller, schemaId: params["id"], body, forceDelete };
  return submit(context, command as CommandOf<"putLayout">, (document) => answer(200, document));
}
