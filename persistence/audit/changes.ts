/**
 * The changes of an event, from the transitions in the trail. The same records in memory give the
 * same changes: see `recent-changes.ts`.
 */
import type { EventStatus } from "../../engine/catalog.ts";
import { Move, SeatState } from "../../engine/inventory/states.ts";
import {
  type AreaAfter,
  AuditGap,
  byId,
  type ChangeColumns,
  type ChangePage,
  type EventChange,
  listedState,
  PLACES_PER_PAGE_MAX,
  placesOf,
  type SeatAfter,
  type TrailExtent,
} from "../../engine/queries/history.ts";
import type { SqlFile, SqlRow } from "../disk/sqlite.ts";
import { nextBlock, nextHead } from "./block-file.ts";
import type { Block } from "./block.ts";
import { timeOf } from "./file.ts";
import { isAreaKey, nameOfCall, placeOf } from "./rows.ts";
import type { Slices } from "./slices.ts";

interface ChangeSource extends TrailedEvent {
  readonly extent: TrailExtent;
  readonly sliceRows: number;
}

type Facts = Omit<EventChange, "previous">;

/** Moves whose hold type is part of the change. */
const TYPED: ReadonlySet<number> = new Set([Move.LOCK, Move.EXPIRE, Move.DIRECT_SALE]);

/** Cost: O(transitions of the page). */
export function* changePage(
  source: ChangeSource,
  { since, limit }: { readonly since: number; readonly limit: number },
): Slices<ChangePage | AuditGap> {
  const { firstSequence, lastSequence } = source.extent;
  if (since < firstSequence - 1) return AuditGap.TOO_EARLY;
  if (since > lastSequence) return AuditGap.TOO_LATE;
  let previous = lastChangeOf(source, since);
  const changes: EventChange[] = [];
  let places = 0;
  let work = 0;
  for (const facts of changesAfter(source, since, limit)) {
    if (changes.length === limit || places >= PLACES_PER_PAGE_MAX) {
      return { changes, hasMore: true };
    }
    const change = { ...facts, previous };
    previous = change.sequence;
    changes.push(change);
    places += placesOf(change);
    work += placesOf(change);
    if (work < source.sliceRows) continue;
    work = 0;
    yield;
  }
  return { changes, hasMore: false };
}

/** Joins the records with transitions and those that changed only rows of the catalog. */
function* changesAfter(source: ChangeSource, since: number, limit: number): Generator<Facts, void> {
  const versions = nextVersions(source, since, limit + 1);
  const ends = new HoldEnds(source);
  let next = 0;
  for (const { block, record } of recordsAfter(source, since)) {
    const sequence = block.sequenceOf(record);
    for (; next < versions.length && versions[next]! < sequence; next++) {
      yield changeOfVersion(source, versions[next]!);
    }
    const moved = changeOfRecord(block, record, ends);
    if (versions[next] !== sequence) yield moved;
    else {
      next += 1;
      const { status, bookable } = catalogChange(source, sequence);
      yield { ...moved, status, bookable };
    }
  }
  for (; next < versions.length; next++) yield changeOfVersion(source, versions[next]!);
}

function* recordsAfter(
  { sql, partition }: TrailedEvent,
  since: number,
): Generator<{ readonly block: Block; readonly record: number }, void> {
  let first = since + 1;
  for (;;) {
    const found = nextBlock(sql, partition, first);
    if (found === undefined) return;
    const { block, last } = found;
    for (let record = block.recordOf(first); record < block.recordCount; record++) {
      yield { block, record };
    }
    first = last + 1;
  }
}

function changeOfVersion(source: TrailedEvent, sequence: number): Facts {
  const nothing = { session: "", holdType: "", seats: [], areas: [] };
  return { sequence, ...catalogChange(source, sequence), ...nothing };
}

function changeOfRecord(block: Block, record: number, ends: HoldEnds): Facts {
  const code = block.callOf(record);
  const { endsAtMs, isNamed } = block.factsOfCall(record);
  const seats: SeatAfter[] = [];
  const areas = new Map<number, AreaAfter>();
  const [start, end] = [block.rowsStart(record), block.rowsEnd(record)];
  for (let row = start; row < end; row++) {
    const key = block.keyOf(row);
    const id = placeOf(key);
    const move = block.moveOf(record, row);
    if (isAreaKey(key)) {
      const [active, locked, sold, blocked] = move.counts!;
      areas.set(id, { id, active, locked, sold, blocked });
      continue;
    }
    const state = listedState(move.state);
    const isHeld = move.state === SeatState.LOCKED;
    const endMs = !isHeld ? 0 : code === Move.LOCK ? endsAtMs : ends.of(move.hold);
    const expiresAtMs = endMs || null;
    seats.push({ id, state, priceId: move.priceId || null, expiresAtMs });
  }
  const first = block.moveOf(record, start);
  const isOwn = code <= Move.EXPIRE && isNamed;
  return {
    ...block.atOf(record),
    call: nameOfCall(code),
    session: isOwn ? first.session : "",
    holdType: TYPED.has(code) ? first.holdType : "",
    seats: seats.sort(byId),
    areas: [...areas.values()].sort(byId),
    status: null,
    bookable: null,
  };
}

