/** One page of an event's seats, filtered and sorted. */
import type { ChannelRow, EventRow, PriceRow } from "../catalog.ts";
import { NONE } from "../constants.ts";
import { channelIn } from "../inventory/channels.ts";
import type { Partition } from "../inventory/partition.ts";
import { SeatState, STATE_NAMES } from "../inventory/states.ts";
import { drain, SEATS_PER_STEP } from "../inventory/steps.ts";
import { collectSeats, GroupType, type Layout, seatName } from "../layout/layout.ts";
import type { State } from "../state.ts";
import { pageOf, rankInSteps, ranksOf, type SortKey } from "./order.ts";

// An event for a listing of its seats. Most changes are of single seats; those of the status or the
// organization are of all seats at once, and a renamed price changes all its seats.

export interface ListedEvent {
  readonly partition: Partition;
  /** By slot. */
  readonly prices: ReadonlyMap<number, PriceRow>;
  readonly channels: readonly ChannelRow[];
  /** Milliseconds since 1970: the last change of all its seats; 0 for none. */
  readonly changedAtMs: number;
}

export function listedEvent(state: State, event: EventRow): ListedEvent {
  const { organizations } = state.catalog;
  const { bookingChangedAtMs } = organizations.get(event.organizationId)!;
  return {
    partition: state.partitionOf(event),
    prices: state.catalog.pricesOf(event.id),
    channels: event.channels ?? [],
    changedAtMs: Math.max(event.statusChangedAtMs, bookingChangedAtMs),
  };
}

/** Columns shown by a listed row. */
type ShownSeats = Pick<Partition, "layout" | "state" | "price" | "channels" | "changedAtMs">;

export interface ShownEvent extends Omit<ListedEvent, "partition"> {
  readonly partition: ShownSeats;
}

/** A copy, unchanged between the steps of a sort. Cost: 11 bytes a seat; half more in channels. */
function copyOf({ partition, prices, ...facts }: ListedEvent): ShownEvent {
  const { layout, state, price, channels, changedAtMs } = partition;
  const columns = {
    state: state.slice(),
    price: price.slice(),
    channels: channels === null ? null : channels.slice(),
    changedAtMs: changedAtMs.slice(),
  };
  return { ...facts, partition: { layout, ...columns }, prices: new Map(prices) };
}

/** True when ACTIVE seats of the event can be booked now. */
export function isOnSale({ catalog }: State, { status, organizationId }: EventRow): boolean {
  return status === "PUBLISHED" && catalog.organizations.get(organizationId)!.bookingEnabled;
}

function priceOf({ partition, prices }: ShownEvent, seat: number): PriceRow | undefined {
  return prices.get(partition.price[seat]!);
}

/** Milliseconds since 1970: the last change of the seat's row. Cost: constant. */
export function changeOfSeat(event: ShownEvent, seat: number): number {
  const renamedAtMs = priceOf(event, seat)?.renamedAtMs ?? 0;
  return Math.max(event.partition.changedAtMs[seat]!, renamedAtMs, event.changedAtMs);
}

type KeyOf = SortKey["keyOf"];

/** By state: the rank of its name. */
const STATE_RANKS = ranksOf(STATE_NAMES.map((name) => name ?? ""));

