/** One page of the holds of an event, filtered and sorted. */
import { assert } from "../assert.ts";
import type { SeatChoice } from "../bodies.ts";
import type { EventRow, PriceRow } from "../catalog.ts";
import { NONE } from "../constants.ts";
import type { Hold, Holds } from "../inventory/holds.ts";
import type { Partition } from "../inventory/partition.ts";
import type { SeatState } from "../inventory/states.ts";
import { drain } from "../inventory/steps.ts";
import { joinKey } from "../layout/labels.ts";
import { type Layout, seatIndexOf, seatName } from "../layout/layout.ts";
import type { State } from "../state.ts";
import { pageOf, ranksOf, type SortKey } from "./order.ts";
import { type AreaFacts, areaFacts } from "./seats.ts";

/** The compared value of each sort property. */
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

/** The remaining inventory of one lock. */
export interface HeldFacts extends Omit<Hold, "seats"> {
  readonly seatIds: readonly number[];
  readonly areas: readonly { readonly areaId: number; readonly places: number }[];
}

export interface HoldPage {
  readonly holds: readonly HeldFacts[];
  /** The number of holds on all pages. */
  readonly total: number;
}

/** Ties, and a query without an order, go by fence. Cost: O(holds of the session, or of the event). */
export function listHolds(partition: Partition, query: HoldQuery): HoldPage {
  const { session, sort, offset, limit } = query;
  const { holds } = partition;
  const slots =
    session === undefined ? holds.taken() : Uint32Array.from(holds.slotsOf(session)).sort();
  const keys = [...sort, { property: "fence", descending: false } as const].map(
    ({ property, descending }): SortKey => {
      const keyOf = SORT_KEYS[property](holds);
      return { keyOf: (slot) => keyOf(holds.get(slot)), descending };
    },
  );
  const page = drain(pageOf(slots, keys, offset, offset + limit));
  return {
    holds: heldFacts(partition, page),
    total: slots.length,
  };
}

/** Cost: O(first seats of the holds) and `Areas.heldOf`. */
function heldFacts(partition: Partition, slots: Iterable<number>): HeldFacts[] {
  const { layout, areas, holds } = partition;
  const held = areas.heldOf(new Set(slots));
  return Array.from(slots, (slot) => {
    const { seats: _, ...hold } = holds.get(slot);
    const seatIds = Array.from(partition.seatsOf(slot), (seat) => layout.seatIds[seat]!);
    const places = (held.get(slot) ?? []).map(([area, count]) => {
      return { areaId: layout.areas[area]!.id, places: count };
    });
    return { ...hold, seatIds, areas: places };
  });
}

// Inventory moved by a booking call, right after the call.

export interface BookedSeat {
  readonly id: number;
  /** The composite key of v1. */
  readonly label: string;
  /** The names of its section or table and its row, and its own. */
  readonly section: string;
  readonly row: string;
  readonly seat: string;
  readonly state: SeatState;
  readonly priceId: number | null;
  /** Milliseconds since 1970: the end of its hold; null for none. */
  readonly expiresAtMs: number | null;
  /** The sequence number of its lock, sale or block; null in other states. */
  readonly fence: number | null;
}

export interface BookedArea extends AreaFacts {
  /** Places of the lock's hold there; null for none, and for other calls. */
  readonly hold: {
    readonly fence: number;
    /** Milliseconds since 1970; null for no end. */
    readonly expiresAtMs: number | null;
    readonly places: number;
  } | null;
}

/** In the order of the request. */
export interface Booked {
  /** The last record of the event. */
  readonly sequence: number;
  readonly seats: readonly BookedSeat[];
  readonly areas: readonly BookedArea[];
}

/** Seats and places of one call. */
export interface BookedChoices {
  readonly seats?: readonly Pick<SeatChoice, "id">[] | null | undefined;
  readonly groupOfSeats?: readonly Pick<SeatChoice, "id">[] | null | undefined;
}

/**
 * @param isLock - True right after a lock of the choices: they are in the newest hold of the event.
 * Cost: O(objects of the request).
 */
export function bookedFacts(
  state: State,
  event: EventRow,
  isLock: boolean,
  selection: BookedChoices,
): Booked {
  const slot = isLock ? state.partitionOf(event).holds.newest : NONE;
  return bookedIn(state, event, slot, selection);
}

/** @param slot - Of the hold of a lock of the choices; NONE for other calls. */
function bookedIn(state: State, event: EventRow, slot: number, selection: BookedChoices): Booked {
  const partition = state.partitionOf(event);
  const prices = state.catalog.pricesOf(event.id);
  const { layout, holds } = partition;
  const seats = (selection.seats ?? []).map(({ id }) => {
    return bookedSeat(partition, prices, seatIndexOf(layout, id));
  });
  const areas = (selection.groupOfSeats ?? []).map(({ id }) => {
    const area = layout.areaIndexes.get(id);
    assert(area !== undefined, "the areas of a granted call are in the layout");
    const facts = areaFacts(partition, prices, area);
    const places = slot === NONE ? 0 : partition.areas.held(area, slot);
    if (places === 0) return { ...facts, hold: null };
    const { fence, expiresAtMs } = holds.get(slot);
    return { ...facts, hold: { fence, expiresAtMs: expiresAtMs || null, places } };
  });
  return { sequence: state.sequenceOf(event), seats, areas };
}

/** Seats and areas of an item of a cart. */
export interface ItemPlaces extends BookedChoices {
  readonly event: EventRow;
  /** Of a lock: the fence of its hold; NONE for other calls. */
  readonly fence: number;
}

export interface CartPlaces {
  readonly items: readonly ItemPlaces[];
}

export interface BookedItem extends Omit<Booked, "sequence"> {
  readonly eventId: string;
}

export interface BookedCart {
  /** Of the cart; the last record of its events for one that changed nothing. */
  readonly sequence: number;
  /** In the order of the request. */
  readonly items: readonly BookedItem[];
}

/** To be called in the turn of the cart. Cost: O(objects of the cart). */
export function cartFacts(state: State, { items }: CartPlaces): BookedCart {
  let last = 0;
  const booked = items.map(({ event, fence, ...choices }): BookedItem => {
    const slot = fence === NONE ? NONE : state.partitionOf(event).holds.slotOf(fence);
    const { sequence, ...places } = bookedIn(state, event, slot, choices);
    last = Math.max(last, sequence);
    return { eventId: event.id, ...places };
  });
  return { sequence: last, items: booked };
}

export function bookedSeat(
  partition: Partition,
  prices: ReadonlyMap<number, Pick<PriceRow, "id">>,
  seat: number,
): BookedSeat {
  const { layout, state, price, holds } = partition;
  const slot = partition.holdOf(seat);
  return {
    id: layout.seatIds[seat]!,
    ...labelsOf(layout, seat),
    state: state[seat] as SeatState,
    priceId: prices.get(price[seat]!)?.id ?? null,
    expiresAtMs: slot === NONE ? null : holds.get(slot).expiresAtMs || null,
    fence: partition.fenceOf(seat) || null,
  };
}

function labelsOf(layout: Layout, index: number) {
  const { name: row, section: number } = layout.rows[layout.rowOfSeat[index]!]!;
  const section = layout.sections[number]!.name;
  const seat = seatName(layout, index);
  return { label: joinKey(section, row, seat), section, row, seat };
}
