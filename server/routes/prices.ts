/** Prices of an event. */
import {
  findPrice,
  findZone,
  ownEvent,
  refuseEvent,
  zonedSchema,
} from "../../engine/queries/access.ts";
import { isRefused } from "../../engine/results.ts";
import { list, LONG, UUID } from "../../engine/schema.ts";
import { DONE, PRICE, priceView, PRICING_ZONE, zoneView } from "../api/entities.ts";
import { listRoute } from "../api/page.ts";
import { type Route, route } from "../api/route.ts";
import { Access } from "../auth/access.ts";
import { commandRoute } from "../api/router.ts";
import { answer, NO_CONTENT, TRUE } from "../http/answers.ts";
import { LONG_ID } from "./handling.ts";
import { OF_LISTS } from "../http/limits.ts";

const BASE = { tag: "Prices", access: Access.ORGANIZATION, durable: true, ...OF_LISTS };

export const PRICE_ROUTES: readonly Route[] = [
  commandRoute(BASE, "POST /api/private/v2.0/event/{eventId}/prices/", "createPrices", {
    answers: { 201: list(PRICE) },
    show: (prices) => answer(201, prices.map(priceView)),
  }),
  listRoute(BASE, "GET /api/private/v2.0/event/{eventId}/prices/", {
    params: { eventId: UUID },
    item: PRICE,
    rows: ({ services, caller, params }) => {
      const { state } = services.engine;
      const event = ownEvent(state, caller, params.eventId);
      if (event === null) return refuseEvent();
      return [...state.catalog.pricesOf(event.id).values()].map(priceView);
    },
  }),
  commandRoute(BASE, "PUT /api/private/v2.0/event/{eventId}/prices/", "updatePrices", {
    answers: { 200: list(PRICE) },
    show: (prices) => answer(200, prices.map(priceView)),
  }),
  route(BASE, "GET /api/private/v2.0/event/{eventId}/prices/{id}", {
    params: { eventId: UUID, ...LONG_ID },
    answers: { 200: PRICE },
    problems: [400, 403, 404],
    handle: ({ services, caller, params: { eventId, id: priceId } }) => {
      const price = findPrice(services.engine.state, { caller, eventId, priceId });
      return isRefused(price) ? price : answer(200, priceView(price));
    },
  }),
  commandRoute(BASE, "DELETE /api/private/v2.0/event/{eventId}/prices/{id}", "deletePrice", {
    answers: { 204: null },
    show: () => NO_CONTENT,
  }),
  commandRoute(BASE, "POST /api/private/v2.0/event/{eventId}/prices/assignments/", "assignPrices", {
    answers: { 200: DONE },
    show: () => TRUE,
  }),
];

// Pricing zones of a schema.

const ZONES_BASE = { ...BASE, tag: "Pricing zones" };

export const ZONE_ROUTES: readonly Route[] = [
  commandRoute(
    ZONES_BASE,
    "POST /api/private/v2.0/schemas/{schemaId}/pricing_zones/",
    "createZones",
    {
      answers: { 201: list(PRICING_ZONE) },
      show: (zones) => answer(201, zones.map(zoneView)),
    },
  ),
  listRoute(ZONES_BASE, "GET /api/private/v2.0/schemas/{schemaId}/pricing_zones/", {
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
  commandRoute(
    ZONES_BASE,
    "PUT /api/private/v2.0/schemas/{schemaId}/pricing_zones/",
    "updateZones",
    {
      answers: { 200: list(PRICING_ZONE) },
      show: (zones) => answer(200, zones.map(zoneView)),
    },
  ),
  route(ZONES_BASE, "GET /api/private/v2.0/schemas/{schemaId}/pricing_zones/{id}", {
    params: { schemaId: LONG, ...LONG_ID },
    answers: { 200: PRICING_ZONE },
    problems: [400, 403, 404],
    handle: ({ services, caller, params: { schemaId, id: zoneId } }) => {
      const zone = findZone(services.engine.state, { caller, schemaId, zoneId });
      return isRefused(zone) ? zone : answer(200, zoneView(zone));
    },
  }),
  commandRoute(
    ZONES_BASE,
    "DELETE /api/private/v2.0/schemas/{schemaId}/pricing_zones/{id}",
    "deleteZone",
    {
      answers: { 204: null },
      show: () => NO_CONTENT,
    },
  ),
  commandRoute(
    ZONES_BASE,
    "POST /api/private/v2.0/schemas/{schemaId}/pricing_zones/assignments/",
    "assignZones",
    {
      answers: { 200: DONE },
      show: () => TRUE,
    },
  ),
];
