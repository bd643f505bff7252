/** The names of the contenders that goals and charts refer to. */

export const POST_NOT_PARSED = "uWebSockets.js POST, body read, not parsed";
export const FRONTROW = "Frontrow, durable";
export const FRONTROW_SNAPSHOTTING = "Frontrow, continuous snapshots";
export const REDIS_ALWAYS = "Redis Lua over RESP, appendfsync always";
export const IOREDIS_ALWAYS = "fastify + ioredis (Lua), appendfsync always";
export const POSTGRES_TRANSACTION = "fastify + PostgreSQL, one transaction";
export const POSTGRES_FUNCTION = "fastify + PostgreSQL, one function";
export const SQLITE_FULL = "fastify + better-sqlite3, synchronous FULL";

/** Book seats and keep them on disk: the servers between which a visitor chooses. */
export const BOOKING_SERVERS: readonly string[] = [
  FRONTROW,
  REDIS_ALWAYS,
  IOREDIS_ALWAYS,
  POSTGRES_TRANSACTION,
  POSTGRES_FUNCTION,
  SQLITE_FULL,
];
