/** PostgreSQL from Debian's package behind fastify, with the settings of the package. */
import { existsSync, readdirSync } from "node:fs";
import { chown } from "node:fs/promises";
import path from "node:path";
import pg from "pg";
import { freePort, run, startProgram } from "../harness/processes.ts";
import type { BookingKind } from "../load/wire.ts";
import type { Database, DatabaseServer } from "./fastify.ts";
import { type Booking, FREE, MOVES, STATES, type Store } from "./store.ts";

const SCHEMA = `
create table seats (
  event_id uuid not null,
  seat_id bigint not null,
  state smallint not null default 0,
  session text,
  primary key (event_id, seat_id)
);
create function book(event uuid, ids bigint[], old smallint, new smallint, buyer text)
returns boolean language plpgsql as $$
begin
  with ready as (
    select 1 from seats
    where event_id = event and seat_id = any(ids) and state = old
      and (old = ${FREE} or session = buyer)
    order by seat_id for update
  )
  update seats set state = new, session = case when new = ${FREE} then null else buyer end
  where event_id = event and seat_id = any(ids)
    and (select count(*) from ready) = cardinality(ids);
  return found;
end $$;
`;

const UPDATE = `
update seats
set state = $4::smallint, session = case when $4::smallint = ${FREE} then null else $5 end
where event_id = $1 and seat_id = any($2) and state = $3::smallint
  and ($3::smallint = ${FREE} or session = $5)`;
const CALL = "select book($1, $2, $3, $4, $5) as done";
const CONNECTIONS = 16;

const USER = "bench";
const addressAt = (port: number) => ({ host: "127.0.0.1", port, user: USER, database: "postgres" });

type Form = "transaction" | "function";

export function openPostgres(port: string, form: Form): Store {
  const pool = new pg.Pool({ ...addressAt(Number(port)), max: CONNECTIONS });
  const book = form === "function" ? callFunction : transact;
  return { book: (kind, booking) => book(pool, kind, booking) };
}

async function transact(pool: pg.Pool, kind: BookingKind, booking: Booking): Promise<boolean> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    const values = valuesOf(kind, booking);
    const { rowCount } = await client.query({ name: "update", text: UPDATE, values });
    const isDone = rowCount === booking.seatIds.length;
    await client.query(isDone ? "commit" : "rollback");
    client.release();
    return isDone;
  } catch (error) {
    client.release(true);
    throw error;
  }
}

async function callFunction(pool: pg.Pool, kind: BookingKind, booking: Booking): Promise<boolean> {
  const query = { name: "book", text: CALL, values: valuesOf(kind, booking) };
  const { rows } = await pool.query<{ done: boolean }>(query);
  return rows[0]!.done;
}

function valuesOf(kind: BookingKind, { eventId, sessionId, seatIds }: Booking): unknown[] {
  const { from, to } = MOVES[kind];
  return [eventId, seatIds, from, to, sessionId];
}

export const POSTGRES: DatabaseServer = {
  missing: () => (programFolder() === undefined ? "apt-get install postgresql" : null),
  start: startPostgres,
};

async function startPostgres(folder: string): Promise<Database> {
  const bin = programFolder()!;
  const user = await packageUser();
  if (user !== null) await chown(folder, user.uid, user.gid);
  const data = path.join(folder, "postgres");
  const options = { ...user, cwd: folder };
  const init = ["-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale", "C"];
  await run(path.join(bin, "initdb"), init, options);
  const port = await freePort();
  const { pid, stop, connection } = await startProgram({
    path: path.join(bin, "postgres"),
    args: ["-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", folder],
    options,
    // A fast shutdown: it does not wait for clients to disconnect.
    stopSignal: "SIGINT",
    connect: async () => {
      const client = new pg.Client(addressAt(port));
      await client.connect();
      return client;
    },
  });
  await connection.query(SCHEMA);
  return {
    address: String(port),
    pids: [pid],
    addSeats: async ({ eventId, seatIds }) => {
      const insert = "insert into seats (event_id, seat_id) select $1, unnest($2::bigint[])";
      await connection.query(insert, [eventId, seatIds]);
      await connection.query("analyze seats");
    },
    countSeats: async ({ eventId }) => {
      const { rows } = await connection.query<{ state: number; seats: string }>(
        "select state, count(*) as seats from seats where event_id = $1 group by state",
        [eventId],
      );
      return new Map(rows.map(({ state, seats }) => [STATES[state]!, Number(seats)]));
    },
    stop: async () => {
      await connection.end();
      await stop();
    },
  };
}

const VERSIONS = "/usr/lib/postgresql";

/** @returns The folder with the programs of the newest version; undefined when there is none. */
function programFolder(): string | undefined {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS).map(Number) : [];
  return versions
    .toSorted((a, b) => b - a)
    .map((version) => path.join(VERSIONS, String(version), "bin"))
    .find((folder) => existsSync(path.join(folder, "initdb")));
}

/** PostgreSQL refuses to run as root. @returns The user of its package; null to keep ours. */
async function packageUser(): Promise<{ uid: number; gid: number } | null> {
  if (process.getuid?.() !== 0) return null;
  const idOf = async (flag: string) => Number(await run("id", [flag, "postgres"]));
  return { uid: await idOf("-u"), gid: await idOf("-g") };
}
