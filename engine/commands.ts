/**
 * The command table: every possible request to the engine. Each command is one row, beside its
 * subject; its types, its validators, the dispatch to its decision and the rows of its routes are
 * derived from the row. A command carries its caller, ids, a body in the wire form of the
 * interface, and everything random: the engine has no randomness, so new UUIDs and hashes come with
 * the command.
 */
import { assert } from "./assert.ts";
import { CALLER, type CommandWith } from "./bodies.ts";
import { BEST_COMMANDS } from "./best.ts";
import { BEST_EFFORT_COMMANDS } from "./best-effort.ts";
import { BOOKING_COMMANDS } from "./booking.ts";
import { CART_COMMANDS } from "./cart.ts";
import { DOOR_COMMANDS } from "./door.ts";
import { EXTEND_COMMANDS } from "./extend.ts";
import { bytesOfRow, type Catalog, type CatalogPut } from "./catalog.ts";
import { ACCOUNT_COMMANDS, KEY_COMMANDS } from "./catalog/accounts.ts";
import { CHANNEL_COMMANDS } from "./catalog/channels.ts";
import { EVENT_COMMANDS, SERIES_COMMANDS } from "./catalog/events.ts";
import { ORGANIZATION_COMMANDS, WEBHOOK_COMMANDS } from "./catalog/organizations.ts";
import { PRICE_COMMANDS, ZONE_COMMANDS } from "./catalog/prices.ts";
import { refuseMoved, RELOCATION_COMMANDS } from "./catalog/relocation.ts";
import { REPLY_COMMANDS } from "./catalog/replies.ts";
import {
  CLONE_COMMANDS,
  INSTALL_COMMANDS,
  LAYOUT_COMMANDS,
  SCHEMA_COMMANDS,
  VENUE_COMMANDS,
} from "./catalog/schemas.ts";
import { cellOf } from "./cells.ts";
import type { CommandRow } from "./command.ts";
import { NONE } from "./constants.ts";
import { countOfRuns, eachZone, type ZoneChange } from "./layout/zones.ts";
import { type LogRecord, RecordType } from "./records.ts";
import { type Decision, type Grant, isRefused, type Refusal, refuse, Result } from "./results.ts";
import { ANYTHING, exactObject, type Members, type ObjectOf, type Shape } from "./schema.ts";
import { EVENT_SEAT_BYTES, LAYOUT_SEAT_BYTES, type State } from "./state.ts";

export type { BookingKind } from "./booking.ts";

/** By kind. */
export const COMMANDS = {
  ...ORGANIZATION_COMMANDS,
  ...RELOCATION_COMMANDS,
  ...ACCOUNT_COMMANDS,
  ...KEY_COMMANDS,
  ...REPLY_COMMANDS,
  ...VENUE_COMMANDS,
  ...SCHEMA_COMMANDS,
  ...CLONE_COMMANDS,
  ...LAYOUT_COMMANDS,
  ...INSTALL_COMMANDS,
  ...ZONE_COMMANDS,
  ...SERIES_COMMANDS,
  ...EVENT_COMMANDS,
  ...CHANNEL_COMMANDS,
  ...PRICE_COMMANDS,
  ...WEBHOOK_COMMANDS,
  ...BOOKING_COMMANDS,
  ...EXTEND_COMMANDS,
  ...CART_COMMANDS,
  ...BEST_COMMANDS,
  ...BEST_EFFORT_COMMANDS,
  ...DOOR_COMMANDS,
};

export type CommandKind = keyof typeof COMMANDS;

/** Members of a command besides `kind` and `caller`. */
export type MembersOf<K extends CommandKind> = ObjectOf<(typeof COMMANDS)[K]["members"]>;

export type CommandOf<K extends CommandKind> = {
  [Kind in K]: { readonly kind: Kind } & CommandWith<MembersOf<Kind>>;
}[K];

/** The shape of a command as a whole. */
export function commandShape(kind: CommandKind): Shape {
  return exactObject({ kind: ANYTHING, caller: CALLER, ...COMMANDS[kind].members });
}

// Decides a command: returns a refusal, or a grant with the record to write. Changes nothing.

type ValueOf<D> = D extends Grant<infer Value> ? Value : never;

/** The answer of a granted command of the kind. */
export type AnswerOf<K extends CommandKind> = ValueOf<ReturnType<(typeof COMMANDS)[K]["decide"]>>;

export function isCommandKind(kind: unknown): kind is CommandKind {
  return typeof kind === "string" && Object.hasOwn(COMMANDS, kind);
}

export function decide<K extends CommandKind>(
  state: State,
  given: CommandOf<K>,
  timeMs: number,
): Decision<AnswerOf<K>> {
  // The table pairs each kind with its decision, but the compiler cannot derive that for K.
  const row = COMMANDS[given.kind] as unknown as CommandRow<Members, AnswerOf<K>>;
  const away = state.catalog.away.size === 0 ? null : refuseMoved(state, given);
  if (away !== null) return away;
  const decision = row.decide(state, given, timeMs);
  if (isRefused(decision)) {
    assert(row.refusals.includes(decision.refused), "a refusal is in the row of its command");
    return decision;
  }
  return refuseBeyondQuota(state, decision.record) ?? decision;
}

// Memory quota for created rows, layouts and events: they stay in memory until they are deleted, so
// the operator bounds their sum. Commands without growth always pass.

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

/** The refusal of a change beyond the quota; null within it. Cost: as that of applying it. */
function refuseBeyondQuota(state: State, record: LogRecord | null): Refusal | null {
  if (record?.type !== RecordType.CATALOG) return null;
  const { catalog, quota } = state;
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
  if (bytes > 0 && state.used.catalog + bytes > quota.catalog) return FULL_CATALOG;
  return eventBytes > 0 && state.used.events + eventBytes > quota.events ? FULL_EVENTS : null;
}

/** Only objects without a zone count. */
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

/** Seats of the event after its row is stored, less its seats now. */
function seatsOfEvent(state: State, row: { schemaId: number; partition: number }): number {
  const now = state.partitions.layoutOf(row.partition)?.seatCount ?? 0;
  return state.layoutOf(row.schemaId).seatCount - now;
}

function eventsOf({ events }: Catalog, schemaId: number): number {
  let count = 0;
  for (const event of events.values()) if (event.schemaId === schemaId) count += 1;
  return count;
}
