/** v1 prices: one at a time, and no name twice on an event. */
import type { PriceBody, PriceUpdate } from "../../../engine/commands.ts";
import { isRefusal, ownEvent, ownRow, refuseEvent } from "../../../engine/queries/access.ts";
import { findPrice } from "../../../engine/queries/lookups.ts";
import { type Refusal, refuse, Result, duplicate } from "../../../engine/results.ts";
import { list, LONG } from "../../../engine/shapes.ts";
import type { State } from "../../../engine/state.ts";
import type { Context, Handled, Route } from "../../routing/route.ts";
import { answer, TRUE } from "../../wire/answers.ts";
import { DONE, PRICE } from "../../wire/shapes.ts";
import { priceView } from "../../wire/views.ts";
import { submit } from "../handling.ts";
import { EVENT_ID, LEGACY } from "./legacy.ts";
import { CHANGED_PRICE, NEW_PRICE } from "./shapes.ts";

const PRICE_ID = { shape: LONG, description: "The price.", required: true };

export const LEGACY_PRICE_ROUTES: readonly Route[] = [
  {
    ...LEGACY,
    method: "get",
    path: "/api/private/v1.0/prices/",
    summary: "List the prices of an event",
    query: { id: EVENT_ID },
    answers: { 200: list(PRICE) },
    problems: [400, 403],
    handle: listPrices,
  },
  {
    ...LEGACY,
    method: "post",
    path: "/api/private/v1.0/prices/",
    summary: "Create a price",
    body: NEW_PRICE,
    answers: { 200: PRICE },
    problems: [400, 403, 409],
    handle: createPrice,
  },
  {
    ...LEGACY,
    method: "put",
    path: "/api/private/v1.0/prices/",
    summary: "Change a price",
    body: CHANGED_PRICE,
    answers: { 200: PRICE },
    problems: [400, 403, 404, 409],
    handle: updatePrice,
  },
  {
    ...LEGACY,
    method: "delete",
    path: "/api/private/v1.0/prices/",
    summary: "Delete a price and its assignments",
    query: { id: PRICE_ID },
    answers: { 200: DONE },
    problems: [400, 403, 409],
    handle: deletePrice,
  },
];

function listPrices({ services, caller, query }: Context): Handled {
  const { state } = services.engine;
  const event = ownEvent(state, caller, String(query["id"]));
  if (event === null) return refuseEvent();
  const prices = [...state.catalog.pricesOf(event.id).values()].sort((a, b) => a.id - b.id);
  return answer(200, prices.map(priceView));
}

function createPrice(context: Context): Handled {
  const { caller, services } = context;
  const price = context.body as PriceBody;
  const eventId = price.eventId.toLowerCase();
  const event = ownEvent(services.engine.state, caller, eventId);
  if (event === null) return refuseEvent();
  if (hasNamesake(services.engine.state, eventId, price)) return refuseNamesake(price);
  const command = { kind: "createPrices", caller, eventId, body: [price] } as const;
  return submit(context, command, ([created]) => answer(200, priceView(created!)));
}

function updatePrice(context: Context): Handled {
  const { caller, services } = context;
  const { state } = services.engine;
  const price = context.body as PriceUpdate;
  const eventId = price.eventId.toLowerCase();
  const found = findPrice(state, { caller, eventId, priceId: price.id });
  if (isRefusal(found)) return found;
  if (hasNamesake(state, eventId, price)) return refuseNamesake(price);
  const command = { kind: "updatePrices", caller, eventId, body: [price] } as const;
  return submit(context, command, ([changed]) => answer(200, priceView(changed!)));
}

/** Whether another price of the event has the name. */
function hasNamesake(
  { catalog }: State,
  eventId: string,
  { id, name }: PriceBody & Partial<PriceUpdate>,
): boolean {
  const prices = [...catalog.pricesOf(eventId).values()];
  return prices.some((price) => price.id !== id && price.name === name);
}

function refuseNamesake({ name }: PriceBody): Refusal {
  const fault = duplicate("name", name, "is the name of another price of the event");
  return refuse(Result.DUPLICATE_NAME, "The event has a price of that name.", [fault]);
}

function deletePrice(context: Context): Handled {
  const { caller, query, services } = context;
  const { catalog } = services.engine.state;
  const priceId = Number(query["id"]);
  const eventId = catalog.prices.get(priceId)?.eventId ?? "";
  const event = ownRow(catalog.events.get(eventId), caller, "price");
  if (isRefusal(event)) return event;
  return submit(context, { kind: "deletePrice", caller, eventId, priceId }, () => TRUE);
}
