/**
 * Booking in PostgreSQL, in two forms: a transaction from the service, and one call of a function
 * in the database. Statements are prepared.
 */
import pg from "pg";
import type { RequestKind } from "../../load/wire.ts";
import { FREE, MOVES } from "./moves.ts";
import type { Booking, BookingStore } from "./store.ts";

export const SCHEMA = `
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

export const USER = "bench";
export const DATABASE = "postgres";

export function openPostgres(port: number, form: "transaction" | "function"): BookingStore {
  const database = { host: "127.0.0.1", port, user: USER, database: DATABASE };
  const pool = new pg.Pool({ ...database, max: CONNECTIONS });
  return {
    book: form === "function" ? (kind, booking) => call(pool, kind, booking) : transact,
  };

  async function transact(kind: RequestKind, booking: Booking): Promise<boolean> {
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
}

async function call(pool: pg.Pool, kind: RequestKind, booking: Booking): Promise<boolean> {
  const query = { name: "book", text: CALL, values: valuesOf(kind, booking) };
  const { rows } = await pool.query<{ done: boolean }>(query);
  return rows[0]!.done;
}

function valuesOf(kind: RequestKind, { eventId, sessionId, seatIds }: Booking): unknown[] {
  const { from, to } = MOVES[kind];
  return [eventId, seatIds, from, to, sessionId];
}
