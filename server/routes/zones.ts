/** Pricing zones of a schema. */
import { findZone, zonedSchema } from "../../engine/queries/lookups.ts";
import { isRefused } from "../../engine/results.ts";
import { LONG } from "../../engine/shapes/fields.ts";
import { list } from "../../engine/shapes/shape.ts";
import { commandRoute } from "../routing/command-route.ts";
import { PAGE_QUERY, pageOfRows, type PageQuery, pageShape } from "../routing/page.ts";
import { Access, type Context, type Handled, type Route, route } from "../routing/route.ts";
import { answer, NO_CONTENT, TRUE } from "../wire/answers.ts";
import { DONE, PRICING_ZONE } from "../wire/shapes.ts";
import { zoneView } from "../wire/views.ts";
import { LONG_ID } from "./handling.ts";

const BASE = { tag: "Pricing zones", access: Access.ORGANIZATION, durable: true };

interface OnSchema {
  readonly schemaId: number;
}

export const ZONE_ROUTES: readonly Route[] = [
  commandRoute("createZones", {
    ...BASE,
    method: "post",
    path: "/api/private/v2.0/schemas/{schemaId}/pricing_zones/",
    summary: "Create pricing zones",
    answers: { 201: list(PRICING_ZONE) },
    show: (zones) => answer(201, zones.map(zoneView)),
  }),
  route({
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/schemas/{schemaId}/pricing_zones/",
    summary: "List pricing zones",
    params: { schemaId: LONG },
    query: PAGE_QUERY,
    answers: { 200: pageShape(PRICING_ZONE) },
    problems: [400, 403],
    handle: listZones,
  }),
  commandRoute("updateZones", {
    ...BASE,
    method: "put",
    path: "/api/private/v2.0/schemas/{schemaId}/pricing_zones/",
    summary: "Change the names of pricing zones",
    answers: { 200: list(PRICING_ZONE) },
    show: (zones) => answer(200, zones.map(zoneView)),
  }),
  route({
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/schemas/{schemaId}/pricing_zones/{id}",
    summary: "Read a pricing zone",
    params: { schemaId: LONG, ...LONG_ID },
    answers: { 200: PRICING_ZONE },
    problems: [400, 403, 404],
    handle: readZone,
  }),
  commandRoute("deleteZone", {
    ...BASE,
    method: "delete",
    path: "/api/private/v2.0/schemas/{schemaId}/pricing_zones/{id}",
    summary: "Delete a pricing zone and its assignments",
    answers: { 204: null },
    show: () => NO_CONTENT,
  }),
  commandRoute("assignZones", {
    ...BASE,
    method: "post",
    path: "/api/private/v2.0/schemas/{schemaId}/pricing_zones/assignments/",
    summary: "Assign pricing zones to sections, rows, tables, areas and seats",
    answers: { 200: DONE },
    show: () => TRUE,
  }),
];

function listZones({ services, caller, params, query }: Context<OnSchema, PageQuery>): Handled {
  const { state } = services.engine;
  const schema = zonedSchema(state, { caller, schemaId: params.schemaId });
  if (isRefused(schema)) return schema;
  const zones = [...state.catalog.zones.values()]
    .filter(({ schemaId }) => schemaId === schema.id)
    .map(zoneView);
  return pageOfRows(zones, query, ["id", "name"]);
}

function readZone({
  services,
  caller,
  params,
}: Context<OnSchema & { readonly id: number }>): Handled {
  const { schemaId, id: zoneId } = params;
  const zone = findZone(services.engine.state, { caller, schemaId, zoneId });
  return isRefused(zone) ? zone : answer(200, zoneView(zone));
}
