/** One page of an event's seats, filtered and sorted. */
import { assert } from "../assert.ts";
import { NONE } from "../constants.ts";
import { SeatState, STATE_NAMES } from "../inventory/states.ts";
import { lastValue, SEATS_PER_STEP } from "../inventory/steps.ts";
import { collectSeats, GroupType, type Layout } from "../layout/layout.ts";
import { changeOfSeat, type ListedEvent, priceOf } from "./listed-event.ts";
import { type SortKey, sortByKeys } from "./key-order.ts";
import { type CachedListing, ListingCache } from "./listing-cache.ts";
import { rankInSteps, ranksOf } from "./name-order.ts";
import { type Compare, SortedSeats } from "./sorted-seats.ts";

type KeyOf = SortKey["keyOf"];

/** By state: the rank of its name. */
const STATE_RANKS = ranksOf(STATE_NAMES.map((name) => name ?? ""));

/** What each sort property compares in an event. */
const SORT_KEYS = {
  seatId: () => (seat) => seat,
  seatName: ({ partition: { layout } }) => {
    const { labels } = nameRanks(layout);
    return (seat) => labels[layout.labelOfSeat[seat]!]!;
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
      STATE_RANKS[state[seat]!]!,
  priceId: (event) => (seat) => priceOf(event, seat)?.id ?? 0,
  priceName: ({ partition: { price }, prices }) => {
    const slots = [...prices.keys()];
    const ranks = ranksOf(slots.map((slot) => prices.get(slot)!.name));
    const rankOf = new Map(slots.map((slot, i) => [slot, ranks[i]! + 1]));
    return (seat) => rankOf.get(price[seat]!) ?? 0;
  },
  updatedAt: (event) => (seat) => changeOfSeat(event, seat),
} satisfies Record<string, (event: ListedEvent) => KeyOf>;
export type SeatSort = keyof typeof SORT_KEYS;
export const SEAT_SORTS = Object.keys(SORT_KEYS) as readonly SeatSort[];
/** All other properties are fixed by the layout. */
const CHANGING_SORTS = new Set<SeatSort>(["state", "priceId", "priceName", "updatedAt"]);
const NAME_SORTS = new Set<SeatSort>(["seatName", "rowName", "sectionName"]);

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

/** When more than this share of the seats would move, a listing is sorted again. */
const MOVED_SHARE_MAX = 1 / 32;
/** A listing of at least this many seats is cached and repaired; a shorter one is sorted again. */
const CACHED_SEATS_MIN = 1_000;

/** The listings of this thread. */
export const listingCache = new ListingCache();

/**
 * Withdrawn seats are not listed.
 *
 * Cost: O(the page + the seats that changed since the same listing was last read), whatever the
 * size of the event; the first time, or after many changes, O(n log n) in the seats that match.
 */
export function listSeats(
  event: ListedEvent,
  asked: SeatQuery,
  cache: ListingCache = listingCache,
): SeatPage {
  const { offset, limit } = asked;
  const query = withoutNeedlessTime(event, asked);
  const candidates = fewCandidates(event, query);
  if (candidates !== null) {
    const compare = totalOrder(sortKeys(event, query));
    const seats = candidates.filter((seat) => isListed(event, seat, query)).sort(compare);
    return { seats: seats.slice(offset, offset + limit), total: seats.length };
  }
  const { seats } = lastValue(currentListing(event, query, cache));
  return { seats: seats.slice(offset, limit), total: seats.count };
}

/**
 * Sorts and caches in steps what `listSeats` would otherwise sort at once. Between two steps the
 * event may change: `listSeats` then repairs the listing, because a seat that changes during the
 * sort is among those touched since its beginning.
 *
 * @returns False when the event has changed meanwhile. After many changes, `listSeats` would sort
 * all seats at once, so it is better to prepare the listing again.
 */
export function* prepareListing(
  event: ListedEvent,
  asked: SeatQuery,
  cache: ListingCache = listingCache,
): Generator<void, boolean> {
  if (event.partition.layout.seatCount < CACHED_SEATS_MIN) return true;
  const query = withoutNeedlessTime(event, asked);
  if (query.sort.some(({ property }) => NAME_SORTS.has(property))) {
    yield* rankNames(event.partition.layout);
  }
  if (fewCandidates(event, query) !== null) return true;
  const { touches } = yield* currentListing(event, query, cache);
  return touches === event.partition.changes.touches;
}

/** From a time before a change of all seats on, every seat matches. */
function withoutNeedlessTime(event: ListedEvent, query: SeatQuery): SeatQuery {
  const { changedSinceMs = Infinity } = query;
  return changedSinceMs > event.changedAtMs ? query : { ...query, changedSinceMs: undefined };
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
    seats = [...layout.seatIds.keys()];
  }
  return seats.length < CACHED_SEATS_MIN ? seats : null;
}

