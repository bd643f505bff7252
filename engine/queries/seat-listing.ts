/** One page of an event's seats, filtered and sorted. */
import { assert } from "../assert.ts";
import { NONE } from "../constants.ts";
import type { Partition } from "../inventory/partition.ts";
import { SeatState, STATE_NAMES } from "../inventory/states.ts";
import { collectSeats, GroupType, type Layout } from "../layout/layout.ts";
import { changeOfSeat, type ListedEvent, priceOf } from "./listed-event.ts";
import { nameKey, ranksOf } from "./name-order.ts";
import { type Compare, SortedSeats } from "./sorted-seats.ts";

type SortKey = (seat: number) => number | string;

/** What each sort property compares in an event. */
const SORT_KEYS = {
  seatId: () => (seat) => seat,
  seatName: ({ partition: { layout } }) => {
    const { seats } = nameRanks(layout);
    return (seat) => seats[seat]!;
  },
  rowId:
    ({ partition: { layout } }) =>
    (seat) =>
      rowOf(layout, seat).id,
  rowName: ({ partition: { layout } }) => {
    const { rows } = nameRanks(layout);
    return (seat) => rows[layout.rowOfSeat[seat]!]!;
  },
  sectionId:
    ({ partition: { layout } }) =>
    (seat) =>
      sectionOf(layout, seat).id,
  sectionName: ({ partition: { layout } }) => {
    const { sections } = nameRanks(layout);
    return (seat) => sections[rowOf(layout, seat).section]!;
  },
  state:
    ({ partition: { state } }) =>
    (seat) =>
      STATE_NAMES[state[seat] as SeatState] ?? "",
  priceId: (event) => (seat) => priceOf(event, seat)?.id ?? 0,
  priceName: ({ partition: { price }, prices }) => {
    const keys = new Map([...prices].map(([slot, { name }]) => [slot, nameKey(name)]));
    return (seat) => keys.get(price[seat]!) ?? "";
  },
  updatedAt: (event) => (seat) => changeOfSeat(event, seat),
} satisfies Record<string, (event: ListedEvent) => SortKey>;
export type SeatSort = keyof typeof SORT_KEYS;
export const SEAT_SORTS = Object.keys(SORT_KEYS) as readonly SeatSort[];
/** All other properties are fixed by the layout. */
const CHANGING_SORTS = new Set<SeatSort>(["state", "priceId", "priceName", "updatedAt"]);

export interface SeatQuery {
  readonly sectionId?: number | undefined;
  readonly rowId?: number | undefined;
  /** Milliseconds since 1970: only seats that changed then or later. */
  readonly changedSinceMs?: number | undefined;
  readonly sort: readonly { readonly property: SeatSort; readonly descending: boolean }[];
  readonly offset: number;
  readonly limit: number;
}

export interface SeatPage {
  /** Seat indexes. */
  readonly seats: readonly number[];
  /** The number of seats on all pages. */
  readonly total: number;
}

/** A listing of at least this many seats is cached and repaired; a shorter one is sorted again. */
const CACHED_SEATS_MIN = 1_000;
/** Cached listings of one event. The least recently used one is dropped first. */
const CACHED_LISTINGS_MAX = 16;

interface CachedListing {
  readonly seats: SortedSeats;
  /** The value of `ChangeList.touches` up to which the listing is current. */
  touches: number;
  /** What it depends on besides the partition, as it was then: prices and the event's change. */
  readonly outside: string;
}

/** By partition, then by filters and sort order. */
const cachedListings = new WeakMap<Partition, Map<string, CachedListing>>();

/**
 * Withdrawn seats are not listed.
 *
 * Cost: O(the page + the seats that changed since the same listing was last read), whatever the
 * size of the event; the first time, or after many changes, O(n log n) in the seats that match.
 */
export function listSeats(event: ListedEvent, asked: SeatQuery): SeatPage {
  const { offset, limit, changedSinceMs = Infinity } = asked;
  // From a time before a change of all seats on, every seat matches.
  const query =
    changedSinceMs > event.changedAtMs ? asked : { ...asked, changedSinceMs: undefined };
  const candidates = fewCandidates(event, query);
  const compare = totalOrder(event, query);
  if (candidates !== null) {
    const seats = candidates.filter((seat) => isListed(event, seat, query)).sort(compare);
    return { seats: seats.slice(offset, offset + limit), total: seats.length };
  }
  const { seats } = currentListing(event, query, compare);
  return { seats: seats.slice(offset, limit), total: seats.count };
}

/** @returns Every seat that may match; null when these are too many to sort for each request. */
function fewCandidates({ partition, prices }: ListedEvent, query: SeatQuery): number[] | null {
  const { layout, changes, changedAtMs } = partition;
  const { rowId, changedSinceMs } = query;
  let seats: number[] = [];
  if (rowId !== undefined) {
    const row = layout.groups.get(rowId);
    if (row?.type === GroupType.ROW) seats = [...collectSeats(layout, row)];
  } else if (changedSinceMs !== undefined && !isRenamedSince(prices, changedSinceMs)) {
    let seat = changes.newest;
    while (seat !== NONE && changedAtMs[seat]! >= changedSinceMs) {
      seats.push(seat);
      if (seats.length === CACHED_SEATS_MIN) return null;
      seat = changes.earlierThan(seat);
    }
  } else {
    if (layout.seatCount >= CACHED_SEATS_MIN) return null;
    seats = allSeats(layout.seatCount);
  }
  return seats.length < CACHED_SEATS_MIN ? seats : null;
}

