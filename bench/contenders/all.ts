/** The list of all contenders. */
import type { Contender } from "./contender.ts";
import { FASTIFY_EMPTY, GET_CONSTANT, POST_NOT_PARSED, POST_PARSED } from "./empty-handlers.ts";
import { fastify } from "./fastify.ts";
import { frontrow, frontrowSnapshotting } from "./frontrow.ts";
import * as names from "./names.ts";
import { POSTGRES } from "./postgres.ts";
import { redis, REDIS } from "./redis.ts";
import { SQLITE } from "./sqlite.ts";

/** @param serve - Further arguments of `frontrow serve`. */
export function contenders(serve: readonly string[]): Contender[] {
  return [
    GET_CONSTANT,
    POST_NOT_PARSED,
    POST_PARSED,
    frontrow(names.FRONTROW, serve),
    frontrowSnapshotting(names.FRONTROW_SNAPSHOTTING, serve),
    redis(names.REDIS_ALWAYS, "always"),
    redis("Redis Lua over RESP, appendfsync everysec", "everysec"),
    FASTIFY_EMPTY,
    fastify(names.IOREDIS_ALWAYS, "redis", REDIS),
    fastify(names.POSTGRES_TRANSACTION, "postgres-transaction", POSTGRES),
    fastify(names.POSTGRES_FUNCTION, "postgres-function", POSTGRES),
    fastify(names.SQLITE_FULL, "sqlite", SQLITE),
  ];
}
