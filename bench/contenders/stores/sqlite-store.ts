/** Booking in SQLite, in the service's own process: one transaction a request, synced. */
import Database from "better-sqlite3";
import type { RequestKind } from "../../load/wire.ts";
import { FREE, MOVES } from "./moves.ts";
import type { Booking, BookingStore } from "./store.ts";

export const SCHEMA = `
create table seats (
  event_id text not null,
  seat_id integer not null,
  state integer not null default 0,
  session text,
  primary key (event_id, seat_id)
) without rowid`;

export function openSqlite(path: string): BookingStore {
  const database = new Database(path);
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = FULL");
  const update = database.prepare<[number, string | null, string, number, number, number, string]>(`
    update seats set state = ?, session = ?
    where event_id = ? and seat_id = ? and state = ? and (? = ${FREE} or session = ?)`);
  const move = database.transaction((kind: RequestKind, booking: Booking) => {
    const { from, to } = MOVES[kind];
    const { eventId, sessionId, seatIds } = booking;
    const owner = to === FREE ? null : sessionId;
    for (const id of seatIds) {
      const { changes } = update.run(to, owner, eventId, id, from, from, sessionId);
      if (changes === 0) throw NOT_FREE;
    }
  });
  return {
    book: (kind, booking) => {
      try {
        move.immediate(kind, booking);
        return true;
      } catch (error) {
        if (error === NOT_FREE) return false;
        throw error;
      }
    },
  };
}

/** Thrown to roll back. */
const NOT_FREE = new Error("a seat is not as it has to be");
