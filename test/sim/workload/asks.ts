/** All generators of requests, by group. */
import { askBooking, askPrices } from "./ask-booking.ts";
import { askCart } from "./ask-cart.ts";
import { askAccounts, askCatalog, askSeries, askZones } from "./ask-catalog.ts";
import { askEvents, askLayout, askSettings } from "./ask-events.ts";
import { askOffers } from "./ask-offers.ts";
import type { Ask, House, Scene } from "./ask.ts";
import type { Group } from "./plan.ts";

type Generator = (scene: Scene, house: House) => Ask | null;
const ASKS: Readonly<Record<Group, Generator | null>> = {
  booking: askBooking,
  prices: askPrices,
  layouts: askLayout,
  events: askEvents,
  settings: askSettings,
  zones: askZones,
  series: askSeries,
  catalog: askCatalog,
  accounts: askAccounts,
  carts: askCart,
  offers: askOffers,
  // No commands.
  reads: null,
};

/** @returns null if the group has no request now. */
export function askOf(group: Group, scene: Scene, house: House): Ask | null {
  return ASKS[group]?.(scene, house) ?? null;
}
