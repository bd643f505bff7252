/** Pricing zones of a schema. */
import { findZone, zonedSchema } from "../../../engine/queries/lookups.ts";
import { isRefused } from "../../../engine/results.ts";
import { LONG } from "../../../engine/shapes/fields.ts";
import { list } from "../../../engine/shapes/shape.ts";
import { commandRoute } from "../../routing/command-route.ts";
import { listRoute } from "../../routing/page.ts";
import { Access, type Route, route } from "../../routing/route.ts";
import { answer, NO_CONTENT, TRUE } from "../../wire/answers.ts";
import { DONE, PRICING_ZONE } from "../../wire/shapes.ts";
import { zoneView } from "../../wire/views.ts";
import { LONG_ID } from "../handling.ts";

const BASE = { tag: "Pricing zones", access: Access.ORGANIZATION, durable: true };

export const ZONE_ROUTES: readonly Route[] = [
  commandRoute(BASE, "POST /api/private/v2.0/schemas/{schemaId}/pricing_zones/", "createZones", {
    answers: { 201: list(PRICING_ZONE) },
    show: (zones) => answer(201, zones.map(zoneView)),
  }),
  listRoute(BASE, "GET /api/private/v2.0/schemas/{schemaId}/pricing_zones/", {
    params: { schemaId: LONG },
    item: PRICING_ZONE,
    rows: ({ services, caller, params }) => {
      const { state } = services.engine;
      const schema = zonedSchema(state, { caller, schemaId: params.schemaId });
      if (isRefused(schema)) return schema;
      const zones = [...state.catalog.zones.values()];
      return zones.filter(({ schemaId }) => schemaId === schema.id).map(zoneView);
    },
  }),
  commandRoute(BASE, "PUT /api/private/v2.0/schemas/{schemaId}/pricing_zones/", "updateZones", {
    answers: { 200: list(PRICING_ZONE) },
    show: (zones) => answer(200, zones.map(zoneView)),
  }),
  route(BASE, "GET /api/private/v2.0/schemas/{schemaId}/pricing_zones/{id}", {
    params: { schemaId: LONG, ...LONG_ID },
    answers: { 200: PRICING_ZONE },
    problems: [400, 403, 404],
    handle: ({ services, caller, params: { schemaId, id: zoneId } }) => {
      const zone = findZone(services.engine.state, { caller, schemaId, zoneId });
      return isRefused(zone) ? zone : answer(200, zoneView(zone));
    },
  }),
  commandRoute(
    BASE,
    "DELETE /api/private/v2.0/schemas/{schemaId}/pricing_zones/{id}",
    "deleteZone",
    {
      answers: { 204: null },
      show: () => NO_CONTENT,
    },
  ),
  commandRoute(
    BASE,
    "POST /api/private/v2.0/schemas/{schemaId}/pricing_zones/assignments/",
    "assignZones",
    {
      answers: { 200: DONE },
      show: () => TRUE,
    },
  ),
];
