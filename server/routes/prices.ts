/** Prices of an event. */
import { ownEvent, refuseEvent } from "../../engine/queries/access.ts";
import { findPrice } from "../../engine/queries/lookups.ts";
import { isRefused } from "../../engine/results.ts";
import { UUID } from "../../engine/shapes/fields.ts";
import { list } from "../../engine/shapes/shape.ts";
import { commandRoute } from "../routing/command-route.ts";
import { PAGE_QUERY, pageOfRows, type PageQuery, pageShape } from "../routing/page.ts";
import { Access, type Context, type Handled, type Route, route } from "../routing/route.ts";
import { answer, NO_CONTENT, TRUE } from "../wire/answers.ts";
import { DONE, PRICE } from "../wire/shapes.ts";
import { priceView } from "../wire/views.ts";
import { LONG_ID } from "./handling.ts";

const BASE = { tag: "Prices", access: Access.ORGANIZATION, durable: true };

interface OnEvent {
  readonly eventId: string;
}

export const PRICE_ROUTES: readonly Route[] = [
  commandRoute("createPrices", {
    ...BASE,
    method: "post",
    path: "/api/private/v2.0/event/{eventId}/prices/",
    summary: "Create prices",
    answers: { 201: list(PRICE) },
    show: (prices) => answer(201, prices.map(priceView)),
  }),
  route({
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/event/{eventId}/prices/",
    summary: "List prices",
    params: { eventId: UUID },
    query: PAGE_QUERY,
    answers: { 200: pageShape(PRICE) },
    problems: [400, 403],
    handle: listPrices,
  }),
  commandRoute("updatePrices", {
    ...BASE,
    method: "put",
    path: "/api/private/v2.0/event/{eventId}/prices/",
    summary: "Change the names and external ids of prices",
    answers: { 200: list(PRICE) },
    show: (prices) => answer(200, prices.map(priceView)),
  }),
  route({
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/event/{eventId}/prices/{id}",
    summary: "Read a price",
    params: { eventId: UUID, ...LONG_ID },
    answers: { 200: PRICE },
    problems: [400, 403, 404],
    handle: readPrice,
  }),
  commandRoute("deletePrice", {
    ...BASE,
    method: "delete",
    path: "/api/private/v2.0/event/{eventId}/prices/{id}",
    summary: "Delete a price and its assignments",
    answers: { 204: null },
    show: () => NO_CONTENT,
  }),
  commandRoute("assignPrices", {
    ...BASE,
    method: "post",
    path: "/api/private/v2.0/event/{eventId}/prices/assignments/",
    summary: "Assign prices to seats, rows, sections, tables and areas",
    answers: { 200: DONE },
    show: () => TRUE,
  }),
];

function listPrices({ services, caller, params, query }: Context<OnEvent, PageQuery>): Handled {
  const { state } = services.engine;
  const event = ownEvent(state, caller, params.eventId);
  if (event === null) return refuseEvent();
  const prices = [...state.catalog.pricesOf(event.id).values()].map(priceView);
  return pageOfRows(prices, query, ["id", "name", "externalId"]);
}

function readPrice({
  services,
  caller,
  params,
}: Context<OnEvent & { readonly id: number }>): Handled {
  const { eventId, id: priceId } = params;
  const price = findPrice(services.engine.state, { caller, eventId, priceId });
  return isRefused(price) ? price : answer(200, priceView(price));
}
