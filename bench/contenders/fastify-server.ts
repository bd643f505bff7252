/**
 * The booking calls as an ordinary fastify service has them: a schema for the body, a key that is
 * looked up, and a store behind. The argument names the store; without one, every answer is true.
 */
import Fastify from "fastify";
import type { RequestKind } from "../load/wire.ts";
import { STORES, type Storing } from "./stores/all.ts";

interface Booking {
  Params: { kind: RequestKind };
  Querystring: { eventId: string };
  Body: { sessionId: string; seats: { id: number }[] };
}

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
      seats: {
        type: "array",
        minItems: 1,
        maxItems: 500,
        items: { type: "object", required: ["id"], properties: { id: { type: "integer" } } },
      },
    },
  },
};

const [storing = "none", where = ""] = process.argv.slice(2);
const keys = new Set([process.env["BENCH_KEY"]]);
const store = STORES[storing as Storing](where);
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
