/**
 * The part of the HTTP interface that the player speaks: paths, bodies and codes. It knows the
 * documented interface only, nothing of the server's own code, so it can play any server.
 */

export const API_PATH = "/api/private/v2.0";
export const READY_PATH = "/readyz";

/** The largest page that the interface allows. */
export const PAGE_SIZE_MAX = 100;

export const STATUS_OK = 200;
export const STATUS_CREATED = 201;
export const STATUS_TOO_MANY_REQUESTS = 429;
export const STATUS_SERVER_ERROR_MIN = 500;
/** How a server that starts, stops or is overloaded says "later". */
export const STATUS_SERVICE_UNAVAILABLE = 503;

/** States of a seat. A seat without a price has null in the place of a state. */
export const SeatState = {
  ACTIVE: "ACTIVE",
  LOCKED: "LOCKED",
  SOLD: "SOLD",
  BLOCKED: "BLOCKED",
} as const;
export type SeatState = (typeof SeatState)[keyof typeof SeatState];

/** `errorCode` of the two refusals that a buyer meets with another choice. */
export const ErrorCode = {
  NOT_AVAILABLE: "INVENTORY_NOT_AVAILABLE",
  ORPHAN_SEAT: "ORPHAN_SEAT",
} as const;

/** `errors[].code`: why one object of a request was refused. */
export const RefusalCode = {
  LOCKED: "LOCKED",
  SOLD: "SOLD",
  HELD_BY_ANOTHER_SESSION: "HELD_BY_ANOTHER_SESSION",
  INSUFFICIENT_CAPACITY: "INSUFFICIENT_CAPACITY",
} as const;

/** One record of the seats listing; only the members that the player reads. */
export interface ListedSeat {
  readonly seatId: number;
  readonly rowId: number;
  readonly state: SeatState | null;
  /** Local date-time on the service clock, three decimals: compares as text. */
  readonly updatedAt: string | null;
}

/** One area of `GET events/{id}/areas/`. An area without a price cannot be booked. */
export interface AreaCounters {
  readonly groupOfSeatsId: number;
  readonly priceId: number | null;
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

/** One item of `errors[]`. `field` names the refused object by its place: `seats[1].id`. */
export interface RefusedObject {
  readonly field: string;
  readonly code: string;
}

/** The members of `application/problem+json` that the player reads. */
export interface Problem {
  readonly errorCode?: string | undefined;
  readonly detail?: string | undefined;
  readonly errors?: readonly RefusedObject[] | undefined;
}

/** The place in the request that `seats[1].id` names, or undefined where no seat is named. */
export function seatPosition(field: string): number | undefined {
  const match = /^seats\[(\d+)\]/.exec(field);
  return match === null ? undefined : Number(match[1]);
}
