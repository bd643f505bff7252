/** What stands behind the fastify service: each store moves all seats of a request, or none. */
import type { RequestKind } from "../../load/wire.ts";
import { openPostgres } from "./postgres-store.ts";
import { openRedis } from "./redis-store.ts";
import { openSqlite } from "./sqlite-store.ts";

export interface Booking {
  readonly eventId: string;
  readonly sessionId: string;
  readonly seatIds: readonly number[];
}

export interface BookingStore {
  /** @returns False when a seat was not as it had to be; nothing has changed then. */
  book(kind: RequestKind, booking: Booking): Promise<boolean> | boolean;
}

/** @param where - A port or path. @returns A store, by the name that the suite calls it. */
export const STORES = {
  none: () => null,
  redis: (where: string) => openRedis(Number(where)),
  "postgres-transaction": (where: string) => openPostgres(Number(where), "transaction"),
  "postgres-function": (where: string) => openPostgres(Number(where), "function"),
  sqlite: (where: string) => openSqlite(where),
} as const satisfies Record<string, (where: string) => BookingStore | null>;
export type Storing = keyof typeof STORES;
