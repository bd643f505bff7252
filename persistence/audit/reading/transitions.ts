/** Reads a page of the transitions of an event, in slices. */
import { type SeatState, STATE_NAMES } from "../../../engine/inventory/states.ts";
import {
  AuditGap,
  type TrailExtent,
  type Transition,
  type TransitionPage,
  type TransitionQuery,
  type TransitionSort,
} from "../../../engine/queries/audit-trail.ts";
import type { ActorKind } from "../../../engine/records.ts";
import type { SqlFile, SqlRow, SqlValue } from "../../disk/sqlite.ts";
import { ACTOR_NAMES, nameOf } from "../file.ts";
import type { Slices } from "./slices.ts";

/** Transitions that one slice reads, and those of one more record: about 20 ms. */
export const SLICE_ROWS = 20_000;
/** A question reads 20 million transitions at most. */
export const SLICES_MAX = 1_000;
/** Transitions that are sorted in memory, about 200 bytes each. */
export const SORTED_MAX = 200_000;
/** Slices with these transitions: the ones that do not match are read too. */
const SORTED_SLICES_MAX = 50;

/** What a page is read from. */
export interface TransitionSource {
  readonly sql: SqlFile;
  readonly partition: number;
  readonly extent: TrailExtent;
  /** `SLICE_ROWS`. */
  readonly sliceRows: number;
}

/** A range of records, inclusive, and the number of transitions in it that match. */
interface Range {
  readonly first: number;
  readonly last: number;
  readonly count: number;
}

interface Conditions {
  /** SQL for the transitions that one index contains in the order of their records. */
  readonly indexed: string;
  readonly indexedValues: readonly SqlValue[];
  /** SQL for those of them that match. */
  readonly all: string;
  readonly allValues: readonly SqlValue[];
}

/** Cost: O(transitions that the filters for place, session and time select). */
export function* transitionPage(
  source: TransitionSource,
  query: TransitionQuery,
): Slices<TransitionPage | AuditGap> {
  const { toSequence = Infinity, toMs = Infinity } = query;
  const { firstSequence, firstTimeMs } = source.extent;
  if (toSequence < firstSequence || toMs < firstTimeMs) return AuditGap.TOO_EARLY;
  const conditions = conditionsOf(source.partition, query);
  const ranges = yield* countRanges(source, query, conditions);
  if (!Array.isArray(ranges)) return ranges;
  const total = ranges.reduce((sum, { count }) => sum + count, 0);
  const transitions = isInOrder(query)
    ? yield* inOrder(source.sql, query, conditions, ranges)
    : inMemory(source.sql, query, conditions, ranges);
  return { transitions, total };
}

/** Counts the transitions that match, one range of records in each slice. */
function* countRanges(
  source: TransitionSource,
  query: TransitionQuery,
  { indexed, indexedValues, all, allValues }: Conditions,
): Slices<Range[] | AuditGap> {
  const { sql, sliceRows } = source;
  const [start, end] = recordsOf(source, query);
  const next = `SELECT sequence FROM transitions WHERE ${indexed} AND sequence BETWEEN ? AND ?
    ORDER BY sequence LIMIT 1 OFFSET ?`;
  const matching = `SELECT count(*) AS count FROM transitions
    WHERE ${all} AND sequence BETWEEN ? AND ?`;
  const ranges: Range[] = [];
  let total = 0;
  for (let first = start, slices = 1; first <= end; slices++) {
    const last = Number(
      sql.row(next, ...indexedValues, first, end, sliceRows)?.["sequence"] ?? end,
    );
    const count = Number(sql.row(matching, ...allValues, first, last)!["count"]);
    if (count > 0) ranges.push({ first, last, count });
    total += count;
    const isLong = total > SORTED_MAX || slices > SORTED_SLICES_MAX;
    if (isLong && !isInOrder(query)) return AuditGap.TOO_MANY;
    if (slices >= SLICES_MAX && last < end) return AuditGap.TOO_LONG;
    first = last + 1;
    yield;
  }
  return ranges;
}

/** Reads only the ranges of the page. */
function* inOrder(
  sql: SqlFile,
  query: TransitionQuery,
  conditions: Conditions,
  ranges: readonly Range[],
): Slices<Transition[]> {
  const { offset, limit, sort } = query;
  const transitions: Transition[] = [];
  let skipped = 0;
  for (const range of sort[0]?.descending === true ? ranges.toReversed() : ranges) {
    const before = Math.max(0, offset - skipped);
    skipped += range.count;
    if (skipped <= offset) continue;
    const page = { offset: before, limit: limit - transitions.length };
    for (const row of read(sql, { ...query, ...page }, conditions, range)) transitions.push(row);
    if (transitions.length >= limit) break;
    yield;
  }
  return transitions;
}

function inMemory(
  sql: SqlFile,
  query: TransitionQuery,
  conditions: Conditions,
  ranges: readonly Range[],
): Transition[] {
  const [first, last] = [ranges[0]?.first, ranges.at(-1)?.last];
  if (first === undefined || last === undefined) return [];
  return read(sql, query, conditions, { first, last });
}

