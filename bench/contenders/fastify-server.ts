/**
 * The program of the fastify service: the booking calls as an ordinary service implements them,
 * with a schema for the body, a key that is looked up, and a store. The arguments are the name of
 * the store and the address of its database. With `none` every answer is `true`.
 */
import Fastify from "fastify";
import type { BookingKind } from "../load/wire.ts";
import { openPostgres } from "./postgres.ts";
import { openRedis } from "./redis.ts";
import { openSqlite } from "./sqlite.ts";
import type { Store, StoreName } from "./store.ts";

const STORES: Readonly<Record<StoreName, (address: string) => Store>> = {
  redis: openRedis,
  "postgres-transaction": (port) => openPostgres(port, "transaction"),
  "postgres-function": (port) => openPostgres(port, "function"),
  sqlite: openSqlite,
};

interface Booking {
  Params: { kind: BookingKind };
  Querystring: { eventId: string };
  Body: { sessionId: string; seats: { id: number }[] };
}

const SEAT = { type: "object", required: ["id"], properties: { id: { type: "integer" } } };
const SCHEMA = {
  querystring: {
    type: "object",
    required: ["eventId"],
    properties: { eventId: { type: "string" } },
  },
  body: {
    type: "object",
    required: ["sessionId", "seats"],
    properties: {
      sessionId: { type: "string" },
      seats: { type: "array", minItems: 1, maxItems: 500, items: SEAT },
    },
  },
};

const [name, address = ""] = process.argv.slice(2);
const keys = new Set([process.env["BENCH_KEY"]]);
const store = name === "none" ? null : STORES[name as StoreName](address);
const app = Fastify();
if (store === null) {
  app.post("/api/private/v2.0/booking/:kind", (_request, reply) => reply.send(true));
} else {
  app.post<Booking>("/api/private/v2.0/booking/:kind", { schema: SCHEMA }, (request, reply) => {
    if (!keys.has(request.headers["x-api-key"] as string)) return reply.code(403).send();
    const { sessionId, seats } = request.body;
    const seatIds = seats.map(({ id }) => id);
    const { eventId } = request.query;
    return store.book(request.params.kind, { eventId, sessionId, seatIds });
  });
}
process.on("SIGTERM", () => process.exit(0));
process.stdout.write(`listening on ${await app.listen({ host: "127.0.0.1", port: 0 })}\n`);
