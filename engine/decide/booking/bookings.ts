/** The booking commands: what differs between them, in one table. */
import type { BookingKind } from "../../commands.ts";
import { Move } from "../../inventory/states.ts";

export interface Booking {
  readonly move: Move;
  /** Refused with SALES_CONTROL_REQUIRED when the organization's sales control mode is off. */
  readonly salesControl: boolean;
  /** Refused with EVENT_NOT_PUBLISHED unless the event is published. */
  readonly published: boolean;
  /** Judged by orphan seat prevention when the organization has it on. */
  readonly orphans: boolean;
  /** Acts only on the holds of the session that it names, if it names one. */
  readonly session: boolean;
  /** Seats that are ACTIVE already are fine and stay as they are. */
  readonly idle: boolean;
}

const PLAIN = {
  salesControl: false,
  published: false,
  orphans: false,
  session: false,
  idle: false,
};

export const BOOKINGS: Readonly<Record<BookingKind, Booking>> = {
  lock: { ...PLAIN, move: Move.LOCK, published: true, orphans: true },
  unlock: { ...PLAIN, move: Move.UNLOCK, session: true, idle: true },
  sale: {
    move: Move.SALE,
    salesControl: true,
    published: true,
    orphans: true,
    session: true,
    idle: false,
  },
  revertsale: { ...PLAIN, move: Move.REVERT_SALE, salesControl: true },
  directsale: { ...PLAIN, move: Move.DIRECT_SALE, published: true },
  block: { ...PLAIN, move: Move.BLOCK },
  unblock: { ...PLAIN, move: Move.UNBLOCK, idle: true },
};
