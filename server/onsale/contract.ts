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
export const STATUS_NOT_FOUND = 404;
export const STATUS_TEMPORARY_REDIRECT = 307;
export const STATUS_TOO_MANY_REQUESTS = 429;
export const STATUS_SERVER_ERROR_MIN = 500;
/** The answer of a server that is starting, stopping or overloaded. */
export const STATUS_SERVICE_UNAVAILABLE = 503;

/** `errorCode` of the refusals of buyers. */
export type RefusalCode =
  | "INVENTORY_NOT_AVAILABLE"
  | "ORPHAN_SEAT"
  | "NOTHING_SUITABLE"
  | "ADMISSION_INVALID";

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
    | "CHANNEL"
    | "INSUFFICIENT_CAPACITY"
    | "HELD_LIMIT"
    | "VISITOR_LIMIT"
    | "NOTHING_SUITABLE"
    | "ORPHAN_SEAT"
    | "SIGNATURE"
    | "EVENT"
    | "EXPIRED"
    | "LEFT"
    | "SESSION";
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

// A buyer's choice, and the request bodies for it.

/** Adjacent seats of one row, or places in one general-admission area. */
export interface Basket {
  readonly seatIds: readonly number[];
  readonly areas: readonly { readonly id: number; readonly capacity: number }[];
}

/** Seats and places. */
export function ticketsOf({ seatIds, areas }: Basket): number {
  return areas.reduce((sum, { capacity }) => sum + capacity, seatIds.length);
}

/** A wish for the server to fill: `quantity` seats, or places in the first area with as many. */
export interface BestWish {
  readonly quantity: number;
  /** Empty for seats. */
  readonly areaIds: readonly number[];
}

/** A basket of one session. */
export interface Booking {
  readonly sessionId: string;
  /** Empty before an answer to `best`. */
  readonly basket: Basket;
  /** Of lock or best. */
  readonly lockBody: string;
  /** Of unlock and sale. */
  readonly body: string;
  /** Only of a booking of the best places. */
  readonly best?: BestWish;
}

/** @param admission - The token of a visitor, where the event has a door. */
export function createBooking(sessionId: string, basket: Basket, admission?: string): Booking {
  const seats = basket.seatIds.map((id) => ({ id, capacity: null }));
  const members = { sessionId, seats, groupOfSeats: basket.areas };
  const body = JSON.stringify(members);
  const lockBody = admission === undefined ? body : JSON.stringify({ ...members, admission });
  return { sessionId, basket, lockBody, body };
}

/**
 * Asks for the best places. Until the answer names them, an unlock releases all holds of the
 * session.
 */
export function createBestBooking(sessionId: string, best: BestWish, admission?: string): Booking {
  const { quantity, areaIds: groupOfSeatsIds } = best;
  // Accessible seats count as any others, as for buyers with a map.
  const asked = { sessionId, quantity, groupOfSeatsIds, includeAccessible: true, admission };
  const basket = { seatIds: [], areas: [] };
  const body = JSON.stringify({ sessionId, all: true });
  return { sessionId, basket, lockBody: JSON.stringify(asked), body, best };
}

/** The members of an answer of `best`; only those for this client. */
export interface BestAnswer {
  readonly seats: readonly { readonly id: number }[];
  readonly groupOfSeats: Basket["areas"];
}

// The door of an event.

/** Members of `events/{id}/admission`; only those for this client. Times are local date-times. */
export interface Admission {
  readonly opensAt: string;
  readonly perMinute: number;
  readonly maxInside: number | null;
  readonly claimSeconds: number;
  readonly seatsPerVisitor: number | null;
  readonly draw: boolean;
  readonly paused: boolean;
  readonly exemptHoldTypes: readonly string[];
  readonly state: DoorState;
  readonly commitment: string;
  /** Visitors since the set-up, and those in the two states. */
  readonly joined: number;
  readonly invited: number;
  readonly inside: number;
}

type DoorState = "before" | "open" | "paused" | "soldout";

/** Members of `/door/{eventId}/status`; only those for this client. */
export interface DoorStatus {
  readonly state: DoorState;
  readonly now: string;
  readonly drawn: number;
  /** Places up to this one were invited. */
  readonly serving: number;
  /** Null before the opening. */
  readonly seed: string | null;
}

/** A visitor as it sees itself. */
export interface VisitorView {
  /** The secret. */
  readonly visitor: string;
  readonly entry: string;
  readonly state: "waiting" | "invited" | "inside" | "gone";
  /** Null before the draw. */
  readonly place: number | null;
  /** The end of the invitation or of the admission. */
  readonly until: string | null;
  /** Seats and places, held or bought. */
  readonly taken: number;
  /** The token; only in the answer to an entry. */
  readonly admission?: string;
}