/** The compared value of each sort property in an event. */
const SORT_KEYS = {
  seatId: () => (seat) => seat,
  seatName: ({ partition: { layout } }) => lookUp(layout.labelOfSeat, nameRanks(layout).labels),
  rowId: ({ partition: { layout } }) =>
    lookUp(
      layout.rowOfSeat,
      layout.rows.map(({ id }) => id),
    ),
  rowName: ({ partition: { layout } }) => lookUp(layout.rowOfSeat, nameRanks(layout).rows),
  sectionId: ({ partition: { layout } }) => {
    const { rows, sections } = layout;
    return lookUp(
      layout.rowOfSeat,
      rows.map(({ section }) => sections[section]!.id),
    );
  },
  sectionName: ({ partition: { layout } }) => {
    const { sections } = nameRanks(layout);
    return lookUp(
      layout.rowOfSeat,
      layout.rows.map(({ section }) => sections[section]!),
    );
  },
  state: ({ partition: { state } }) => lookUp(state, STATE_RANKS),
  priceId: (event) => {
    const ids = bySlot(event, ({ id }) => id);
    return lookUp(event.partition.price, ids);
  },
  priceName: (event) => {
    const names = [...event.prices.values()].map(({ name }) => name);
    const rankOf = new Map(Array.from(ranksOf(names), (rank, i) => [names[i]!, rank + 1]));
    const ranks = bySlot(event, ({ name }) => rankOf.get(name)!);
    return lookUp(event.partition.price, ranks);
  },
  updatedAt: (event) => {
    const { price, changedAtMs } = event.partition;
    const renamedAtMs = bySlot(event, (row) => row.renamedAtMs);
    return (seat) => Math.max(changedAtMs[seat]!, renamedAtMs[price[seat]!]!, event.changedAtMs);
  },
} satisfies Record<string, (event: ShownEvent) => KeyOf>;

function lookUp(column: ArrayLike<number>, values: ArrayLike<number>): KeyOf {
  return (seat) => values[column[seat]!]!;
}

/** By price slot: a value of the price; 0 for no price. */
function bySlot({ prices }: ShownEvent, valueOf: (price: PriceRow) => number): Float64Array {
  const values = new Float64Array(Math.max(0, ...prices.keys()) + 1);
  for (const [slot, price] of prices) values[slot] = valueOf(price);
  return values;
}

export type SeatSort = keyof typeof SORT_KEYS;
export const SEAT_SORTS = Object.keys(SORT_KEYS) as readonly SeatSort[];
const NAME_SORTS = new Set<SeatSort>(["seatName", "rowName", "sectionName"]);

export interface SeatQuery {
  readonly sectionId?: number | undefined;
  readonly rowId?: number | undefined;
  /** Milliseconds since 1970: only seats changed then or later. */
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
  /** The event as it was listed; the live one may have changed since. */
  readonly shown: ShownEvent;
}

/** Withdrawn seats are not listed. Cost: as `listInSteps`. */
export function listSeats(event: ListedEvent, query: SeatQuery): SeatPage {
  return drain(listInSteps(event, query));
}

/**
 * Lists the seats as they are at the first step, however much the event changes between two steps.
 *
 * Cost: O(the page + seats before it) by id; otherwise O(candidate seats × sort keys): about four
 * milliseconds for 200,000 seats by state. The first sort of a layout by a name ranks all names.
 */
export function* listInSteps(event: ListedEvent, asked: SeatQuery): Generator<void, SeatPage> {
  const query = withoutNeedlessTime(event, asked);
  const { layout } = event.partition;
  const { sort, offset, limit, changedSinceMs } = query;
  const candidates = findCandidates(event, query);
  const hasAll = candidates === null && changedSinceMs === undefined;
  if (hasAll && sort.length === 0) return pageById(event, query);
  const isNamed = sort.some(({ property }) => NAME_SORTS.has(property));
  const rows = candidates ?? allSeats(layout);
  const isShort = rows.length <= SEATS_PER_STEP && (!isNamed || ranksOfLayout.has(layout));
  const shown = isShort ? event : copyOf(event);
  if (isNamed) yield* rankNames(layout);
  const seats = yield* matchingSeats(shown, query, rows);
  const sorting = pageOf(seats, sortKeys(shown, query), offset, offset + limit);
  const page = isShort ? drain(sorting) : yield* sorting;
  return { seats: [...page], total: seats.length, shown };
}

function pageById(event: ListedEvent, { offset, limit }: SeatQuery): SeatPage {
  const { layout, state, seatsIn } = event.partition;
  const total = layout.seatCount - seatsIn[SeatState.WITHDRAWN]!;
  const seats: number[] = [];
  // Usually no seat is withdrawn; then the page begins at a known seat.
  let [seat, skipped] = total === layout.seatCount ? [offset, offset] : [0, 0];
  for (; seat < layout.seatCount && seats.length < limit; seat++) {
    if (state[seat] === SeatState.WITHDRAWN) continue;
    if (skipped === offset) seats.push(seat);
    else skipped += 1;
  }
  return { seats, total, shown: event };
}

