/** What a buyer has chosen, and the request body that books it. */

/** Adjacent seats of one row, or places in one general-admission area. */
export interface Basket {
  readonly seatIds: readonly number[];
  readonly areas: readonly { readonly id: number; readonly capacity: number }[];
}

/** A basket of one session. Lock, unlock and sale send the same body. */
export interface Booking {
  readonly sessionId: string;
  readonly basket: Basket;
  readonly body: string;
}

export function createBooking(sessionId: string, basket: Basket): Booking {
  const seats = basket.seatIds.map((id) => ({ id, capacity: null }));
  const body = JSON.stringify({ sessionId, seats, groupOfSeats: basket.areas });
  return { sessionId, basket, body };
}
