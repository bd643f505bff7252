/** Pricing zones of a schema. */
import type { CommandOf } from "../../engine/commands.ts";
import { isRefusal } from "../../engine/queries/access.ts";
import { findZone, zonedSchema } from "../../engine/queries/lookups.ts";
import { BODIES, list, LONG } from "../../engine/shapes.ts";
import { PAGE_QUERY, pageOfRows, pageShape } from "../routing/page.ts";
import { Access, type Context, type Handled, type Route } from "../routing/route.ts";
import { answer, NO_CONTENT, TRUE } from "../wire/answers.ts";
import { DONE, PRICING_ZONE } from "../wire/shapes.ts";
import { zoneView } from "../wire/views.ts";
import { LONG_ID, submit } from "./handling.ts";

const BASE = {
  tag: "Pricing zones",
  access: Access.ORGANIZATION,
  params: { schemaId: LONG },
  durable: true,
} as const;

const ZONE_ID = { ...BASE.params, ...LONG_ID };
const SORTS = ["id", "name"] as const;

export const ZONE_ROUTES: readonly Route[] = [
  {
    ...BASE,
    method: "post",
    path: "/api/private/v2.0/schemas/{schemaId}/pricing_zones/",
    summary: "Create pricing zones",
    body: BODIES.createZones,
    answers: { 201: list(PRICING_ZONE) },
    problems: [400, 403, 409],
    handle: createZones,
  },
  {
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/schemas/{schemaId}/pricing_zones/",
    summary: "List pricing zones",
    query: PAGE_QUERY,
    answers: { 200: pageShape(PRICING_ZONE) },
    problems: [400, 403],
    handle: listZones,
  },
  {
    ...BASE,
    method: "put",
    path: "/api/private/v2.0/schemas/{schemaId}/pricing_zones/",
    summary: "Change the names of pricing zones",
    body: BODIES.updateZones,
    answers: { 200: list(PRICING_ZONE) },
    problems: [400, 403, 404, 409],
    handle: updateZones,
  },
  {
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/schemas/{schemaId}/pricing_zones/{id}",
    summary: "Read a pricing zone",
    params: ZONE_ID,
    answers: { 200: PRICING_ZONE },
    problems: [400, 403, 404],
    handle: readZone,
  },
  {
    ...BASE,
    method: "delete",
    path: "/api/private/v2.0/schemas/{schemaId}/pricing_zones/{id}",
    summary: "Delete a pricing zone and its assignments",
    params: ZONE_ID,
    answers: { 204: null },
    problems: [400, 403, 404, 409],
    handle: deleteZone,
  },
  {
    ...BASE,
    method: "post",
    path: "/api/private/v2.0/schemas/{schemaId}/pricing_zones/assignments/",
    summary: "Assign pricing zones to sections, rows, tables, areas and seats",
    body: BODIES.assignZones,
    answers: { 200: DONE },
    problems: [400, 403, 409],
    handle: assignZones,
  },
];

function pathOf(params: Context["params"]) {
  return { schemaId: Number(params["schemaId"]), zoneId: Number(params["id"]) };
}

function createZones(context: Context): Handled {
  const { caller, params, body } = context;
  const command = { kind: "createZones", caller, schemaId: params["schemaId"], body };
  return submit(context, command as CommandOf<"createZones">, (zones) =>
    answer(201, zones.map(zoneView)),
  );
}

function updateZones(context: Context): Handled {
  const { caller, params, body } = context;
  const command = { kind: "updateZones", caller, schemaId: params["schemaId"], body };
  return submit(context, command as CommandOf<"updateZones">, (zones) =>
    answer(200, zones.map(zoneView)),
  );
}

function listZones({ services, caller, params, query }: Context): Handled {
  const { state } = services.engine;
  const schema = zonedSchema(state, { caller, schemaId: Number(params["schemaId"]) });
  if (isRefusal(schema)) return schema;
  const zones = [...state.catalog.zones.values()]
    .filter(({ schemaId }) => schemaId === schema.id)
    .map(zoneView);
  return pageOfRows(zones, query, SORTS);
}

function readZone({ services, caller, params }: Context): Handled {
  const zone = findZone(services.engine.state, { caller, ...pathOf(params) });
  return isRefusal(zone) ? zone : answer(200, zoneView(zone));
}

function deleteZone(context: Context): Handled {
  const { caller, params } = context;
  const command = { kind: "deleteZone", caller, ...pathOf(params) } as const;
  return submit(context, command, () => NO_CONTENT);
}

function assignZones(context: Context): Handled {
  const { caller, params, body } = context;
  const command = { kind: "assignZones", caller, schemaId: params["schemaId"], body };
  return submit(context, command as CommandOf<"assignZones">, () => TRUE);
}
