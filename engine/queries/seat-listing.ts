/** The seats of an event as a list: filtered, sorted, one page of it. Reads only. */
import type { PriceRow } from "../catalog.ts";
import { NONE } from "../constants.ts";
import type { Partition } from "../inventory/partition.ts";
import { SeatState, STATE_NAMES } from "../inventory/states.ts";
import { collectSeats, GroupType } from "../layout/layout.ts";
import { compareText } from "../layout/natural-order.ts";
import { type Compare, SortedSeats } from "./sorted-seats.ts";

export const SEAT_SORTS = [
  "seatId",
  "seatName",
  "rowId",
  "rowName",
  "sectionId",
  "sectionName",
  "state",
  "priceId",
  "priceName",
  "updatedAt",
] as const;
export type SeatSort = (typeof SEAT_SORTS)[number];

export interface SeatQuery {
  readonly sectionId?: number | undefined;
  readonly rowId?: number | undefined;
  /** Milliseconds since 1970: only seats that changed at or after it. */
  readonly changedSinceMs?: number | undefined;
  readonly sort: readonly { readonly property: SeatSort; readonly descending: boolean }[];
  readonly offset: number;
  readonly limit: number;
}

export interface SeatPage {
  /** Seat indexes. */
  readonly seats: readonly number[];
  readonly total: number;
}

/** Prices of the event by slot. */
type Prices = ReadonlyMap<number, PriceRow>;

/** Listings of up to this many seats are made afresh; longer ones are kept and repaired. */
const KEPT_SEATS_MIN = 1_000;
/** Kept listings of one event; the one that was not asked for longest goes first. */
const KEPT_MAX = 16;

/** What the layout fixes: a seat never moves within a listing sorted by these alone. */
const FIXED_SORTS: ReadonlySet<SeatSort> = new Set([
  "seatId",
  "seatName",
  "rowId",
  "rowName",
  "sectionId",
  "sectionName",
]);

interface Kept {
  readonly seats: SortedSeats;
  /** `ChangeList.touches` up to which the listing is right. */
  touches: number;
  /** Names of the prices that it was sorted by. */
  readonly priceNames: string;
}

const keptListings = new WeakMap<Partition, Map<string, Kept>>();

/**
 * Seats whose price was taken away are not listed.
 *
 * Cost: that of a page and of what changed since the same listing was last asked for, whatever the
 * size of the event; the first time, and after a change of much of it, O(n log n) in what matches.
 */
export function listSeats(partition: Partition, prices: Prices, query: SeatQuery): SeatPage {
  const { offset, limit } = query;
  const matches = candidates(partition, query);
  const compare = totalOrder(partition, prices, query);
  if (matches !== null && matches.length < KEPT_SEATS_MIN) {
    const seats = matches.filter((seat) => isListed(partition, seat, query)).sort(compare);
    return { seats: seats.slice(offset, offset + limit), total: seats.length };
  }
  const { seats } = keptListing(partition, prices, query, compare);
  return { seats: seats.slice(offset, limit), total: seats.count };
}

/** Seats that may match, when a few can be named without looking at all; else null. */
function candidates({ layout, changes, changedAtMs }: Partition, query: SeatQuery) {
  if (query.rowId !== undefined) {
    const row = layout.groups.get(query.rowId);
    return row?.type === GroupType.ROW ? [...collectSeats(layout, row)] : [];
  }
  if (query.changedSinceMs !== undefined) {
    const seats: number[] = [];
    let seat = changes.newest;
    while (seat !== NONE && changedAtMs[seat]! >= query.changedSinceMs) {
      seats.push(seat);
      if (seats.length === KEPT_SEATS_MIN) return null;
      seat = changes.earlierThan(seat);
    }
    return seats;
  }
  return layout.seatCount < KEPT_SEATS_MIN ? allSeats(layout.seatCount) : null;
}

function allSeats(seatCount: number): number[] {
  return Array.from({ length: seatCount }, (_, seat) => seat);
}

