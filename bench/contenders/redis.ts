/** Redis from Debian's package: over its own protocol, and behind fastify. */
import { Redis } from "ioredis";
import path from "node:path";
import { freePort, isInstalled, startProgram } from "../harness/processes.ts";
import type { EventOnSale } from "../load/plan.ts";
import { SCRIPTS } from "../load/wire.ts";
import { type Contender, type SeatCounts, syntheticEvent } from "./contender.ts";
import type { Database, DatabaseServer } from "./fastify.ts";
import type { Store } from "./store.ts";

/** One script per request. The commands of the same turn are sent together. */
export function openRedis(port: string): Store {
  const client = new Redis({ host: "127.0.0.1", port: Number(port), enableAutoPipelining: true });
  return {
    book: async (kind, { eventId, sessionId, seatIds }) => {
      const { sha } = SCRIPTS[kind];
      return (await client.evalsha(sha, 1, `seats:${eventId}`, sessionId, ...seatIds)) === 1;
    },
  };
}

/** The values of `appendfsync`. */
type Sync = "always" | "everysec";

export function redis(name: string, sync: Sync): Contender {
  return {
    name,
    mixes: ["lock", "hot"],
    missing,
    start: async (folder) => {
      const { address, ...running } = await startRedis(folder, sync);
      return {
        ...running,
        target: { protocol: "resp", host: "127.0.0.1", port: Number(address) },
        openEvent: async (seatCount) => syntheticEvent(seatCount),
      };
    },
  };
}

export const REDIS: DatabaseServer = { missing, start: (folder) => startRedis(folder, "always") };

function missing(): string | null {
  return isInstalled("redis-server") ? null : "apt-get install redis-server";
}

async function startRedis(folder: string, sync: Sync): Promise<Database> {
  const port = await freePort();
  const files = ["--dir", path.resolve(folder), "--save", ""];
  const log = ["--appendonly", "yes", "--appendfsync", sync];
  const client = new Redis({ host: "127.0.0.1", port, lazyConnect: true });
  client.on("error", () => undefined);
  const { pid, stop } = await startProgram({
    path: "redis-server",
    args: ["--port", String(port), "--bind", "127.0.0.1", ...files, ...log],
    stopSignal: "SIGTERM",
    connect: () => client.ping(),
  });
  for (const { lua } of Object.values(SCRIPTS)) await client.script("LOAD", lua);
  return {
    address: String(port),
    pids: [pid],
    // A seat without a field is free.
    addSeats: async () => undefined,
    countSeats: (event) => countSeats(client, event),
    stop: async () => {
      client.disconnect();
      await stop();
    },
  };
}

async function countSeats(client: Redis, { eventId, seatIds }: EventOnSale): Promise<SeatCounts> {
  const values = await client.hvals(`seats:${eventId}`);
  const sold = values.filter((value) => value.startsWith("S:")).length;
  const counts = { free: seatIds.length - values.length, locked: values.length - sold, sold };
  return new Map(Object.entries(counts).filter(([, count]) => count > 0));
}
