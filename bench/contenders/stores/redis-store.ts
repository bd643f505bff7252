/** Booking in Redis: one script a request, the commands of one turn sent together. */
import { Redis } from "ioredis";
import { SCRIPTS } from "./redis-scripts.ts";
import type { BookingStore } from "./store.ts";

export function openRedis(port: number): BookingStore {
  const redis = new Redis({ host: "127.0.0.1", port, enableAutoPipelining: true });
  return {
    book: async (kind, { eventId, sessionId, seatIds }) => {
      const { sha } = SCRIPTS[kind];
      return (await redis.evalsha(sha, 1, `seats:${eventId}`, sessionId, ...seatIds)) === 1;
    },
  };
}
