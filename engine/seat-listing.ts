/** The seats of an event as a list: filtered, sorted, one page of it. Reads only. */
import type { PriceRow } from "./catalog.ts";
import { NONE } from "./constants.ts";
import { compareText } from "./natural-order.ts";
import type { Partition } from "./partition.ts";
import { SeatState, STATE_NAMES } from "./states.ts";

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

type Compare = (a: number, b: number) => number;

/** Seats whose price was taken away are not listed. Cost: O(n log n) in the seats that match. */
export function listSeats(partition: Partition, prices: Prices, query: SeatQuery): SeatPage {
  const seats = candidates(partition, query.changedSinceMs).filter((seat) =>
    isListed(partition, seat, query),
  );
  const compares = query.sort.map(({ property, descending }): Compare => {
    const compare = comparison(partition, prices, property);
    return descending ? (a, b) => compare(b, a) : compare;
  });
  if (compares.length > 0 || query.changedSinceMs !== undefined) {
    // Seat indexes rise with seat ids, so the index breaks ties.
    seats.sort((a, b) => firstDifference(compares, a, b) || a - b);
  }
  return { seats: seats.slice(query.offset, query.offset + query.limit), total: seats.length };
}

function candidates({ layout, changes, changedAtMs }: Partition, sinceMs?: number): number[] {
  if (sinceMs === undefined) return Array.from({ length: layout.seatCount }, (_, seat) => seat);
  const seats: number[] = [];
  let seat = changes.newest;
  while (seat !== NONE && changedAtMs[seat]! >= sinceMs) {
    seats.push(seat);
    seat = changes.earlierThan(seat);
  }
  return seats;
}

function isListed({ layout, state }: Partition, seat: number, query: SeatQuery): boolean {
  if (state[seat] === SeatState.WITHDRAWN) return false;
  const row = layout.rows[layout.rowOfSeat[seat]!]!;
  if (query.rowId !== undefined && row.id !== query.rowId) return false;
  return query.sectionId === undefined || layout.sections[row.section]!.id === query.sectionId;
}

function firstDifference(compares: readonly Compare[], a: number, b: number): number {
  for (const compare of compares) {
    const order = compare(a, b);
    if (order !== 0) return order;
  }
  return 0;
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
    default:
      return property satisfies never;
  }
}