function read(
  sql: SqlFile,
  query: TransitionQuery,
  { all, allValues }: Conditions,
  { first, last }: Pick<Range, "first" | "last">,
): Transition[] {
  const order = orderOf(query);
  const rows = sql.rows(
    `SELECT t.*, r.call, r.actorKind, r.actorId FROM
     (SELECT * FROM transitions t WHERE ${all} AND sequence BETWEEN ? AND ?
      ORDER BY ${order} LIMIT ? OFFSET ?) t
     JOIN records r ON r.sequence = t.sequence ORDER BY ${order}`,
    ...allValues,
    first,
    last,
    query.limit,
    query.offset,
  );
  return Array.from(rows, transitionOf);
}

function conditionsOf(partition: number, query: TransitionQuery): Conditions {
  const { seatId, areaId, session } = query;
  const indexed = ["partition = ?"];
  const indexedValues: SqlValue[] = [partition];
  const more: string[] = [];
  const moreValues: SqlValue[] = [];
  for (const id of [seatId, areaId]) {
    if (id === undefined) continue;
    indexed.push("placeId = ?");
    indexedValues.push(id);
  }
  if (seatId !== undefined) more.push("places IS NULL");
  if (areaId !== undefined) more.push("places IS NOT NULL");
  if (session !== undefined && indexed.length === 1) {
    indexed.push("session <> '' AND session = ?");
    indexedValues.push(session);
  } else if (session !== undefined) {
    // The sign keeps SQLite from using the index of sessions instead of that of places.
    more.push("session <> '' AND +session = ?");
    moreValues.push(session);
  }
  return {
    indexed: indexed.join(" AND "),
    indexedValues,
    all: [...indexed, ...more].join(" AND "),
    allValues: [...indexedValues, ...moreValues],
  };
}

/** Times rise with sequence numbers, so a range of times becomes a range of sequence numbers. */
function recordsOf({ sql, extent }: TransitionSource, query: TransitionQuery): [number, number] {
  const { fromMs, toMs, fromSequence = 0, toSequence = Infinity } = query;
  let first = Math.max(extent.firstSequence, fromSequence);
  let last = Math.min(extent.lastSequence, toSequence);
  if (fromMs !== undefined) first = Math.max(first, lastBefore(sql, fromMs) + 1);
  if (toMs !== undefined) last = Math.min(last, lastBefore(sql, toMs + 1));
  return [first, last];
}

/** @returns The last record before the time, in milliseconds since 1970; 0 when there is none. */
export function lastBefore(sql: SqlFile, timeMs: number): number {
  const last = "SELECT sequence FROM records WHERE timeMs < ? ORDER BY timeMs DESC, sequence DESC";
  return Number(sql.row(`${last} LIMIT 1`, timeMs)?.["sequence"] ?? 0);
}

const ofRecord = (column: string) =>
  `(SELECT ${column} FROM records WHERE records.sequence = t.sequence)`;

/** What each property compares, as SQL. A missing value is NULL or empty, and comes first. */
const SORT_KEYS: Readonly<Record<TransitionSort, string>> = {
  sequence: "t.sequence",
  ordinal: "t.ordinal",
  time: "t.sequence",
  call: ofRecord("call"),
  actorType: nameOf(ACTOR_NAMES, ofRecord("actorKind")),
  actorId: ofRecord("actorId"),
  sessionId: "t.session",
  holdType: "t.holdType",
  holdSequence: "max(t.hold, 0)",
  seatId: "iif(t.places IS NULL, t.placeId, NULL)",
  groupOfSeatsId: "iif(t.places IS NULL, NULL, t.placeId)",
  capacity: "t.places",
  fromState: nameOf(STATE_NAMES, "t.fromState"),
  toState: nameOf(STATE_NAMES, "t.toState"),
  priceId: "t.priceId",
};

/** Times rise with sequence numbers. */
const IN_ORDER: ReadonlySet<TransitionSort> = new Set<TransitionSort>(["sequence", "time"]);

function isInOrder({ sort }: TransitionQuery): boolean {
  return sort.length === 0 || IN_ORDER.has(sort[0]!.property);
}

function orderOf({ sort }: TransitionQuery): string {
  const terms: string[] = [];
  for (const { property, descending } of sort) {
    const direction = descending ? " DESC" : "";
    if (IN_ORDER.has(property)) {
      return [...terms, `t.sequence${direction}`, `t.ordinal${direction}`].join(", ");
    }
    terms.push(SORT_KEYS[property] + direction);
  }
  return [...terms, "t.sequence", "t.ordinal"].join(", ");
}

function transitionOf(row: SqlRow): Transition {
  const places = row["places"] as number | null;
  return {
    sequence: Number(row["sequence"]),
    ordinal: Number(row["ordinal"]),
    timeMs: Number(row["timeMs"]),
    call: String(row["call"]),
    actor: { kind: row["actorKind"] as ActorKind, id: Number(row["actorId"]) },
    session: String(row["session"]),
    holdType: String(row["holdType"]),
    placeId: Number(row["placeId"]),
    isArea: places !== null,
    from: row["fromState"] as SeatState | null,
    to: row["toState"] as SeatState | null,
    places,
    priceId: Number(row["priceId"]),
    hold: Number(row["hold"]),
  };
}
