/** Prices of an event. */
import type { CommandOf } from "../../engine/commands.ts";
import { ownEvent, refuseEvent } from "../../engine/decide/access.ts";
import { BODIES, list, UUID_SHAPE } from "../../engine/shapes.ts";
import { answer, TRUE } from "../answers.ts";
import { PAGE_QUERY, pageOfRows, pageShape } from "../page.ts";
import { Access, type Context, type Handled, type Route } from "../route.ts";
import { priceView } from "../views.ts";
import { DONE, PRICE } from "../wire-shapes.ts";
import { submit } from "./handling.ts";

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

function assignPrices(context: Context): Handled {
  const { caller, params, body } = context;
  const command = { kind: "assignPrices", caller, eventId: params["eventId"], body };
  return submit(context, command as CommandOf<"assignPrices">, () => TRUE);
}
