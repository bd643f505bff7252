/** The list of all contenders. */
import type { Contender } from "./contender.ts";
import { FASTIFY_EMPTY, GET_CONSTANT, POST_NOT_PARSED, POST_PARSED } from "./empty-handlers.ts";
import { frontrow, frontrowSnapshotting } from "./frontrow.ts";
import * as names from "./names.ts";
import { fastifyPostgres } from "./postgres.ts";
import { fastifyRedis, redis } from "./redis.ts";
import { fastifySqlite } from "./sqlite.ts";

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
    fastifyRedis(names.IOREDIS_ALWAYS),
    fastifyPostgres(names.POSTGRES_TRANSACTION, "transaction"),
    fastifyPostgres(names.POSTGRES_FUNCTION, "function"),
    fastifySqlite(names.SQLITE_FULL),
  ];
}
