/** SQLite behind fastify, inside the service's process: one synced transaction per request. */
import path from "node:path";
import { Sqlite } from "../../persistence/disk/sqlite.ts";
import type { BookingKind } from "../load/wire.ts";
import type { DatabaseServer } from "./fastify.ts";
import { type Booking, FREE, MOVES, STATES, type Store } from "./store.ts";

const SCHEMA = `
create table seats (
  event_id text not null,
  seat_id integer not null,
  state integer not null default 0,
  session text,
  primary key (event_id, seat_id)
) without rowid`;

export function openSqlite(file: string): Store {
  const database = new Sqlite(file);
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = FULL");
  const update = database.prepare<[number, string | null, string, number, number, number, string]>(`
    update seats set state = ?, session = ?
    where event_id = ? and seat_id = ? and state = ? and (? = ${FREE} or session = ?)`);
  const move = database.transaction((kind: BookingKind, booking: Booking) => {
    const { from, to } = MOVES[kind];
    const { eventId, sessionId, seatIds } = booking;
    const owner = to === FREE ? null : sessionId;
    for (const id of seatIds) {
      const { changes } = update.run(to, owner, eventId, id, from, from, sessionId);
      if (changes === 0) throw REFUSED;
    }
  });
  return {
    book: (kind, booking) => {
      try {
        move.immediate(kind, booking);
        return true;
      } catch (error) {
        if (error === REFUSED) return false;
        throw error;
      }
    },
  };
}

/** Thrown to roll the transaction back. */
const REFUSED = new Error("a seat is not in the state it has to be in");

export const SQLITE: DatabaseServer = {
  missing: () => null,
  start: async (folder) => {
    const address = path.join(folder, "seats.sqlite");
    const database = new Sqlite(address);
    database.exec(SCHEMA);
    const insert = database.prepare("insert into seats (event_id, seat_id) values (?, ?)");
    const count = database.prepare<[string], { state: number; seats: number }>(
      "select state, count(*) as seats from seats where event_id = ? group by state",
    );
    return {
      address,
      pids: [],
      addSeats: async ({ eventId, seatIds }) => {
        database.transaction(() => {
          for (const id of seatIds) insert.run(eventId, id);
        })();
      },
      countSeats: async ({ eventId }) =>
        new Map(count.all(eventId).map(({ state, seats }) => [STATES[state]!, seats])),
      stop: async () => void database.close(),
    };
  },
};
