/** Changes of existing prices: their names, and their deletion. */
import { assert } from "../../assert.ts";
import type { PriceRow } from "../../catalog.ts";
import { ownRow } from "../../queries/access.ts";
import { findPrice } from "../../queries/lookups.ts";
import {
  type Decision,
  isRefused,
  notFound,
  refuse,
  refuseInvalid,
  repeatedIds,
  Result,
} from "../../results.ts";
import type { PriceChange } from "../../shapes/bodies.ts";
import type { CommandWith } from "../../shapes/caller.ts";
import type { State } from "../../state.ts";
import { grantChange } from "../catalog-record.ts";
import { usesOfPrice } from "../inventory-in-use.ts";
import { otherEvents } from "./prices.ts";

/** All or nothing. An external id that is left out is removed. Answers the changed prices. */
export function updatePrices(
  state: State,
  { caller, eventId, body }: CommandWith<{ eventId: string; body: readonly PriceChange[] }>,
  timeMs: number,
): Decision<PriceRow[]> {
  const errors = [...otherEvents(body, eventId), ...repeatedIds(body)];
  if (errors.length > 0) return refuseInvalid(errors);
  const { events, prices } = state.catalog;
  const event = ownRow(events.get(eventId), caller, "event");
  if (isRefused(event)) return event;
  const unknown = body.flatMap(({ id }, i) =>
    prices.get(id)?.eventId === eventId ? [] : [notFound(`[${i}].id`, id, "price on the event")],
  );
  if (unknown.length > 0) {
    return refuse(Result.ENTITY_NOT_FOUND, "There is no such price on the event.", unknown);
  }
  const rows = body.map(({ id, name, externalId }): PriceRow => {
    const price = prices.get(id);
    assert(price !== undefined, "every price of the request was found");
    const renamedAtMs = name === price.name ? price.renamedAtMs : timeMs;
    return { ...price, name, renamedAtMs, externalId: externalId ?? null };
  });
  const puts = rows.map((row) => ({ table: "prices", row }) as const);
  return grantChange(state, caller, { puts }, rows);
}

/**
 * Removes the price from the seats and areas that have it, and deletes it.
 *
 * @returns INVENTORY_IN_USE while one of its seats or areas has LOCKED, SOLD or BLOCKED inventory.
 * Cost: O(seats of the event).
 */
export function deletePrice(
  state: State,
  command: CommandWith<{ eventId: string; priceId: number }>,
): Decision<null> {
  const price = findPrice(state, command);
  if (isRefused(price)) return price;
  const { events } = state.catalog;
  const event = events.get(price.eventId);
  assert(event !== undefined, "a price belongs to an event");
  const { seats, areas } = usesOfPrice(state.partitionOf(event), price.slot);
  if (seats + areas > 0) {
    const inUse = [counted(seats, "seat"), counted(areas, "area")].join(" and ");
    const detail = `Held, sold or blocked inventory at this price: ${inUse}.`;
    return refuse(Result.INVENTORY_IN_USE, detail);
  }
  const removes = [{ table: "prices", key: price.id }] as const;
  return grantChange(state, command.caller, { removes }, null);
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
