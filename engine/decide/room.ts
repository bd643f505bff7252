/**
 * Room for what clients create: rows, layouts and events stay in memory until they are deleted, so
 * the operator bounds what all of them may take. Commands that make nothing larger always pass.
 */
import { bytesOfRow, type Catalog, type CatalogPut } from "../catalog.ts";
import { cellOf } from "../cells/ranges.ts";
import { NONE } from "../constants.ts";
import { type LogRecord, RecordType } from "../records.ts";
import { refuse, type Refusal, Result } from "../results.ts";
import { countOfRuns, eachZone, type ZoneChange } from "../layout/zone-table.ts";
import { EVENT_SEAT_BYTES, LAYOUT_SEAT_BYTES, type State } from "../state.ts";

const ZONE_BYTES = bytesOfRow("zoneAssignments", {});
const FULL_CATALOG = refuse(
  Result.NO_ROOM,
  "The server has no memory for more layouts, events and other rows. Delete some to make room.",
);
const FULL_EVENTS = refuse(
  Result.NO_ROOM,
  "The server has no memory for the seats of more events. Delete events to make room.",
);

const NO_NUMBERS = refuse(
  Result.NO_ROOM,
  "The cell has given out all its numbers. Create it in an organization of another cell.",
);

/** Why the change is refused; null when there is room for it. Cost: as that of applying it. */
export function refuseWithoutRoom(state: State, record: LogRecord | null): Refusal | null {
  if (record?.type !== RecordType.CATALOG) return null;
  const { catalog, room } = state;
  if (cellOf(record.nextId) !== cellOf(catalog.nextId)) return NO_NUMBERS;
  let [rowBytes, layoutSeats, eventSeats] = [0, 0, 0];
  for (const change of record.zones ?? []) rowBytes += zoneBytes(catalog, change);
  for (const put of record.puts) {
    // Replies have a budget of their own, and each account a number of logins.
    if (put.table === "replies" || put.table === "logins") continue;
    rowBytes += bytesOfRow(put.table, put.row) - bytesOfRow(put.table, storedRow(catalog, put));
    if (put.table === "events") {
      if (put.row.partition >= NONE) return NO_NUMBERS;
      eventSeats += seatsOfEvent(state, put.row);
    }
    if (put.table !== "layouts") continue;
    const { id, document } = put.row;
    const seats = put.made?.layout.seatCount ?? document.seats.length;
    const more = seats - state.layoutOf(id).seatCount;
    layoutSeats += more;
    if (more > 0) eventSeats += more * eventsOf(catalog, id);
  }
  const bytes = rowBytes + layoutSeats * LAYOUT_SEAT_BYTES;
  const eventBytes = eventSeats * EVENT_SEAT_BYTES;
  if (bytes > 0 && state.used.catalog + bytes > room.catalog) return FULL_CATALOG;
  return eventBytes > 0 && state.used.events + eventBytes > room.events ? FULL_EVENTS : null;
}

/** Of the objects that have no zone yet. */
function zoneBytes({ zoneAssignments }: Catalog, { schemaId, runs }: ZoneChange): number {
  const zoned = zoneAssignments.of(schemaId);
  if (zoned.size === 0) return countOfRuns(runs) * ZONE_BYTES;
  let bytes = 0;
  eachZone(runs, (id, zoneId) => {
    if (zoneId > 0 && !zoned.has(id)) bytes += ZONE_BYTES;
  });
  return bytes;
}

function storedRow(catalog: Catalog, { table, row }: CatalogPut): object | undefined {
  const rows: ReadonlyMap<number | string, object> = catalog[table];
  return rows.get(row.id);
}

/** The seats that an event gets when its row is stored, less those that it has. */
function seatsOfEvent(state: State, row: { schemaId: number; partition: number }): number {
  const now = state.partitions.layoutOf(row.partition)?.seatCount ?? 0;
  return state.layoutOf(row.schemaId).seatCount - now;
}

function eventsOf({ events }: Catalog, schemaId: number): number {
  let count = 0;
  for (const event of events.values()) if (event.schemaId === schemaId) count += 1;
  return count;
}
