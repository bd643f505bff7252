/** One page of an event's seats, filtered and sorted. */
import { assert } from "../assert.ts";
import type { EventRow, PriceRow } from "../catalog.ts";
import { NONE } from "../constants.ts";
import { copyPartition } from "../inventory/image.ts";
import { Partition } from "../inventory/partition.ts";
import { SeatState, STATE_NAMES } from "../inventory/states.ts";
import { lastValue, SEATS_PER_STEP } from "../inventory/steps.ts";
import { collectSeats, GroupType, type Layout, seatName } from "../layout/layout.ts";
import type { State } from "../state.ts";
import { rankInSteps, ranksOf, sortByKeys, type SortKey } from "./order.ts";

// Seats in an order that depends on their state, repaired as they change: blocks of a few hundred
// seats, like a B+ tree of two levels. Finding a page costs one step per block, and moving a seat
// one shift within a block; no operation but the first sort visits every seat.

const BLOCK_SEATS_MAX = 512;

type Compare = (a: number, b: number) => number;

export class SortedSeats {
  /** Seat indexes, in order within and across the blocks. A block is empty only if it is alone. */
  #blocks: number[][] = [[]];
  /** Numbers take half the memory of pointers, and the garbage collector need not visit them. */
  readonly #blockOfNumber = new Map<number, number[]>();
  /** Index: seat. Value: the number of its block; 0 for a seat that is not in the listing. */
  readonly #numberOf: Uint32Array;
  #lastNumber = 0;
  #count = 0;

  /**
   * @param sorted - The seats to list, in order, of `seatCount` seats in all.
   * Cost: O(n).
   */
  constructor(sorted: Uint32Array, seatCount: number) {
    this.#numberOf = new Uint32Array(seatCount);
    this.#fill(sorted);
  }

  get count(): number {
    return this.#count;
  }

  has(seat: number): boolean {
    return this.#numberOf[seat] !== 0;
  }

  #fill(sorted: Uint32Array): void {
    this.#count = sorted.length;
    const half = BLOCK_SEATS_MAX / 2;
    this.#blocks = [];
    for (let start = 0; start < sorted.length; start += half) {
      this.#addBlock(this.#blocks.length, Array.from(sorted.subarray(start, start + half)));
    }
    if (this.#blocks.length === 0) this.#blocks.push([]);
  }

