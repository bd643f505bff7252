/** The states of all seats and areas, as the map and the figures read them. */

/** The numbers grow with how much of the seat is taken. */
export const SeatState = {
  UNPRICED: 1,
  FREE: 2,
  HELD: 3,
  SOLD: 4,
  BLOCKED: 5,
} as const;
export type SeatState = (typeof SeatState)[keyof typeof SeatState];

/** States in the columns of the server. */
export const STATE_OF_LETTER: Readonly<Record<string, SeatState>> = {
  "-": SeatState.UNPRICED,
  A: SeatState.FREE,
  L: SeatState.HELD,
  S: SeatState.SOLD,
  B: SeatState.BLOCKED,
};

export const NO_PRICE = 255;

/** Seats and places by state. */
export interface StateCounts {
  readonly active: number;
  readonly locked: number;
  readonly sold: number;
  readonly blocked: number;
}

export interface AreaCounts extends StateCounts {
  readonly capacity: number;
}

/** On sale or withdrawn: everything with a price. */
export function placesOf({ active, locked, sold, blocked }: StateCounts): number {
  return active + locked + sold + blocked;
}

export interface LiveSeats {
  /** Index: seat. Value: a `SeatState`. */
  readonly states: Uint8Array;
  /** Index: seat. Value: index of its price, or `NO_PRICE`. */
  readonly prices: Uint8Array;
  /** Index: area, as in the geometry. */
  readonly areas: AreaCounts[];
}

/** Seats and places of areas together. Index: a `SeatState`. */
export type Totals = readonly number[];

export function noSeats(seatCount: number, areaCount: number): LiveSeats {
  const none = { capacity: 0, active: 0, locked: 0, sold: 0, blocked: 0 };
  return {
    states: new Uint8Array(seatCount).fill(SeatState.UNPRICED),
    prices: new Uint8Array(seatCount).fill(NO_PRICE),
    areas: Array.from({ length: areaCount }, () => none),
  };
}

export function noTotals(): number[] {
  return Array.from({ length: SeatState.BLOCKED + 1 }, () => 0);
}

/** Cost: O(seats). */
export function totalsOf({ states, areas }: LiveSeats): number[] {
  const totals = noTotals();
  for (const state of states) totals[state]! += 1;
  for (const area of areas) countArea(totals, area, 1);
  return totals;
}

/** @param sign - 1 adds the places of an area, -1 removes them. */
export function countArea(totals: number[], area: AreaCounts, sign: 1 | -1): void {
  totals[SeatState.FREE]! += sign * area.active;
  totals[SeatState.HELD]! += sign * area.locked;
  totals[SeatState.SOLD]! += sign * area.sold;
  totals[SeatState.BLOCKED]! += sign * area.blocked;
}
