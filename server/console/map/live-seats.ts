/** The states of all seats and areas, as the map and the figures read them. */

/** The numbers grow with how much of the seat is taken. */
export const SeatState = {
  /** Not listed: it was removed from the event. */
  HIDDEN: 0,
  UNPRICED: 1,
  FREE: 2,
  HELD: 3,
  SOLD: 4,
  BLOCKED: 5,
} as const;
export type SeatState = (typeof SeatState)[keyof typeof SeatState];

export const NO_PRICE = 255;

export interface AreaCounts {
  readonly capacity: number;
  readonly active: number;
  readonly locked: number;
  readonly sold: number;
  readonly blocked: number;
}

export interface LiveSeats {
  /** Index: seat. Value: a `SeatState`. */
  readonly states: Uint8Array;
  /** Index: seat. Value: index of its price, or `NO_PRICE`. */
  readonly prices: Uint8Array;
  /** Index: area, as in the geometry. */
  readonly areas: AreaCounts[];
}

export function noSeats(seatCount: number, areaCount: number): LiveSeats {
  const none = { capacity: 0, active: 0, locked: 0, sold: 0, blocked: 0 };
  return {
    states: new Uint8Array(seatCount).fill(SeatState.UNPRICED),
    prices: new Uint8Array(seatCount).fill(NO_PRICE),
    areas: Array.from({ length: areaCount }, () => none),
  };
}
