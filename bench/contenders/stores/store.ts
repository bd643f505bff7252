/** What stands behind the fastify service: each store moves all seats of a request, or none. */
import type { RequestKind } from "../../load/wire.ts";

export interface Booking {
  readonly eventId: string;
  readonly sessionId: string;
  readonly seatIds: readonly number[];
}

export interface BookingStore {
  /** @returns False when a seat was not as it had to be; nothing has changed then. */
  book(kind: RequestKind, booking: Booking): Promise<boolean> | boolean;
}
