/** What a buyer has chosen, and how the interface takes it. */

/** Neighbouring seats of one row, or places in one general-admission area. */
export type Basket = SeatBasket | PlaceBasket;

export interface SeatBasket {
  readonly kind: "seats";
  /** Where the seats stand in the `SeatMap`, in the order of `seatIds`. */
  readonly indexes: readonly number[];
  readonly seatIds: readonly number[];
}

export interface PlaceBasket {
  readonly kind: "places";
  readonly areaId: number;
  readonly count: number;
}

/** A basket in the name of one session. The body serves lock, unlock and sale alike. */
export interface Booking {
  readonly sessionId: string;
  readonly basket: Basket;
  readonly body: string;
}

export function bookingOf(sessionId: string, basket: Basket): Booking {
  const seats = seatIdsOf(basket).map((id) => ({ id, capacity: null }));
  const body = JSON.stringify({ sessionId, seats, groupOfSeats: areasOf(basket) });
  return { sessionId, basket, body };
}

export function seatIdsOf(basket: Basket): readonly number[] {
  return basket.kind === "seats" ? basket.seatIds : [];
}

/** The general-admission part of a basket, in the form of the interface. */
export function areasOf(basket: Basket): readonly { id: number; capacity: number }[] {
  return basket.kind === "places" ? [{ id: basket.areaId, capacity: basket.count }] : [];
}
