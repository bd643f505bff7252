/** One page of the holds of an event, filtered and sorted. */
import type { Hold, Holds } from "../../inventory/holds.ts";
import type { Partition } from "../../inventory/partition.ts";
import { lastValue } from "../../inventory/steps.ts";
import { type SortKey, sortByKeys } from "../key-order.ts";
import { ranksOf } from "../name-order.ts";

/** What each sort property compares. */
const SORT_KEYS = {
  fence: () => (hold) => hold.fence,
  holdType: (holds) => {
    const names = [...new Set(Array.from(holds.taken(), (slot) => holds.get(slot).holdType))];
    const ranks = ranksOf(names);
    const rankOf = new Map(names.map((name, i) => [name, ranks[i]!]));
    return ({ holdType }) => rankOf.get(holdType)!;
  },
  since: () => (hold) => hold.startedAtMs,
  /** A hold without an end comes last. */
  until:
    () =>
    ({ expiresAtMs }) =>
      expiresAtMs === 0 ? Number.MAX_SAFE_INTEGER : expiresAtMs,
} satisfies Record<string, (holds: Holds) => (hold: Hold) => number>;
export type HoldSort = keyof typeof SORT_KEYS;
export const HOLD_SORTS = Object.keys(SORT_KEYS) as readonly HoldSort[];

export interface HoldQuery {
  /** Only holds of this session. */
  readonly session?: string | undefined;
  readonly sort: readonly { readonly property: HoldSort; readonly descending: boolean }[];
  readonly offset: number;
  readonly limit: number;
}

/** What one lock still holds. */
export interface HeldFacts extends Omit<Hold, "seats"> {
  readonly seatIds: readonly number[];
  readonly areas: readonly { readonly areaId: number; readonly places: number }[];
}

export interface HoldPage {
  readonly holds: readonly HeldFacts[];
  /** The number of holds on all pages. */
  readonly total: number;
}

/** Ties, and a query without an order, go by fence. Cost: O(holds of the event). */
export function listHolds(partition: Partition, query: HoldQuery): HoldPage {
  const { session, sort, offset, limit } = query;
  const { holds } = partition;
  const all = holds.taken();
  const slots =
    session === undefined ? all : all.filter((slot) => holds.get(slot).session === session);
  const keys = [...sort, { property: "fence", descending: false } as const].map(
    ({ property, descending }): SortKey => {
      const keyOf = SORT_KEYS[property](holds);
      return { keyOf: (slot) => keyOf(holds.get(slot)), descending };
    },
  );
  const page = lastValue(sortByKeys(slots, keys)).subarray(offset, offset + limit);
  return {
    holds: Array.from(page, (slot) => heldFacts(partition, slot)),
    total: slots.length,
  };
}

/** Cost: O(seats that the hold began with + areas of the event). */
function heldFacts(partition: Partition, slot: number): HeldFacts {
  const { seats: _, ...hold } = partition.holds.get(slot);
  const { layout, areas } = partition;
  const seatIds = Array.from(partition.seatsOf(slot), (seat) => layout.seatIds[seat]!);
  const held = layout.areas.map(({ id }, area) => ({
    areaId: id,
    places: areas.held(area, slot),
  }));
  return { ...hold, seatIds, areas: held.filter(({ places }) => places > 0) };
}
