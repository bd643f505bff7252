/** The moves of a seat, for the stores that keep its state in a column. */
import type { RequestKind } from "../../load/wire.ts";

export const FREE = 0;
export const LOCKED = 1;
export const SOLD = 2;

export interface Move {
  readonly from: number;
  readonly to: number;
}

/** What is locked or sold belongs to a session, and only that may move it on. */
export const MOVES: Readonly<Record<RequestKind, Move>> = {
  lock: { from: FREE, to: LOCKED },
  unlock: { from: LOCKED, to: FREE },
  sale: { from: LOCKED, to: SOLD },
  directsale: { from: FREE, to: SOLD },
  revertsale: { from: SOLD, to: FREE },
};

export function stateName(state: number): string {
  return ["free", "locked", "sold"][state] ?? String(state);
}