/** When holds end, which the record of their lock says. */
class HoldEnds {
  readonly #event: TrailedEvent;
  readonly #known = new Map<number, number>();

  constructor(event: TrailedEvent) {
    this.#event = event;
  }

  /** @param hold - The record of the lock. @returns 0 for never, or when it is not known. */
  of(hold: number): number {
    if (hold === 0) return 0;
    let endMs = this.#known.get(hold);
    if (endMs === undefined) this.#known.set(hold, (endMs = this.#read(hold)));
    return endMs;
  }

  #read(hold: number): number {
    const { sql, partition } = this.#event;
    const block = nextBlock(sql, partition, hold)?.block;
    if (block === undefined) return 0;
    const record = block.recordOf(hold);
    const isFound = record < block.recordCount && block.sequenceOf(record) === hold;
    return isFound ? block.factsOfCall(record).endsAtMs : 0;
  }
}

// The changes of an event in columns: for a program that goes back in time in its own memory.

/** More would be a long answer. A change is never split. */
export const COLUMN_PLACES_MAX = 50_000;

/** Cost: O(places of the page). */
export function* changeColumns(
  source: ChangeSource,
  since: number,
  placesMax = COLUMN_PLACES_MAX,
): Slices<ChangeColumns | AuditGap> {
  const { firstSequence, lastSequence } = source.extent;
  if (since < firstSequence - 1) return AuditGap.TOO_EARLY;
  if (since > lastSequence) return AuditGap.TOO_LATE;
  const columns = emptyColumns();
  let all = 0;
  let work = 0;
  for (const change of changesAfter(source, since, placesMax)) {
    if (all >= placesMax) return { ...columns, hasMore: true };
    const places = Math.max(1, change.seats.length + change.areas.length);
    all += places;
    columns.sequences.push(change.sequence);
    columns.timesMs.push(change.timeMs);
    columns.calls.push(change.call);
    columns.seatCounts.push(change.seats.length);
    columns.areaCounts.push(change.areas.length);
    for (const { id, state, priceId } of change.seats) {
      columns.seatIds.push(id);
      columns.states.push(state ?? 0);
      columns.priceIds.push(priceId ?? 0);
    }
    columns.areas.push(...change.areas);
    work += places;
    if (work < source.sliceRows) continue;
    work = 0;
    yield;
  }
  return { ...columns, hasMore: false };
}

type Lists = Omit<ChangeColumns, "hasMore">;

function emptyColumns(): { [Name in keyof Lists]: Lists[Name][number][] } {
  return {
    sequences: [],
    timesMs: [],
    calls: [],
    seatCounts: [],
    areaCounts: [],
    seatIds: [],
    states: [],
    priceIds: [],
    areas: [],
  };
}

// Which records changed an event in the catalog: the versions of its row, of its prices, and of its
// organization's `bookingEnabled`.

/** An event in the trail. */
interface TrailedEvent {
  readonly sql: SqlFile;
  readonly partition: number;
  readonly organizationId: number;
}

type CatalogChange = Pick<EventChange, "call" | "timeMs" | "status" | "bookable">;

const LAST_BLOCK = `SELECT last FROM blocks WHERE partition = ? AND last <= ?
  ORDER BY last DESC LIMIT 1`;
const LAST_MAP = `SELECT sequence FROM maps WHERE partition = ? AND sequence <= ?
  ORDER BY sequence DESC LIMIT 1`;
const LIFE = `SELECT min(sequence) AS first,
  min(CASE WHEN status IS NULL THEN sequence END) AS last FROM events WHERE partition = ?`;
const EVENT = "SELECT sequence FROM events WHERE partition = ? AND sequence";
const PRICES = "SELECT DISTINCT sequence FROM prices WHERE partition = ? AND sequence";
const SWITCHES = `SELECT sequence FROM switches
  WHERE owner = 'organization' AND ownerId = ? AND sequence`;
