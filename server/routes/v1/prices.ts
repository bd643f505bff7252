/** v1 prices: one at a time, and no name twice on an event. */
import { ownEvent, ownRow, refuseEvent } from "../../../engine/queries/access.ts";
import { findPrice } from "../../../engine/queries/lookups.ts";
import { duplicate, isRefused, type Refusal, refuse, Result } from "../../../engine/results.ts";
import {
  PRICE as NEW_PRICE,
  PRICE_CHANGE,
  type PriceBody,
  type PriceChange,
} from "../../../engine/shapes/bodies.ts";
import { LONG } from "../../../engine/shapes/fields.ts";
import { list } from "../../../engine/shapes/shape.ts";
import type { State } from "../../../engine/state.ts";
import { submit } from "../../routing/command-route.ts";
import { type Handled, type Route, route, type WithBody } from "../../routing/route.ts";
import { answer, TRUE } from "../../wire/answers.ts";
import { DONE, PRICE } from "../../wire/shapes.ts";
import { priceView } from "../../wire/views.ts";
import { EVENT_ID } from "../handling.ts";
import { LEGACY } from "./legacy.ts";

const PRICE_ID = { shape: LONG, description: "The price.", required: true };

export const LEGACY_PRICE_ROUTES: readonly Route[] = [
  route(LEGACY, "GET /api/private/v1.0/prices/", {
    summary: "List the prices of an event",
    query: { id: EVENT_ID },
    answers: { 200: list(PRICE) },
    problems: [400, 403],
    handle: ({ services, caller, query }) => {
      const { state } = services.engine;
      const event = ownEvent(state, caller, query.id);
      if (event === null) return refuseEvent();
      const prices = [...state.catalog.pricesOf(event.id).values()].sort((a, b) => a.id - b.id);
      return answer(200, prices.map(priceView));
    },
  }),
  route(LEGACY, "POST /api/private/v1.0/prices/", {
    summary: "Create a price",
    body: NEW_PRICE,
    answers: { 200: PRICE },
    problems: [400, 403, 409],
    handle: createPrice,
  }),
  route(LEGACY, "PUT /api/private/v1.0/prices/", {
    summary: "Change a price; what is left out stays",
    body: PRICE_CHANGE,
    answers: { 200: PRICE },
    problems: [400, 403, 404, 409],
    handle: updatePrice,
  }),
  route(LEGACY, "DELETE /api/private/v1.0/prices/", {
    summary: "Delete a price and its assignments",
    query: { id: PRICE_ID },
    answers: { 200: DONE },
    problems: [400, 403, 409],
    handle: ({ services, caller, query: { id: priceId } }) => {
      const { catalog } = services.engine.state;
      const eventId = catalog.prices.get(priceId)?.eventId ?? "";
      const event = ownRow(catalog.events.get(eventId), caller, "price");
      if (isRefused(event)) return event;
      return submit(services, { kind: "deletePrice", caller, eventId, priceId }, () => TRUE);
    },
  }),
];

function createPrice({ services, caller, body: price }: WithBody<PriceBody>): Handled {
  const { state } = services.engine;
  const eventId = price.eventId.toLowerCase();
  const event = ownEvent(state, caller, eventId);
  if (event === null) return refuseEvent();
  const taken = refuseTakenName(state, eventId, { id: 0, name: price.name });
  if (taken !== null) return taken;
  return submit(services, { kind: "createPrices", caller, eventId, body: [price] }, ([created]) =>
    answer(200, priceView(created!)),
  );
}

function updatePrice({ services, caller, body: price }: WithBody<PriceChange>): Handled {
  const { state } = services.engine;
  const eventId = price.eventId.toLowerCase();
  const found = findPrice(state, { caller, eventId, priceId: price.id });
  if (isRefused(found)) return found;
  const taken = refuseTakenName(state, eventId, price);
  if (taken !== null) return taken;
  const body = [{ ...price, externalId: price.externalId ?? found.externalId }];
  return submit(services, { kind: "updatePrices", caller, eventId, body }, ([changed]) =>
    answer(200, priceView(changed!)),
  );
}

/** @returns DUPLICATE_NAME when another price of the event has the name; else null. */
function refuseTakenName(
  { catalog }: State,
  eventId: string,
  { id, name }: { readonly id: number; readonly name: string },
): Refusal | null {
  const prices = [...catalog.pricesOf(eventId).values()];
  if (!prices.some((price) => price.id !== id && price.name === name)) return null;
  const error = duplicate("name", name, "is the name of another price of the event");
  return refuse(Result.DUPLICATE_NAME, "The event has a price of that name.", [error]);
}
