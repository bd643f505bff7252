/** Everything that is measured side by side. */
import {
  FRONTROW,
  FRONTROW_SNAPSHOTTING,
  IOREDIS_ALWAYS,
  POSTGRES_FUNCTION,
  POSTGRES_TRANSACTION,
  REDIS_ALWAYS,
  REDIS_EVERYSEC,
  SQLITE_FULL,
} from "../rounds/goals.ts";
import type { Contender } from "./contender.ts";
import { FASTIFY_EMPTY, GET_CONSTANT, POST_NOT_PARSED, POST_PARSED } from "./empties.ts";
import { frontrow, frontrowSnapshotting } from "./frontrow.ts";
import { fastifyPostgres } from "./postgres.ts";
import { fastifyRedis, redis } from "./redis.ts";
import { fastifySqlite } from "./sqlite.ts";

/** @param serve - Further arguments of `frontrow serve`. */
export function contenders(serve: readonly string[]): Contender[] {
  return [
    GET_CONSTANT,
    POST_NOT_PARSED,
    POST_PARSED,
    frontrow(FRONTROW, serve),
    frontrowSnapshotting(FRONTROW_SNAPSHOTTING, serve),
    redis(REDIS_ALWAYS, "always"),
    redis(REDIS_EVERYSEC, "everysec"),
    FASTIFY_EMPTY,
    fastifyRedis(IOREDIS_ALWAYS, "always"),
    fastifyPostgres(POSTGRES_TRANSACTION, "transaction"),
    fastifyPostgres(POSTGRES_FUNCTION, "function"),
    fastifySqlite(SQLITE_FULL),
  ];
}
