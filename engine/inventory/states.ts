/**
 * The states of a seat, and a table of the moves between them. The log stores these codes, so they
 * are never renumbered.
 */
import { assert } from "../assert.ts";

export const SeatState = {
  /** Never had a price in this event: listed with state null; cannot be booked. */
  UNPRICED: 0,
  /** Its price was removed: not listed until it is priced again; cannot be booked. */
  WITHDRAWN: 1,
  ACTIVE: 2,
  LOCKED: 3,
  SOLD: 4,
  BLOCKED: 5,
} as const;
export type SeatState = (typeof SeatState)[keyof typeof SeatState];

/** The states of bookings, in which an area counts its places. */
export type BookingState = Exclude<
  SeatState,
  typeof SeatState.UNPRICED | typeof SeatState.WITHDRAWN
>;

const { ACTIVE, LOCKED, SOLD, BLOCKED } = SeatState;

export const BOOKING_STATES: readonly BookingState[] = [ACTIVE, LOCKED, SOLD, BLOCKED];

/** The public name of each state. Index: a `SeatState`; null where the interface has no name. */
export const STATE_NAMES = [null, null, "ACTIVE", "LOCKED", "SOLD", "BLOCKED"] as const;

export const Move = {
  LOCK: 1,
  UNLOCK: 2,
  SALE: 3,
  REVERT_SALE: 4,
  DIRECT_SALE: 5,
  BLOCK: 6,
  UNBLOCK: 7,
  EXPIRE: 8,
  /** The moves of `fromBlocked` and `toBlocked`. */
  LOCK_WITH_BLOCKED: 9,
  DIRECT_SALE_WITH_BLOCKED: 10,
  UNLOCK_TO_BLOCKED: 11,
  REVERT_SALE_TO_BLOCKED: 12,
} as const;
export type Move = (typeof Move)[keyof typeof Move];

interface MoveRule {
  readonly name: string;
  readonly from: BookingState;
  /** A second state that the move may leave: places once there are none in `from`. */
  readonly orFrom?: BookingState;
  readonly to: BookingState;
}

export const MOVES: Readonly<Record<Move, MoveRule>> = {
  [Move.LOCK]: { name: "lock", from: ACTIVE, to: LOCKED },
  [Move.UNLOCK]: { name: "unlock", from: LOCKED, to: ACTIVE },
  [Move.SALE]: { name: "sale", from: LOCKED, to: SOLD },
  [Move.REVERT_SALE]: { name: "revertsale", from: SOLD, to: ACTIVE },
  [Move.DIRECT_SALE]: { name: "directsale", from: ACTIVE, to: SOLD },
  [Move.BLOCK]: { name: "block", from: ACTIVE, to: BLOCKED },
  [Move.UNBLOCK]: { name: "unblock", from: BLOCKED, to: ACTIVE },
  [Move.EXPIRE]: { name: "expire", from: LOCKED, to: ACTIVE },
  [Move.LOCK_WITH_BLOCKED]: { name: "lock", from: BLOCKED, orFrom: ACTIVE, to: LOCKED },
  [Move.DIRECT_SALE_WITH_BLOCKED]: { name: "directsale", from: BLOCKED, orFrom: ACTIVE, to: SOLD },
  [Move.UNLOCK_TO_BLOCKED]: { name: "unlock", from: LOCKED, orFrom: ACTIVE, to: BLOCKED },
  [Move.REVERT_SALE_TO_BLOCKED]: { name: "revertsale", from: SOLD, to: BLOCKED },
};

/** The states of seats before the move. */
export function statesBefore(move: Move): readonly BookingState[] {
  const { from, orFrom } = MOVES[move];
  return orFrom === undefined ? [from] : [from, orFrom];
}

for (const [i, state] of BOOKING_STATES.entries()) {
  assert(state === ACTIVE + i, "the booking states are consecutive codes, from ACTIVE on");
  assert(STATE_NAMES[state] !== null, "every booking state has a public name");
}
for (const { from, orFrom, to } of Object.values(MOVES)) {
  assert(from !== to && orFrom !== to, "a move changes the state");
}