const UP_TO = "<= ? ORDER BY sequence DESC LIMIT 1";
const AFTER = "> ? ORDER BY sequence LIMIT ?";
const VERSIONS = `SELECT * FROM events WHERE partition = ? AND sequence <= ?
  ORDER BY sequence DESC LIMIT 2`;
const ENABLED = `SELECT isOn FROM switches WHERE owner = 'organization' AND ownerId = ?
  AND sequence <= ? ORDER BY sequence DESC LIMIT 1`;
const PRICED = `SELECT 1 FROM prices
  WHERE partition = ? AND sequence = ? AND name IS NOT NULL LIMIT 1`;

/** @returns The last record up to `at` that changed the event; 0 for none. */
export function lastChangeOf(event: TrailedEvent, at: number): number {
  const { sql, partition, organizationId } = event;
  const { first, last } = lifeOf(event);
  const switched = Math.min(at, last);
  const found = [
    sql.row(`${EVENT} ${UP_TO}`, partition, at),
    sql.row(`${PRICES} ${UP_TO}`, partition, at),
    sql.row(`${SWITCHES} ${UP_TO}`, organizationId, switched),
  ].map((row) => Number(row?.["sequence"] ?? 0));
  const newest = Math.max(...found, lastMoveOf(event, at));
  return newest < first ? 0 : newest;
}

function lastMoveOf({ sql, partition }: TrailedEvent, at: number): number {
  const head = nextHead(sql, partition, at);
  if (head !== undefined && head.first <= at) {
    const { block } = nextBlock(sql, partition, at)!;
    return block.sequenceOf(block.recordOf(at + 1) - 1);
  }
  const last = sql.row(LAST_BLOCK, partition, at)?.["last"];
  // When the retention has removed the blocks, a map has their last record, or a later one.
  return Number(last ?? sql.row(LAST_MAP, partition, at)?.["sequence"] ?? 0);
}

/** @returns The first records after `since` that changed the event in the catalog. */
function nextVersions(event: TrailedEvent, since: number, limit: number): number[] {
  const { sql, partition, organizationId } = event;
  const { first, last } = lifeOf(event);
  const switches = sql.list(`${SWITCHES} ${AFTER}`, organizationId, Math.max(since, first), limit);
  const rows = [
    ...sql.list(`${EVENT} ${AFTER}`, partition, since, limit),
    ...sql.list(`${PRICES} ${AFTER}`, partition, since, limit),
    ...switches.filter(({ sequence }) => Number(sequence) < last),
  ];
  const sequences = new Set(rows.map(({ sequence }) => Number(sequence)));
  return [...sequences].sort((a, b) => a - b).slice(0, limit);
}

/** Records of the creation and of the deletion. */
function lifeOf({ sql, partition }: TrailedEvent): { first: number; last: number } {
  const { first, last } = sql.row(LIFE, partition)!;
  return { first: Number(first), last: Number(last ?? Infinity) };
}

/** @param sequence - One of `nextVersions`. */
function catalogChange(event: TrailedEvent, sequence: number): CatalogChange {
  const { sql, partition, organizationId } = event;
  const [newest, second] = sql.list(VERSIONS, partition, sequence);
  const isVersion = newest!["sequence"] === sequence;
  const before = isVersion ? second : newest;
  const isEnabled = (at: number) => sql.row(ENABLED, organizationId, at)?.["isOn"] !== 0;
  const isBookable = (row: SqlRow | undefined, at: number) =>
    row?.["status"] === "PUBLISHED" && isEnabled(at);
  const call = callOf(event, sequence, isVersion ? newest! : null, before);
  const common = { call, timeMs: timeOf(sql, sequence) };
  if (call === "deleteevent") return { ...common, status: null, bookable: null };
  const status = newest!["status"] as EventStatus;
  const bookable = isBookable(newest, sequence);
  const wasBookable = before === undefined ? undefined : isBookable(before, sequence - 1);
  return {
    ...common,
    status: status === before?.["status"] ? null : status,
    bookable: bookable === wasBookable ? null : bookable,
  };
}

/** @param version - The version of the event that the record made; null when it made none. */
function callOf(
  { sql, partition, organizationId }: TrailedEvent,
  sequence: number,
  version: SqlRow | null,
  before: SqlRow | undefined,
): string {
  if (version !== null) {
    if (version["status"] === null) return "deleteevent";
    const isMoved = before !== undefined && version["layoutId"] !== before["layoutId"];
    return isMoved && version["schemaId"] === before["schemaId"] ? "layout" : "event";
  }
  const switched = `${SWITCHES} = ?`;
  if (sql.row(switched, organizationId, sequence) !== undefined) return "event";
  return sql.row(PRICED, partition, sequence) === undefined ? "deleteprice" : "prices";
}
