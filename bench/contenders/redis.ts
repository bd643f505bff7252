/** Redis from Debian's package: over its own protocol, and behind fastify. */
import { Redis } from "ioredis";
import path from "node:path";
import { freePort, programInPath, startProgram } from "../harness/processes.ts";
import type { EventOnSale } from "../load/plan.ts";
import { SCRIPTS } from "../load/redis-scripts.ts";
import type { Contender, SeatCounts } from "./contender.ts";
import { type Database, fastify } from "./fastify.ts";
import type { Store } from "./store.ts";
import { syntheticEvent } from "./synthetic-event.ts";

/** One script per request. The commands of the same turn are sent together. */
export function openRedis(port: string): Store {
  const options = { host: "127.0.0.1", port: Number(port), enableAutoPipelining: true };
  const client = new Redis(options);
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

export function fastifyRedis(name: string): Contender {
  const startDatabase = (folder: string) => startRedis(folder, "always");
  return fastify({ name, store: "redis", missing, startDatabase });
}

function missing(): string | null {
  return programInPath("redis-server") === null ? "apt-get install redis-server" : null;
}

async function startRedis(folder: string, sync: Sync): Promise<Database> {
  const port = await freePort();
  const files = ["--dir", path.resolve(folder), "--save", ""];
  const log = ["--appendonly", "yes", "--appendfsync", sync];
  const client = new Redis({ host: "127.0.0.1", port, lazyConnect: true });
  client.on("error", () => undefined);
  const program = await startProgram({
    path: "redis-server",
    args: ["--port", String(port), "--bind", "127.0.0.1", ...files, ...log],
    stopSignal: "SIGTERM",
    probe: async () => void (await client.ping()),
  });
  for (const { lua } of Object.values(SCRIPTS)) await client.script("LOAD", lua);
  return {
    address: String(port),
    pids: [program.pid],
    // A seat without a field is free.
    addSeats: async () => undefined,
    countSeats: (event) => countSeats(client, event),
    stop: async () => {
      client.disconnect();
      await program.stop();
    },
  };
}

async function countSeats(client: Redis, { eventId, seatIds }: EventOnSale): Promise<SeatCounts> {
  const values = await client.hvals(`seats:${eventId}`);
  const sold = values.filter((value) => value.startsWith("S:")).length;
  const counts = { free: seatIds.length - values.length, locked: values.length - sold, sold };
  return new Map(Object.entries(counts).filter(([, count]) => count > 0));
}
