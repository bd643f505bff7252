/** Redis from Debian's package: by its own protocol, and behind fastify. */
import { Redis } from "ioredis";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Hall, Mix } from "../load/plan.ts";
import { freePort, startNode, startProgram } from "./child.ts";
import { type Contender, countsFault, type Running } from "./contender.ts";
import { KEY, madeUpHall } from "./made-up-hall.ts";
import { programInPath } from "./programs.ts";
import { SCRIPTS } from "./stores/redis-scripts.ts";

const FASTIFY = fileURLToPath(new URL("./fastify-server.js", import.meta.url));
const MIXES: readonly Mix[] = ["lock", "hot"];
/** The values of `appendfsync`. */
type Sync = "always" | "everysec";

export function redis(name: string, sync: Sync): Contender {
  return {
    name,
    mixes: MIXES,
    missing,
    start: async (folder) => (await startRedis(folder, sync)).running,
  };
}

export function fastifyRedis(name: string, sync: Sync): Contender {
  return {
    name,
    mixes: MIXES,
    missing,
    start: async (folder) => {
      const { port, running } = await startRedis(folder, sync);
      const env = { ...process.env, BENCH_KEY: KEY };
      const service = await startNode([FASTIFY, "redis", String(port)], env);
      return {
        ...running,
        target: { protocol: "http", host: "127.0.0.1", port: Number(service.url.port) },
        pids: [...running.pids, service.pid],
        stop: async () => {
          await service.stop();
          await running.stop();
        },
      };
    },
  };
}

function missing(): string | null {
  return programInPath("redis-server") === null ? "apt-get install redis-server" : null;
}

async function startRedis(folder: string, sync: Sync): Promise<{ port: number; running: Running }> {
  const port = await freePort();
  const files = ["--dir", path.resolve(folder), "--save", ""];
  const log = ["--appendonly", "yes", "--appendfsync", sync];
  const client = new Redis({ host: "127.0.0.1", port, lazyConnect: true });
  client.on("error", () => undefined);
  const program = await startProgram({
    path: "redis-server",
    args: ["--port", String(port), "--bind", "127.0.0.1", ...files, ...log],
    options: {},
    stopSignal: "SIGTERM",
    probe: async () => {
      await client.ping();
    },
  });
  for (const { lua } of Object.values(SCRIPTS)) await client.script("LOAD", lua);
  const running: Running = {
    target: { protocol: "resp", host: "127.0.0.1", port },
    pids: [program.pid],
    openHall: async (seatCount) => madeUpHall(seatCount),
    findFault: async (hall, expected) => countsFault(hall, expected, await count(client, hall)),
    stop: async () => {
      client.disconnect();
      await program.stop();
    },
  };
  return { port, running };
}

async function count(client: Redis, { eventId, seatIds }: Hall): Promise<Map<string, number>> {
  const values = await client.hvals(`seats:${eventId}`);
  const counts = new Map<string, number>();
  const add = (state: string, seats: number) => {
    if (seats > 0) counts.set(state, (counts.get(state) ?? 0) + seats);
  };
  add("free", seatIds.length - values.length);
  for (const value of values) add(value.startsWith("S:") ? "sold" : "locked", 1);
  return counts;
}