function isListed(partition: Partition, seat: number, query: SeatQuery): boolean {
  const { layout, state, changedAtMs } = partition;
  if (state[seat] === SeatState.WITHDRAWN) return false;
  if (query.changedSinceMs !== undefined && changedAtMs[seat]! < query.changedSinceMs) return false;
  const row = layout.rows[layout.rowOfSeat[seat]!]!;
  if (query.rowId !== undefined && row.id !== query.rowId) return false;
  return query.sectionId === undefined || layout.sections[row.section]!.id === query.sectionId;
}

function keptListing(
  partition: Partition,
  prices: Prices,
  query: SeatQuery,
  compare: Compare,
): Kept {
  let listings = keptListings.get(partition);
  if (listings === undefined) keptListings.set(partition, (listings = new Map()));
  const { sectionId, rowId, changedSinceMs, sort } = query;
  const key = JSON.stringify([sectionId, rowId, changedSinceMs, sort]);
  const priceNames = JSON.stringify([...prices.values()].map(({ id, name }) => [id, name]));
  const { touches } = partition.changes;
  const { seatCount } = partition.layout;
  const isFixed = sort.every(({ property }) => FIXED_SORTS.has(property));
  let kept = listings.get(key);
  const isFar = kept !== undefined && !isFixed && touches - kept.touches > seatCount / 4;
  if (kept === undefined || isFar || kept.priceNames !== priceNames) {
    const listed = allSeats(seatCount).filter((seat) => isListed(partition, seat, query));
    kept = { seats: new SortedSeats(listed, seatCount, compare), touches, priceNames };
  } else {
    repair(kept, partition, query, isFixed);
  }
  listings.delete(key);
  listings.set(key, kept);
  const oldest = listings.keys().next().value;
  if (listings.size > KEPT_MAX && oldest !== undefined) listings.delete(oldest);
  return kept;
}

/**
 * Moves the seats that were touched since: they are among as many at the end of the change list.
 */
function repair(kept: Kept, partition: Partition, query: SeatQuery, isFixed: boolean): void {
  const { changes } = partition;
  const moved: number[] = [];
  let seat = changes.newest;
  for (let left = changes.touches - kept.touches; left > 0 && seat !== NONE; left--) {
    const stays = isFixed && kept.seats.has(seat) === isListed(partition, seat, query);
    if (!stays) moved.push(seat);
    seat = changes.earlierThan(seat);
  }
  for (const each of moved) kept.seats.remove(each);
  for (const each of moved) if (isListed(partition, each, query)) kept.seats.add(each);
  kept.touches = changes.touches;
}

/** The criteria in turn; seat indexes rise with seat ids, so the index breaks ties. */
function totalOrder(partition: Partition, prices: Prices, { sort }: SeatQuery): Compare {
  const compares = sort.map(({ property, descending }): Compare => {
    const compare = comparison(partition, prices, property);
    return descending ? (a, b) => compare(b, a) : compare;
  });
  return (a, b) => {
    for (const compare of compares) {
      const order = compare(a, b);
      if (order !== 0) return order;
    }
    return a - b;
  };
}

function comparison(partition: Partition, prices: Prices, property: SeatSort): Compare {
  const { layout, state, price, changedAtMs } = partition;
  const row = (seat: number) => layout.rows[layout.rowOfSeat[seat]!]!;
  const section = (seat: number) => layout.sections[row(seat).section]!;
  const priceOf = (seat: number) => prices.get(price[seat]!);
  const text =
    (of: (seat: number) => string): Compare =>
    (a, b) =>
      compareText(of(a), of(b));
  const number =
    (of: (seat: number) => number): Compare =>
    (a, b) =>
      of(a) - of(b);
  switch (property) {
    case "seatId":
      return number((seat) => seat);
    case "seatName":
      return text((seat) => layout.seatNames[seat]!);
    case "rowId":
      return number((seat) => row(seat).id);
    case "rowName":
      return text((seat) => row(seat).name);
    case "sectionId":
      return number((seat) => section(seat).id);
    case "sectionName":
      return text((seat) => section(seat).name);
    case "state":
      return text((seat) => STATE_NAMES[state[seat] as SeatState] ?? "");
    case "priceId":
      return number((seat) => priceOf(seat)?.id ?? 0);
    case "priceName":
      return text((seat) => priceOf(seat)?.name ?? "");
    case "updatedAt":
      return number((seat) => changedAtMs[seat]!);
  }
  return property satisfies never;
}
