/** Prices of an event. */
import { ownEvent, refuseEvent } from "../../engine/queries/access.ts";
import { findPrice } from "../../engine/queries/lookups.ts";
import { isRefused } from "../../engine/results.ts";
import { UUID } from "../../engine/shapes/fields.ts";
import { list } from "../../engine/shapes/shape.ts";
import { commandRoute } from "../routing/command-route.ts";
import { listRoute } from "../routing/page.ts";
import { Access, type Route, route } from "../routing/route.ts";
import { answer, NO_CONTENT, TRUE } from "../wire/answers.ts";
import { DONE, PRICE } from "../wire/shapes.ts";
import { priceView } from "../wire/views.ts";
import { LONG_ID } from "./handling.ts";

const BASE = { tag: "Prices", access: Access.ORGANIZATION, durable: true };

export const PRICE_ROUTES: readonly Route[] = [
  commandRoute(BASE, "POST /api/private/v2.0/event/{eventId}/prices/", "createPrices", {
    summary: "Create prices",
    answers: { 201: list(PRICE) },
    show: (prices) => answer(201, prices.map(priceView)),
  }),
  listRoute(BASE, "GET /api/private/v2.0/event/{eventId}/prices/", {
    summary: "List prices",
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
    summary: "Change the names and external ids of prices",
    answers: { 200: list(PRICE) },
    show: (prices) => answer(200, prices.map(priceView)),
  }),
  route(BASE, "GET /api/private/v2.0/event/{eventId}/prices/{id}", {
    summary: "Read a price",
    params: { eventId: UUID, ...LONG_ID },
    answers: { 200: PRICE },
    problems: [400, 403, 404],
    handle: ({ services, caller, params: { eventId, id: priceId } }) => {
      const price = findPrice(services.engine.state, { caller, eventId, priceId });
      return isRefused(price) ? price : answer(200, priceView(price));
    },
  }),
  commandRoute(BASE, "DELETE /api/private/v2.0/event/{eventId}/prices/{id}", "deletePrice", {
    summary: "Delete a price and its assignments",
    answers: { 204: null },
    show: () => NO_CONTENT,
  }),
  commandRoute(BASE, "POST /api/private/v2.0/event/{eventId}/prices/assignments/", "assignPrices", {
    summary: "Assign prices to seats, rows, sections, tables and areas",
    answers: { 200: DONE },
    show: () => TRUE,
  }),
];
