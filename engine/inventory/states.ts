/**
 * The states of a seat, and the moves between them. One table: which state a move leaves, which it
 * reaches, and whether it counts as held capacity on the way. The log names a move by its code, so
 * codes are never renumbered.
 */

export const SeatState = {
  /** Never had a price in this event: listed, with state null; cannot be booked. */
  UNPRICED: 0,
  /** Its price was taken away: not listed until it is priced again; cannot be booked. */
  WITHDRAWN: 1,
  ACTIVE: 2,
  LOCKED: 3,
  SOLD: 4,
  BLOCKED: 5,
} as const;
export type SeatState = (typeof SeatState)[keyof typeof SeatState];

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
} as const;
export type Move = (typeof Move)[keyof typeof Move];

interface MoveRule {
  readonly name: string;
  readonly from: SeatState;
  readonly to: SeatState;
}

const { ACTIVE, LOCKED, SOLD, BLOCKED } = SeatState;

export const MOVES: Readonly<Record<Move, MoveRule>> = {
  [Move.LOCK]: { name: "lock", from: ACTIVE, to: LOCKED },
  [Move.UNLOCK]: { name: "unlock", from: LOCKED, to: ACTIVE },
  [Move.SALE]: { name: "sale", from: LOCKED, to: SOLD },
  [Move.REVERT_SALE]: { name: "revertsale", from: SOLD, to: ACTIVE },
  [Move.DIRECT_SALE]: { name: "directsale", from: ACTIVE, to: SOLD },
  [Move.BLOCK]: { name: "block", from: ACTIVE, to: BLOCKED },
  [Move.UNBLOCK]: { name: "unblock", from: BLOCKED, to: ACTIVE },
  [Move.EXPIRE]: { name: "expire", from: LOCKED, to: ACTIVE },
};
