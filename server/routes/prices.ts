/** Prices of an event. */
import type { CommandOf } from "../../engine/commands.ts";
import { isRefusal, ownEvent, refuseEvent } from "../../engine/queries/access.ts";
import { findPrice } from "../../engine/queries/lookups.ts";
import { BODIES, list, UUID_SHAPE } from "../../engine/shapes.ts";
import { PAGE_QUERY, pageOfRows, pageShape } from "../routing/page.ts";
import { Access, type Context, type Handled, type Route } from "../routing/route.ts";
import { answer, NO_CONTENT, TRUE } from "../wire/answers.ts";
import { DONE, PRICE } from "../wire/shapes.ts";
import { priceView } from "../wire/views.ts";
import { LONG_ID, submit } from "./handling.ts";

const BASE = {
  tag: "Prices",
  access: Access.ORGANIZATION,
  params: { eventId: UUID_SHAPE },
  durable: true,
} as const;

const SORTS = ["id", "name", "externalId"] as const;

export const PRICE_ROUTES: readonly Route[] = [
  {
    ...BASE,
    method: "post",
    path: "/api/private/v2.0/event/{eventId}/prices/",
    summary: "Create prices",
    body: BODIES.createPrices,
    answers: { 201: list(PRICE) },
    problems: [400, 403, 409],
    handle: createPrices,
  },
  {
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/event/{eventId}/prices/",
    summary: "List prices",
    query: PAGE_QUERY,
    answers: { 200: pageShape(PRICE) },
    problems: [400, 403],
    handle: listPrices,
  },
  {
    ...BASE,
    method: "put",
    path: "/api/private/v2.0/event/{eventId}/prices/",
    summary: "Change the names and external ids of prices",
    body: BODIES.updatePrices,
    answers: { 200: list(PRICE) },
    problems: [400, 403, 404, 409],
    handle: updatePrices,
  },
  {
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/event/{eventId}/prices/{id}",
    summary: "Read a price",
    params: { ...BASE.params, ...LONG_ID },
    answers: { 200: PRICE },
    problems: [400, 403, 404],
    handle: readPrice,
  },
  {
    ...BASE,
    method: "delete",
    path: "/api/private/v2.0/event/{eventId}/prices/{id}",
    summary: "Delete a price and its assignments",
    params: { ...BASE.params, ...LONG_ID },
    answers: { 204: null },
    problems: [400, 403, 404, 409],
    handle: deletePrice,
  },
  {
    ...BASE,
    method: "post",
    path: "/api/private/v2.0/event/{eventId}/prices/assignments/",
    summary: "Assign prices to seats, rows, sections, tables and areas",
    body: BODIES.assignPrices,
    answers: { 200: DONE },
    problems: [400, 403, 409],
    handle: assignPrices,
  },
];

function createPrices(context: Context): Handled {
  const { caller, params, body } = context;
  const command = { kind: "createPrices", caller, eventId: params["eventId"], body };
  return submit(context, command as CommandOf<"createPrices">, (prices) =>
    answer(201, prices.map(priceView)),
  );
}

function listPrices({ services, caller, params, query }: Context): Handled {
  const { state } = services.engine;
  const event = ownEvent(state, caller, String(params["eventId"]));
  if (event === null) return refuseEvent();
  const prices = [...state.catalog.pricesOf(event.id).values()].map(priceView);
  return pageOfRows(prices, query, SORTS);
}

function updatePrices(context: Context): Handled {
  const { caller, params, body } = context;
  const command = { kind: "updatePrices", caller, eventId: params["eventId"], body };
  return submit(context, command as CommandOf<"updatePrices">, (prices) =>
    answer(200, prices.map(priceView)),
  );
}

function readPrice({ services, caller, params }: Context): Handled {
  const price = findPrice(services.engine.state, { caller, ...pathOf(params) });
  return isRefusal(price) ? price : answer(200, priceView(price));
}

function deletePrice(context: Context): Handled {
  const { caller, params } = context;
  const command = { kind: "deletePrice", caller, ...pathOf(params) } as const;
  return submit(context, command, () => NO_CONTENT);
}

function pathOf(params: Context["params"]) {
  return { eventId: String(params["eventId"]), priceId: Number(params["id"]) };
}

function assignPrices(context: Context): Handled {
  const { caller, params, body } = context;
  const command = { kind: "assignPrices", caller, eventId: params["eventId"], body };
  return submit(context, command as CommandOf<"assignPrices">, () => TRUE);
}
