/** SQLite behind fastify, in the service's own process. */
import Database from "better-sqlite3";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { startNode } from "./child.ts";
import { type Contender, countsFault } from "./contender.ts";
import { KEY, madeUpHall } from "./made-up-hall.ts";
import { stateName } from "./stores/moves.ts";
import { SCHEMA } from "./stores/sqlite-store.ts";

const FASTIFY = fileURLToPath(new URL("./fastify-server.js", import.meta.url));

export function fastifySqlite(name: string): Contender {
  return {
    name,
    mixes: ["lock", "hot"],
    missing: () => null,
    start: async (folder) => {
      const file = path.join(folder, "seats.sqlite");
      const database = new Database(file);
      database.exec(SCHEMA);
      const service = await startNode([FASTIFY, "sqlite", file], {
        ...process.env,
        BENCH_KEY: KEY,
      });
      const insert = database.prepare("insert into seats (event_id, seat_id) values (?, ?)");
      const select = database.prepare<[string], { state: number; seats: number }>(
        "select state, count(*) as seats from seats where event_id = ? group by state",
      );
      return {
        target: { protocol: "http", host: "127.0.0.1", port: Number(service.url.port) },
        pids: [service.pid],
        openHall: async (seatCount) => {
          const hall = madeUpHall(seatCount);
          database.transaction(() => {
            for (const id of hall.seatIds) insert.run(hall.eventId, id);
          })();
          return hall;
        },
        findFault: async (hall, expected) => {
          const rows = select.all(hall.eventId);
          const counts = rows.map(({ state, seats }) => [stateName(state), seats] as const);
          return countsFault(hall, expected, new Map(counts));
        },
        stop: async () => {
          await service.stop();
          database.close();
        },
      };
    },
  };
}
