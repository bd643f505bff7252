/** The stores by the names that the suite gives them. */
import { openPostgres } from "./postgres-store.ts";
import { openRedis } from "./redis-store.ts";
import { openSqlite } from "./sqlite-store.ts";
import type { BookingStore } from "./store.ts";

/** Each takes the port or the path of its database. */
export const STORES = {
  none: () => null,
  redis: (where: string) => openRedis(Number(where)),
  "postgres-transaction": (where: string) => openPostgres(Number(where), "transaction"),
  "postgres-function": (where: string) => openPostgres(Number(where), "function"),
  sqlite: (where: string) => openSqlite(where),
} as const satisfies Record<string, (where: string) => BookingStore | null>;
export type Storing = keyof typeof STORES;