/** Whether a price has a new name, which changes all its seats. */
function isRenamedSince(prices: ListedEvent["prices"], sinceMs: number): boolean {
  for (const { renamedAtMs } of prices.values()) if (renamedAtMs >= sinceMs) return true;
  return false;
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
function* currentListing(
  event: ListedEvent,
  query: SeatQuery,
  cache: ListingCache,
): Generator<void, CachedListing> {
  const { partition, prices } = event;
  const { sectionId, rowId, changedSinceMs, sort } = query;
  const key = JSON.stringify([sectionId, rowId, changedSinceMs, sort]);
  const names = [...prices.values()].map(({ id, name, renamedAtMs }) => [id, name, renamedAtMs]);
  const outside = JSON.stringify([event.changedAtMs, names]);
  const { touches } = partition.changes;
  const { seatCount } = partition.layout;
  let listing = cache.find(partition, key);
  const touchCount = touches - (listing?.touches ?? touches);
  assert(touchCount >= 0, "the touches of a partition only rise");
  const isOutdated = !isFixed(query) && touchCount > seatCount * MOVED_SHARE_MAX;
  const isUsable = listing !== undefined && !isOutdated && listing.outside === outside;
  const keys = sortKeys(event, query);
  if (listing === undefined || !isUsable || !repair(listing, event, query, keys)) {
    const listed = yield* listedSeats(event, query);
    const sorted = yield* sortByKeys(listed, keys);
    listing = { seats: new SortedSeats(sorted, seatCount), touches, outside };
  }
  cache.keep(partition, key, listing);
  return listing;
}

/** Whether no property of the sort order ever changes. */
function isFixed({ sort }: SeatQuery): boolean {
  return !sort.some(({ property }) => CHANGING_SORTS.has(property));
}

/** @returns Seat indexes, rising. */
function* listedSeats(event: ListedEvent, query: SeatQuery): Generator<void, Uint32Array> {
  const { seatCount } = event.partition.layout;
  const seats = new Uint32Array(seatCount);
  let count = 0;
  for (let seat = 0; seat < seatCount; seat++) {
    if (isListed(event, seat, query)) seats[count++] = seat;
    if (seat % SEATS_PER_STEP === SEATS_PER_STEP - 1) yield;
  }
  return seats.subarray(0, count);
}

/**
 * Moves the seats touched since: n touches are of seats among the newest n of the change list.
 *
 * @returns False when these are too many to be worth it; then nothing has changed.
 */
function repair(
  listing: CachedListing,
  event: ListedEvent,
  query: SeatQuery,
  keys: readonly SortKey[],
): boolean {
  const { changes, layout } = event.partition;
  const { seats } = listing;
  const isInPlace = isFixed(query);
  const compare = totalOrder(keys);
  const moved: number[] = [];
  let seat = changes.newest;
  for (let left = changes.touches - listing.touches; left > 0 && seat !== NONE; left--) {
    const stays = isInPlace && seats.has(seat) === isListed(event, seat, query);
    if (!stays) moved.push(seat);
    seat = changes.earlierThan(seat);
  }
  if (moved.length > layout.seatCount * MOVED_SHARE_MAX) return false;
  for (const each of moved) seats.remove(each);
  for (const each of moved) if (isListed(event, each, query)) seats.add(each, compare);
  assert(seats.count <= layout.seatCount, "a listing has every seat at most once");
  listing.touches = changes.touches;
  return true;
}

/** The criteria of the query. Those after a repeated property, or after the id, cannot matter. */
function sortKeys(event: ListedEvent, { sort }: SeatQuery): readonly SortKey[] {
  const keys = new Map<SeatSort, SortKey>();
  for (const { property, descending } of sort) {
    if (keys.has("seatId")) break;
    if (!keys.has(property)) keys.set(property, { keyOf: SORT_KEYS[property](event), descending });
  }
  return [...keys.values()];
}

/** One criterion after the other. Ties are broken by seat index, which rises with the seat id. */
function totalOrder(keys: readonly SortKey[]): Compare {
  return (a, b) => {
    for (const { keyOf, descending } of keys) {
      const order = keyOf(a) - keyOf(b);
      if (order !== 0) return descending ? -order : order;
    }
    return a - b;
  };
}

/** By index: ranks of the labels of a layout's seats, and of the names of rows and sections. */
interface NameRanks {
  readonly labels: Uint32Array;
  readonly rows: Uint32Array;
  readonly sections: Uint32Array;
}

/** Filled when a listing is first sorted by a name; released with the layout. */
const ranksOfLayout = new WeakMap<Layout, NameRanks>();

function nameRanks(layout: Layout): NameRanks {
  return lastValue(rankNames(layout));
}

function* rankNames(layout: Layout): Generator<void, NameRanks> {
  let ranks = ranksOfLayout.get(layout);
  if (ranks === undefined) {
    const labels = yield* rankInSteps(layout.labels);
    const rows = yield* rankInSteps(layout.rows.map(({ name }) => name));
    const sections = yield* rankInSteps(layout.sections.map(({ name }) => name));
    ranks = { labels, rows, sections };
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