/** Whether a price has a new name, which changes all its seats. */
function isRenamedSince(prices: ListedEvent["prices"], sinceMs: number): boolean {
  for (const { renamedAtMs = -Infinity } of prices.values())
    if (renamedAtMs >= sinceMs) return true;
  return false;
}

function allSeats(seatCount: number): number[] {
  return Array.from({ length: seatCount }, (_, seat) => seat);
}

function isListed(event: ListedEvent, seat: number, query: SeatQuery): boolean {
  const { layout, state } = event.partition;
  if (state[seat] === SeatState.WITHDRAWN) return false;
  const { rowId, sectionId, changedSinceMs } = query;
  if (changedSinceMs !== undefined && changeOfSeat(event, seat) < changedSinceMs) return false;
  if (rowId !== undefined && rowOf(layout, seat).id !== rowId) return false;
  return sectionId === undefined || sectionOf(layout, seat).id === sectionId;
}

/** The cached listing, repaired; or a new one where there is none that is worth repairing. */
function currentListing(event: ListedEvent, query: SeatQuery, compare: Compare): CachedListing {
  const { partition, prices } = event;
  let listings = cachedListings.get(partition);
  if (listings === undefined) cachedListings.set(partition, (listings = new Map()));
  const { sectionId, rowId, changedSinceMs, sort } = query;
  const key = JSON.stringify([sectionId, rowId, changedSinceMs, sort]);
  const names = [...prices.values()].map(({ id, name, renamedAtMs }) => [id, name, renamedAtMs]);
  const outside = JSON.stringify([event.changedAtMs, names]);
  const { touches } = partition.changes;
  const { seatCount } = partition.layout;
  const isFixed = !sort.some(({ property }) => CHANGING_SORTS.has(property));
  let listing = listings.get(key);
  const touchCount = touches - (listing?.touches ?? touches);
  assert(touchCount >= 0, "the touches of a partition only rise");
  const isOutdated = !isFixed && touchCount > seatCount / 4;
  if (listing === undefined || isOutdated || listing.outside !== outside) {
    const listed = allSeats(seatCount).filter((seat) => isListed(event, seat, query));
    listing = { seats: new SortedSeats(listed, seatCount, compare), touches, outside };
  } else {
    repair(listing, event, query, isFixed);
  }
  listings.delete(key);
  listings.set(key, listing);
  const oldest = listings.keys().next().value;
  if (listings.size > CACHED_LISTINGS_MAX && oldest !== undefined) listings.delete(oldest);
  return listing;
}

/** Moves the seats touched since: n touches are of seats among the newest n of the change list. */
function repair(
  listing: CachedListing,
  event: ListedEvent,
  query: SeatQuery,
  isFixed: boolean,
): void {
  const { changes, layout } = event.partition;
  const { seats } = listing;
  const moved: number[] = [];
  let seat = changes.newest;
  for (let left = changes.touches - listing.touches; left > 0 && seat !== NONE; left--) {
    const stays = isFixed && seats.has(seat) === isListed(event, seat, query);
    if (!stays) moved.push(seat);
    seat = changes.earlierThan(seat);
  }
  for (const each of moved) seats.remove(each);
  for (const each of moved) if (isListed(event, each, query)) seats.add(each);
  assert(seats.count <= layout.seatCount, "a listing has every seat at most once");
  listing.touches = changes.touches;
}

/** One criterion after the other. Ties are broken by seat index, which rises with the seat id. */
function totalOrder(event: ListedEvent, { sort }: SeatQuery): Compare {
  const compares = sort.map(({ property, descending }): Compare => {
    const keyOf: SortKey = SORT_KEYS[property](event);
    const sign = descending ? -1 : 1;
    return (a, b) => {
      const keyA = keyOf(a);
      const keyB = keyOf(b);
      return keyA < keyB ? -sign : keyA > keyB ? sign : 0;
    };
  });
  return (a, b) => {
    for (const compare of compares) {
      const order = compare(a, b);
      if (order !== 0) return order;
    }
    return a - b;
  };
}

/** By index: ranks of the names of a layout's seats, rows and sections. */
interface NameRanks {
  readonly seats: Uint32Array;
  readonly rows: Uint32Array;
  readonly sections: Uint32Array;
}

/** Filled when a listing is first sorted by a name; released with the layout. */
const ranksOfLayout = new WeakMap<Layout, NameRanks>();

function nameRanks(layout: Layout): NameRanks {
  let ranks = ranksOfLayout.get(layout);
  if (ranks === undefined) {
    ranks = {
      seats: ranksOf(layout.seatNames),
      rows: ranksOf(layout.rows.map(({ name }) => name)),
      sections: ranksOf(layout.sections.map(({ name }) => name)),
    };
    ranksOfLayout.set(layout, ranks);
  }
  return ranks;
}

function rowOf({ rows, rowOfSeat }: Layout, seat: number) {
  return rows[rowOfSeat[seat]!]!;
}

function sectionOf(layout: Layout, seat: number) {
  return layout.sections[rowOf(layout, seat).section]!;
}
