/** PostgreSQL from Debian's package behind fastify, as its settings are out of the box. */
import { execFileSync } from "node:child_process";
import { chown } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import type { Mix } from "../load/plan.ts";
import { freePort, startNode, startProgram } from "./child.ts";
import { type Contender, countsFault, type Running } from "./contender.ts";
import { KEY, madeUpHall } from "./made-up-hall.ts";
import { postgresPrograms, postgresUser } from "./programs.ts";
import { stateName } from "./stores/moves.ts";
import { DATABASE, SCHEMA, USER } from "./stores/postgres-store.ts";

const FASTIFY = fileURLToPath(new URL("./fastify-server.js", import.meta.url));
const MIXES: readonly Mix[] = ["lock", "hot"];

export function fastifyPostgres(name: string, form: "transaction" | "function"): Contender {
  return {
    name,
    mixes: MIXES,
    missing: () => (postgresPrograms() === null ? "apt-get install postgresql" : null),
    start: async (folder) => {
      const database = await startPostgres(folder);
      const env = { ...process.env, BENCH_KEY: KEY };
      const args = [FASTIFY, `postgres-${form}`, String(database.port)];
      const service = await startNode(args, env);
      const { client } = database;
      return {
        target: { protocol: "http", host: "127.0.0.1", port: Number(service.url.port) },
        pids: [database.pid, service.pid],
        ...hallsIn(client),
        stop: async () => {
          await service.stop();
          await client.end();
          await database.stop();
        },
      };
    },
  };
}

async function startPostgres(folder: string) {
  const bin = postgresPrograms()!;
  const user = postgresUser();
  if (user !== null) await chown(folder, user.uid, user.gid);
  const data = path.join(folder, "postgres");
  const as = user ?? {};
  const init = ["-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale", "C"];
  execFileSync(path.join(bin, "initdb"), init, { ...as, cwd: folder, stdio: "pipe" });
  const port = await freePort();
  const address = { host: "127.0.0.1", port, user: USER, database: DATABASE };
  const program = await startProgram({
    path: path.join(bin, "postgres"),
    args: ["-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", folder],
    options: { ...as, cwd: folder },
    // A fast shutdown: it does not wait for connections to leave.
    stopSignal: "SIGINT",
    probe: async () => {
      const probe = new pg.Client(address);
      await probe.connect();
      await probe.end();
    },
  });
  const client = new pg.Client(address);
  await client.connect();
  await client.query(SCHEMA);
  return { ...program, port, client };
}

function hallsIn(client: pg.Client): Pick<Running, "openHall" | "findFault"> {
  return {
    openHall: async (seatCount) => {
      const hall = madeUpHall(seatCount);
      await client.query("insert into seats (event_id, seat_id) select $1, unnest($2::bigint[])", [
        hall.eventId,
        hall.seatIds,
      ]);
      await client.query("analyze seats");
      return hall;
    },
    findFault: async (hall, expected) => {
      const { rows } = await client.query<{ state: number; seats: string }>(
        "select state, count(*) as seats from seats where event_id = $1 group by state",
        [hall.eventId],
      );
      const counts = rows.map(({ state, seats }) => [stateName(state), Number(seats)] as const);
      return countsFault(hall, expected, new Map(counts));
    },
  };
}
