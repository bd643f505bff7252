/** The final check: what the crowd was told against what the server says now. Pure. */

import {
  type AreaCounters,
  type ListedSeat,
  SeatState,
  STATUS_SERVICE_UNAVAILABLE,
} from "../contract.ts";
import type { Tally } from "../tally.ts";
import type { Book } from "./book.ts";
import type { Inventory } from "./listing.ts";

/** So many culprits are named; the rest is a number. */
const NAMED_MAX = 10;

export interface Verdict {
  readonly name: string;
  readonly passed: boolean;
  /** What was found, in the words of the domain. */
  readonly detail: string;
}

export interface Evidence {
  readonly book: Book;
  readonly before: Inventory;
  readonly after: Inventory;
  readonly tally: Pick<Tally, "serverErrors" | "holdsLost">;
}

export function checkSale({ book, before, after, tally }: Evidence): readonly Verdict[] {
  return [
    checkBoughtAreSold(book, after.seats),
    verdict("no seat was sold to two buyers", [...book.seatIdsSoldTwice].map(seatName)),
    checkSeatSum(book, before.seats, after.seats),
    checkAreaSums(after.areas),
    checkPlaceSums(book, before.areas, after.areas),
    verdict("every acknowledged hold could be bought", lostHolds(tally.holdsLost)),
    checkServerErrors(tally.serverErrors),
  ];
}

export function countSeats(seats: readonly ListedSeat[], state: SeatState): number {
  return seats.reduce((count, seat) => (seat.state === state ? count + 1 : count), 0);
}

function checkBoughtAreSold(book: Book, seats: readonly ListedSeat[]): Verdict {
  const sold = new Set<number>();
  for (const seat of seats) if (seat.state === SeatState.SOLD) sold.add(seat.seatId);
  const lost = [...book.seatIds].filter((id) => !sold.has(id));
  return verdict("every seat bought is SOLD", lost.map(seatName));
}

function checkSeatSum(
  book: Book,
  before: readonly ListedSeat[],
  after: readonly ListedSeat[],
): Verdict {
  const soldBefore = countSeats(before, SeatState.SOLD);
  const soldAfter = countSeats(after, SeatState.SOLD);
  const sum = `${soldBefore} before + ${book.seatCount} bought, ${soldAfter} SOLD now`;
  const faults = soldBefore + book.seatCount === soldAfter ? [] : [sum];
  return verdict("SOLD seats = sold before + bought", faults, sum);
}

function checkAreaSums(areas: readonly AreaCounters[]): Verdict {
  const faults = areas
    .filter((area) => area.active + area.locked + area.sold + area.blocked !== area.capacity)
    .map((area) => {
      const { active, locked, sold, blocked, capacity } = area;
      return `${areaName(area)}: ${active} + ${locked} + ${sold} + ${blocked}, not ${capacity}`;
    });
  return verdict("area counters add up to the capacity", faults);
}

function checkPlaceSums(
  book: Book,
  before: readonly AreaCounters[],
  after: readonly AreaCounters[],
): Verdict {
  const soldBefore = new Map(before.map((area) => [area.groupOfSeatsId, area.sold]));
  const faults = after.flatMap((area) => {
    const start = soldBefore.get(area.groupOfSeatsId) ?? 0;
    const bought = book.placesOf(area.groupOfSeatsId);
    if (start + bought === area.sold) return [];
    return [`${areaName(area)}: ${start} before + ${bought} bought, ${area.sold} sold now`];
  });
  return verdict("sold places = sold before + bought", faults);
}

/** 503 means "later"; any other 5xx is a fault of the server. */
function checkServerErrors(serverErrors: ReadonlyMap<number, number>): Verdict {
  const faults = [...serverErrors]
    .filter(([status]) => status !== STATUS_SERVICE_UNAVAILABLE)
    .map(([status, count]) => `${count} times ${status}`);
  return verdict("no answer 5xx but 503", faults);
}

function lostHolds(count: number): readonly string[] {
  return count === 0 ? [] : [`${count} holds were gone`];
}

function verdict(name: string, faults: readonly string[], detail = ""): Verdict {
  if (faults.length === 0) return { name, passed: true, detail };
  const more = faults.length - NAMED_MAX;
  const named = faults.slice(0, NAMED_MAX).join("; ");
  return { name, passed: false, detail: more > 0 ? `${named}; and ${more} more` : named };
}

function seatName(id: number): string {
  return `seat ${id}`;
}

function areaName(area: AreaCounters): string {
  return `area ${area.groupOfSeatsId}`;
}
