/** Interface between the fastify service and its database, and the state changes of a seat. */
import type { BookingKind } from "../load/wire.ts";

export interface Booking {
  readonly eventId: string;
  readonly sessionId: string;
  readonly seatIds: readonly number[];
}

export interface Store {
  /** Changes all seats or none. @returns False when a seat was not in the state it had to be in. */
  book(kind: BookingKind, booking: Booking): Promise<boolean> | boolean;
}

export type StoreName = "redis" | "postgres-transaction" | "postgres-function" | "sqlite";

/** For stores that keep the state in a column: the names of its numbers. */
export const STATES = ["free", "locked", "sold"] as const;
export const FREE = 0;
const LOCKED = 1;
const SOLD = 2;

/** Only the session that has locked or bought a seat may change it again. */
export const MOVES: Readonly<Record<BookingKind, { readonly from: number; readonly to: number }>> =
  {
    lock: { from: FREE, to: LOCKED },
    unlock: { from: LOCKED, to: FREE },
    sale: { from: LOCKED, to: SOLD },
    directsale: { from: FREE, to: SOLD },
    revertsale: { from: SOLD, to: FREE },
  };
