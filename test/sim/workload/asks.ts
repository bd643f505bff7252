/** All generators of requests, by group, and how often each is drawn. */
import { askBooking, askPrices } from "./ask-booking.ts";
import { askAccounts, askCatalog, askSeries, askZones } from "./ask-catalog.ts";
import { askEvents, askLayout, askSettings } from "./ask-events.ts";
import type { Ask, House, Scene } from "./ask.ts";
import type { Group } from "./plan.ts";

/** How much of the requests each group is. */
const WEIGHTS: Readonly<Record<Group, number>> = {
  booking: 60,
  prices: 5,
  layouts: 2,
  events: 5,
  settings: 4,
  zones: 3,
  series: 2,
  catalog: 2,
  accounts: 2,
  reads: 5,
};

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
  // No commands.
  reads: null,
};

/** Each group as often as it weighs. */
export function bagOf(groups: readonly Group[]): Group[] {
  return groups.flatMap((group) => Array.from({ length: WEIGHTS[group] }, () => group));
}

/** @returns null where that group has nothing to ask. */
export function askOf(group: Group, scene: Scene, house: House): Ask | null {
  return ASKS[group]?.(scene, house) ?? null;
}
