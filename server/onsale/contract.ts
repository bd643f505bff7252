/**
 * The part of the HTTP interface that this client uses: paths, bodies and codes. It follows the
 * documentation and shares no code with the server, so the client works with any server.
 */

export const API_PATH = "/api/private/v2.0";
export const READY_PATH = "/readyz";

/** The largest page that the interface allows. */
export const PAGE_SIZE_MAX = 100;

export const STATUS_OK = 200;
export const STATUS_CREATED = 201;
export const STATUS_TEMPORARY_REDIRECT = 307;
export const STATUS_TOO_MANY_REQUESTS = 429;
export const STATUS_SERVER_ERROR_MIN = 500;
/** The answer of a server that is starting, stopping or overloaded. */
export const STATUS_SERVICE_UNAVAILABLE = 503;

/** `errorCode` of the refusals after which a buyer can make another choice. */
export type RefusalCode = "INVENTORY_NOT_AVAILABLE" | "ORPHAN_SEAT" | "NOTHING_SUITABLE";

export type SeatState = "ACTIVE" | "LOCKED" | "SOLD" | "BLOCKED";

/** One record of the seats listing; only the members that this client reads. */
export interface ListedSeat {
  readonly seatId: number;
  readonly seatName: string;
  readonly rowId: number;
  readonly rowName: string;
  readonly sectionName: string;
  /** Null for a seat without a price, which cannot be booked. */
  readonly state: SeatState | null;
  /** Local date-time of the service clock with three decimals, so it sorts as text. */
  readonly updatedAt: string | null;
}

/** One area of `GET events/{id}/areas/`. An area without a price cannot be booked. */
export interface AreaCounters {
  readonly groupOfSeatsId: number;
  readonly name: string;
  readonly priceId?: number;
  readonly capacity: number;
  readonly active: number;
  readonly locked: number;
  readonly sold: number;
  readonly blocked: number;
}

export interface Page<Item> {
  readonly content: readonly Item[];
  readonly totalPages: number;
  readonly last: boolean;
}

/** One item of `errors[]`: why one object of a request was refused. */
export interface RefusedObject {
  /** The position of the object in the request: `seats[1].id`. */
  readonly field: string;
  readonly code:
    | SeatState
    | "NO_PRICE"
    | "NOT_FOUND"
    | "HELD_BY_ANOTHER_SESSION"
    | "HELD_BY_THIS_SESSION"
    | "PRICE_CHANGED"
    | "STALE_FENCE"
    | "INSUFFICIENT_CAPACITY"
    | "HELD_LIMIT"
    | "VISITOR_LIMIT"
    | "NOTHING_SUITABLE"
    | "ORPHAN_SEAT";
  /** Of NOTHING_SUITABLE: the quantity. */
  readonly rejectedValue?: unknown;
}

/** The members of `application/problem+json` that this client reads. */
export interface Problem {
  readonly errorCode?: string | undefined;
  readonly detail?: string | undefined;
  readonly errors?: readonly RefusedObject[] | undefined;
  /** Of NOTHING_SUITABLE: the largest block below the quantity, and all candidates. */
  readonly largestTogether?: number | undefined;
  readonly available?: number | undefined;
}

/** The position in `seats[1].id`, or undefined if the field is not a seat. */
export function seatPosition(field: string): number | undefined {
  const match = /^seats\[(\d+)\]/.exec(field);
  return match === null ? undefined : Number(match[1]);
}

// What a buyer has chosen, and the request bodies that book it.

/** Adjacent seats of one row, or places in one general-admission area. */
export interface Basket {
  readonly seatIds: readonly number[];
  readonly areas: readonly { readonly id: number; readonly capacity: number }[];
}

/** A wish that the server fills: `quantity` seats, or places in the first area that has as many. */
export interface BestWish {
  readonly quantity: number;
  /** Empty for seats. */
  readonly areaIds: readonly number[];
}

/** A basket of one session. Lock, unlock and sale send the same body. */
export interface Booking {
  readonly sessionId: string;
  /** Empty before an answer to `best`. */
  readonly basket: Basket;
  readonly body: string;
  /** Only of a booking that asks for the best places. */
  readonly best?: { readonly wish: BestWish; readonly body: string };
}

export function createBooking(sessionId: string, basket: Basket): Booking {
  const seats = basket.seatIds.map((id) => ({ id, capacity: null }));
  const body = JSON.stringify({ sessionId, seats, groupOfSeats: basket.areas });
  return { sessionId, basket, body };
}

/**
 * Asks for the best places. Until the answer names them, an unlock releases everything that the
 * session holds.
 */
export function createBestBooking(sessionId: string, wish: BestWish): Booking {
  const { quantity, areaIds: groupOfSeatsIds } = wish;
  // Like buyers who pick, it takes accessible seats as any others.
  const asked = { sessionId, quantity, groupOfSeatsIds, includeAccessible: true };
  const basket = { seatIds: [], areas: [] };
  const body = JSON.stringify({ sessionId, all: true });
  return { sessionId, basket, body, best: { wish, body: JSON.stringify(asked) } };
}

/** The members of an answer of `best` that this client reads. */
export interface BestAnswer {
  readonly seats: readonly { readonly id: number }[];
  readonly groupOfSeats: Basket["areas"];
}