  #addBlock(position: number, block: number[]): void {
    this.#blocks.splice(position, 0, block);
    const number = this.#newNumber(block);
    for (const seat of block) this.#numberOf[seat] = number;
  }

  #newNumber(block: number[]): number {
    this.#lastNumber += 1;
    this.#blockOfNumber.set(this.#lastNumber, block);
    return this.#lastNumber;
  }

  /** Removes the seat, if it is listed. To be called before any seat with changed keys is added. */
  remove(seat: number): void {
    const number = this.#numberOf[seat]!;
    if (number === 0) return;
    const block = this.#blockOfNumber.get(number)!;
    this.#numberOf[seat] = 0;
    const place = block.indexOf(seat);
    assert(place !== -1, "a listed seat is in its block");
    block.splice(place, 1);
    this.#count -= 1;
    if (block.length > 0) return;
    this.#blockOfNumber.delete(number);
    if (this.#blocks.length > 1) this.#blocks.splice(this.#blocks.indexOf(block), 1);
  }

  /**
   * Inserts the seat at its place.
   * @param compare - The order of the list, total: never zero for two different seats. It is not
   * kept, because it refers to the inventory of the event.
   */
  add(seat: number, compare: Compare): void {
    assert(this.#numberOf[seat] === 0, "a seat is listed once");
    const position = this.#blockFor(seat, compare);
    const block = this.#blocks[position]!;
    const place = firstAfter(block, seat, compare);
    const next = block[place];
    assert(next === undefined || compare(seat, next) < 0, "a listing stays in order");
    const [first] = block;
    this.#numberOf[seat] = first === undefined ? this.#newNumber(block) : this.#numberOf[first]!;
    block.splice(place, 0, seat);
    this.#count += 1;
    if (block.length <= BLOCK_SEATS_MAX) return;
    this.#addBlock(position + 1, block.splice(BLOCK_SEATS_MAX / 2));
  }

  /** @returns The position of the last block that begins at or before the seat; else 0. */
  #blockFor(seat: number, compare: Compare): number {
    let [low, high] = [0, this.#blocks.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      const first = this.#blocks[middle]![0]!;
      if (compare(first, seat) <= 0) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Cost: O(blocks + limit). */
  slice(offset: number, limit: number): number[] {
    const seats: number[] = [];
    let skipped = 0;
    for (const block of this.#blocks) {
      if (seats.length === limit) break;
      if (skipped + block.length > offset) {
        const start = Math.max(0, offset - skipped);
        seats.push(...block.slice(start, start + limit - seats.length));
      }
      skipped += block.length;
    }
    return seats;
  }
}

/** @returns The position of the first seat that comes after `seat`. */
function firstAfter(block: readonly number[], seat: number, compare: Compare): number {
  let [low, high] = [0, block.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(block[middle]!, seat) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Sorted listings that are kept, because few seats move from one request to the next. Those of all
// events share one bound. The least recently used listing is dropped first.

const MEBIBYTE = 1_024 * 1_024;
/** About 70 listings of 60,000 seats. */
export const LISTING_BYTES_MAX = 48 * MEBIBYTE;
/** Listings of one event. */
export const LISTINGS_PER_EVENT_MAX = 16;
/** A seat takes a place in a block, and the number of the block. */
const SEAT_BYTES = 12;
/** A character of a text. */
const CHARACTER_BYTES = 2;

/** A listing must not refer to its partition, which would then outlive its event. */
interface CachedListing {
  readonly seats: SortedSeats;
  /** The value of `ChangeList.touches` up to which the listing is current. */
  touches: number;
  /** What it depends on besides the partition, as it was then: prices and the event's change. */
  readonly outside: string;
}

interface Kept {
  readonly key: string;
  readonly listing: CachedListing;
  readonly bytes: number;
  /** The listings of the same event by key, the least recently used first. */
  readonly own: Map<string, Kept>;
  /** Gone when the event was deleted, or is on another layout, and garbage was collected since. */
  readonly partition: WeakRef<Partition>;
}

export class ListingCache {
  /** Memory of all listings, as estimated from their seats. */
  bytes = 0;
  /** Listings that were dropped to make room for others. */
  dropped = 0;
  readonly #bytesMax: number;
  /** The least recently used first. */
  readonly #all = new Set<Kept>();
  readonly #byPartition = new WeakMap<Partition, Map<string, Kept>>();

  constructor(bytesMax = LISTING_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** Those of partitions that are gone count until another event has its first listing. */
  get count(): number {
    return this.#all.size;
  }

  find(partition: Partition, key: string): CachedListing | undefined {
    return this.#byPartition.get(partition)?.get(key)?.listing;
  }

  /** Makes it the most recently used one. @param key - Its filters and sort order. */
  keep(partition: Partition, key: string, listing: CachedListing): void {
    let own = this.#byPartition.get(partition);
    if (own === undefined) {
      this.#forgetGone();
      this.#byPartition.set(partition, (own = new Map()));
    }
    this.#remove(own.get(key));
    const texts = key.length + listing.outside.length;
    const bytes = partition.layout.seatCount * SEAT_BYTES + texts * CHARACTER_BYTES;
    const kept = { key, listing, bytes, own, partition: new WeakRef(partition) };
    own.set(key, kept);
    this.#all.add(kept);
    this.bytes += bytes;
    if (own.size > LISTINGS_PER_EVENT_MAX) this.#drop(own.values());
    while (this.bytes > this.#bytesMax) this.#drop(this.#all.values());
  }

  #forgetGone(): void {
    for (const kept of this.#all) if (kept.partition.deref() === undefined) this.#remove(kept);
  }

  /** Drops the first one. */
  #drop(listings: Iterator<Kept, undefined>): void {
    this.#remove(listings.next().value);
    this.dropped += 1;
  }

  #remove(kept: Kept | undefined): void {
    if (kept === undefined) return;
    this.#all.delete(kept);
    kept.own.delete(kept.key);
    this.bytes -= kept.bytes;
  }
}

// An event as its seats are listed: the inventory, and what else a listed row shows. Most changes
// are of single seats; those of the status or the organization are of all seats at once, and the
// new name of a price is of all its seats.

export interface ListedEvent {
  readonly partition: Partition;
  /** By slot. */
  readonly prices: ReadonlyMap<number, PriceRow>;
  /** Milliseconds since 1970: the last change of all its seats; 0 for none. */
  readonly changedAtMs: number;
}

export function listedEvent(state: State, event: EventRow): ListedEvent {
  const { organizations } = state.catalog;
  const { bookingChangedAtMs } = organizations.get(event.organizationId)!;
  return {
    partition: state.partitionOf(event),
    prices: state.catalog.pricesOf(event.id),
    changedAtMs: Math.max(event.statusChangedAtMs, bookingChangedAtMs),
  };
}

/** The same seats as a copy, which does not change. Cost: copies 23 bytes per seat. */
export function stillEvent({ partition, prices, changedAtMs }: ListedEvent): ListedEvent {
  const { seats, changes } = copyPartition(partition);
  const still = new Partition(partition.layout, 0, seats, changes);
  return { partition: still, prices: new Map(prices), changedAtMs };
}

/** Whether ACTIVE seats of the event can be booked now. */
export function isOnSale({ catalog }: State, { status, organizationId }: EventRow): boolean {
  return status === "PUBLISHED" && catalog.organizations.get(organizationId)!.bookingEnabled;
}

function priceOf({ partition, prices }: ListedEvent, seat: number): PriceRow | undefined {
  return prices.get(partition.price[seat]!);
}

/** Milliseconds since 1970: the last change of the seat's row. Cost: constant. */
export function changeOfSeat(event: ListedEvent, seat: number): number {
  const renamedAtMs = priceOf(event, seat)?.renamedAtMs ?? 0;
  return Math.max(event.partition.changedAtMs[seat]!, renamedAtMs, event.changedAtMs);
}

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

// Seats and areas with the ids, labels and prices that the interface shows for them.

/** The prices of the event by slot. */
type Prices = ReadonlyMap<number, Pick<PriceRow, "id" | "name">>;

export interface SeatFacts {
  readonly seatId: number;
  readonly seatName: string;
  readonly rowId: number;
  readonly rowName: string;
  readonly sectionId: number;
  readonly sectionName: string;
  readonly state: SeatState;
  readonly priceId: number | null;
  readonly priceName: string | null;
  /** Milliseconds since 1970. */
  readonly changedAtMs: number;
}

export interface AreaFacts {
  readonly areaId: number;
  readonly name: string;
  readonly priceId: number | null;
  readonly priceName: string | null;
  /** All places, and below the places by state. */
  readonly capacity: number;
  readonly active: number;
  readonly locked: number;
  readonly sold: number;
  readonly blocked: number;
  /** Milliseconds since 1970. */
  readonly changedAtMs: number;
}

/** Cost: constant. */
export function seatFacts(event: ListedEvent, seat: number): SeatFacts {
  const { partition, prices } = event;
  const { layout } = partition;
  const row = layout.rows[layout.rowOfSeat[seat]!]!;
  const section = layout.sections[row.section]!;
  const price = prices.get(partition.price[seat]!);
  return {
    seatId: layout.seatIds[seat]!,
    seatName: seatName(layout, seat),
    rowId: row.id,
    rowName: row.name,
    sectionId: section.id,
    sectionName: section.name,
    state: partition.state[seat] as SeatState,
    priceId: price?.id ?? null,
    priceName: price?.name ?? null,
    changedAtMs: changeOfSeat(event, seat),
  };
}

/** Cost: constant. */
export function areaFacts(partition: Partition, prices: Prices, area: number): AreaFacts {
  const { layout, areas } = partition;
  const { id, name } = layout.areas[area]!;
  const price = prices.get(areas.price[area]!);
  return {
    areaId: id,
    name,
    priceId: price?.id ?? null,
    priceName: price?.name ?? null,
    capacity: areas.capacity(area),
    active: areas.places(area, SeatState.ACTIVE),
    locked: areas.places(area, SeatState.LOCKED),
    sold: areas.places(area, SeatState.SOLD),
    blocked: areas.places(area, SeatState.BLOCKED),
    changedAtMs: areas.changedAtMs[area]!,
  };
}