/** From a time before a change of all seats on, every seat matches. */
function withoutNeedlessTime(event: ListedEvent, query: SeatQuery): SeatQuery {
  const { changedSinceMs = Infinity } = query;
  return changedSinceMs > event.changedAtMs ? query : { ...query, changedSinceMs: undefined };
}

/** @returns Candidate seats, by index; null for all seats. */
function findCandidates({ partition, prices }: ListedEvent, query: SeatQuery): Uint32Array | null {
  const { layout, changes, changedAtMs } = partition;
  const { sectionId, rowId, changedSinceMs } = query;
  const groupId = rowId ?? sectionId;
  if (groupId !== undefined) {
    const group = layout.groups.get(groupId);
    const isRow = group?.type === GroupType.ROW;
    const isAsked = group !== undefined && isRow === (rowId !== undefined);
    return isAsked ? collectSeats(layout, group).toSorted() : new Uint32Array();
  }
  if (changedSinceMs === undefined || isRenamedSince(prices, changedSinceMs)) return null;
  const changed: number[] = [];
  let seat = changes.newest;
  while (seat !== NONE && changedAtMs[seat]! >= changedSinceMs) {
    if (changed.length === SEATS_PER_STEP) return null;
    changed.push(seat);
    seat = changes.earlierThan(seat);
  }
  return Uint32Array.from(changed).sort();
}

/** A renamed price changes all its seats. */
function isRenamedSince(prices: ListedEvent["prices"], sinceMs: number): boolean {
  for (const { renamedAtMs } of prices.values()) if (renamedAtMs >= sinceMs) return true;
  return false;
}

function allSeats({ seatCount }: Layout): Uint32Array {
  const seats = new Uint32Array(seatCount);
  for (let seat = 0; seat < seatCount; seat++) seats[seat] = seat;
  return seats;
}

/** @returns Seat indexes, rising. */
function* matchingSeats(
  event: ShownEvent,
  query: SeatQuery,
  candidates: Uint32Array,
): Generator<void, Uint32Array> {
  const matching = new Uint32Array(candidates.length);
  let count = 0;
  for (let from = 0; from < candidates.length; from += SEATS_PER_STEP) {
    if (from > 0) yield;
    const end = Math.min(from + SEATS_PER_STEP, candidates.length);
    for (let i = from; i < end; i++) {
      if (matches(event, candidates[i]!, query)) matching[count++] = candidates[i]!;
    }
  }
  return matching.subarray(0, count);
}

function matches(
  event: ShownEvent,
  seat: number,
  { sectionId, changedSinceMs }: SeatQuery,
): boolean {
  const { layout, state } = event.partition;
  if (state[seat] === SeatState.WITHDRAWN) return false;
  if (changedSinceMs !== undefined && changeOfSeat(event, seat) < changedSinceMs) return false;
  return sectionId === undefined || sectionOf(layout, seat).id === sectionId;
}

/** The criteria of the query. Those after a repeated property, or after the id, cannot matter. */
function sortKeys(event: ShownEvent, { sort }: SeatQuery): readonly SortKey[] {
  const keys = new Map<SeatSort, SortKey>();
  for (const { property, descending } of sort) {
    if (keys.has("seatId")) break;
    if (!keys.has(property)) keys.set(property, { keyOf: SORT_KEYS[property](event), descending });
  }
  return [...keys.values()];
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
  return drain(rankNames(layout));
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

// Seats and areas with ids, labels and prices for the interface.

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
  /** The key of the channel that it is kept for; null for none. */
  readonly channel: string | null;
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
export function seatFacts(event: ShownEvent, seat: number): SeatFacts {
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
    channel: partition.channels === null ? null : channelOf(event, partition.channels, seat),
    changedAtMs: changeOfSeat(event, seat),
  };
}

function channelOf({ channels }: ShownEvent, column: Uint8Array, seat: number): string | null {
  const slot = channelIn(column, seat);
  return slot === 0 ? null : channels.find((channel) => channel.slot === slot)!.key;
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
