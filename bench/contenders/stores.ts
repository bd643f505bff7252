/** What stands behind the fastify service: each store moves all seats of a request, or none. */
import type { RequestKind } from "../load/wire.ts";

export type Storing = "none";

export interface Booking {
  readonly eventId: string;
  readonly sessionId: string;
  readonly seatIds: readonly number[];
}

export interface BookingStore {
  /** @returns False when a seat was not as it had to be; nothing has changed then. */
  book(kind: RequestKind, booking: Booking): Promise<boolean> | boolean;
}

/** @param where - What the store needs to connect. */
export async function openStore(storing: Storing, where: string): Promise<BookingStore | null> {
  if (storing === "none") return null;
  throw new Error(`no store ${String(storing)} ${where}`);
}
