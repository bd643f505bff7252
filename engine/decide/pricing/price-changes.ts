/** Changes of prices that are there: their names, and their end. */
import type { PriceRow } from "../../catalog.ts";
import type { CommandOf } from "../../commands.ts";
import { isRefusal, ownRow } from "../../queries/access.ts";
import { findPrice } from "../../queries/lookups.ts";
import {
  type Decision,
  grant,
  refuse,
  refuseInvalid,
  Result,
  notFound,
  repeatedIds,
} from "../../results.ts";
import type { State } from "../../state.ts";
import { catalogRecord } from "../catalog-record.ts";
import { usesOfPrice } from "../inventory-in-use.ts";
import { otherEvents } from "./prices.ts";

/**
 * All or nothing. What is not sent is taken away, as the id in an external system.
 *
 * @returns VALIDATION_FAILED, ENTITY_NOT_FOUND or ACCESS_DENIED; else the prices as they are now.
 */
export function updatePrices(
  state: State,
  { caller, eventId, body }: CommandOf<"updatePrices">,
): Decision<PriceRow[]> {
  const faults = [...otherEvents(body, eventId), ...repeatedIds(body)];
  if (faults.length > 0) return refuseInvalid(faults);
  const { catalog } = state;
  const event = ownRow(catalog.events.get(eventId), caller, "event");
  if (isRefusal(event)) return event;
  const unknown = body.flatMap(({ id }, i) =>
    catalog.prices.get(id)?.eventId === eventId
      ? []
      : [notFound(`[${i}].id`, id, "price on the event")],
  );
  if (unknown.length > 0) {
    return refuse(Result.ENTITY_NOT_FOUND, "There is no such price on the event.", unknown);
  }
  const rows = body.map(({ id, name, externalId }): PriceRow => {
    const price = catalog.prices.get(id)!;
    return { ...price, name, externalId: externalId ?? null };
  });
  const puts = rows.map((row) => ({ table: "prices", row }) as const);
  return grant(catalogRecord(caller, { nextId: catalog.nextId, puts }), rows);
}

/**
 * Takes the price away from the seats and areas that have it.
 *
 * @returns ENTITY_NOT_FOUND, ACCESS_DENIED, or INVENTORY_IN_USE while one of its seats is LOCKED,
 * SOLD or BLOCKED or one of its areas has LOCKED or SOLD places. Cost: O(seats of the event).
 */
export function deletePrice(state: State, command: CommandOf<"deletePrice">): Decision<null> {
  const price = findPrice(state, command);
  if (isRefusal(price)) return price;
  const event = state.catalog.events.get(price.eventId)!;
  const { seats, areas } = usesOfPrice(state.partitionOf(event), price.slot);
  if (seats + areas > 0) {
    const detail = `Held, sold or blocked at this price: ${seats} seats, places in ${areas} areas.`;
    return refuse(Result.INVENTORY_IN_USE, detail);
  }
  const { nextId } = state.catalog;
  const removes = [{ table: "prices", key: price.id }] as const;
  return grant(catalogRecord(command.caller, { nextId, removes }), null);
}
