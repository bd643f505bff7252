/** Reads a page of the transitions of an event, in slices. */
import { type SeatState, STATE_NAMES } from "../../engine/inventory/states.ts";
import {
  AuditGap,
  type TrailExtent,
  type Transition,
  type TransitionPage,
  type TransitionQuery,
  type TransitionSort,
} from "../../engine/queries/history.ts";
import type { SqlFile } from "../disk/sqlite.ts";
import { nextBlock, nextHead } from "./block-file.ts";
import type { Block } from "./block.ts";
import { ACTOR_NAMES, lastBefore, readTrail } from "./file.ts";
import { findInRun, LookupKind, nextRun, type Run, sessionKey } from "./lookups.ts";
import { isAreaKey, keyOf, nameOfCall, placeOf } from "./rows.ts";
import type { Slices } from "./slices.ts";

/** A question reads 20 million transitions at most. */
export const SLICES_MAX = 1_000;
/** Transitions that are sorted in memory, about 200 bytes each. */
export const SORTED_MAX = 200_000;
/** Slices with these transitions: the ones that do not match are read too. */
const SORTED_SLICES_MAX = 50;

/** What a page is read from. */
interface TransitionSource extends Searched {
  readonly extent: TrailExtent;
  /** `SLICE_ROWS`. */
  readonly sliceRows: number;
}

interface ReadSource extends TransitionSource {
  readonly filter: RowFilter;
}

/** Cost: O(transitions that the filters for place, session and time select). */
export function* transitionPage(
  source: TransitionSource,
  query: TransitionQuery,
): Slices<TransitionPage | AuditGap> {
  const { toSequence = Infinity, toMs = Infinity } = query;
  const { firstSequence, firstTimeMs } = source.extent;
  if (toSequence < firstSequence || toMs < firstTimeMs) return AuditGap.TOO_EARLY;
  const filter = filterOf(query);
  if (filter === null) return { transitions: [], total: 0 };
  const ranges = yield* countRanges(source, query, filter);
  if (!Array.isArray(ranges)) return ranges;
  yield;
  const total = ranges.reduce((sum, { count }) => sum + count, 0);
  const read = { ...source, filter };
  const transitions = isInOrder(query)
    ? yield* inOrder(read, query, ranges)
    : yield* inMemory(read, query, ranges);
  return { transitions, total };
}

/** Counts the transitions that match. */
function* countRanges(
  source: TransitionSource,
  query: TransitionQuery,
  filter: RowFilter,
): Slices<Range[] | AuditGap> {
  const { sliceRows } = source;
  const [start, last] = recordsOf(source, query);
  const ranges: Range[] = [];
  let [total, read, work] = [0, 0, 0];
  for (let first = start; first <= last;) {
    const counted = countNext(source, filter, { first, last });
    if (counted === null) break;
    for (const range of counted.ranges) {
      if (range.count > 0) ranges.push(range);
      total += range.count;
    }
    read += counted.read;
    const isLong = total > SORTED_MAX || read > SORTED_SLICES_MAX * sliceRows;
    if (isLong && !isInOrder(query)) return AuditGap.TOO_MANY;
    first = counted.last + 1;
    if (read > SLICES_MAX * sliceRows && first <= last) return AuditGap.TOO_LONG;
    work = yield* pause(work + counted.work, sliceRows);
  }
  return ranges;
}

/** Ends as many slices as the work was worth. @returns The work that is left. */
function* pause(work: number, sliceRows: number): Slices<number> {
  let left = work;
  for (; left >= sliceRows; left -= sliceRows) yield;
  return left;
}

/** Reads only the ranges of the page. */
function* inOrder(
  source: ReadSource,
  { offset, limit, sort }: TransitionQuery,
  ranges: readonly Range[],
): Slices<Transition[]> {
  const isReversed = sort[0]?.descending === true;
  const transitions: Transition[] = [];
  let [skipped, work] = [0, 0];
  for (const range of isReversed ? ranges.toReversed() : ranges) {
    const before = Math.max(0, offset - skipped);
    skipped += range.count;
    if (skipped <= offset) continue;
    const { matches, work: added } = matchesIn(source, source.filter, range);
    if (isReversed) matches.reverse();
    const end = before + limit - transitions.length;
    for (const match of matches.slice(before, end)) transitions.push(transitionOf(match));
    if (transitions.length >= limit) break;
    work = yield* pause(work + added, source.sliceRows);
  }
  return transitions;
}

function* inMemory(
  source: ReadSource,
  query: TransitionQuery,
  ranges: readonly Range[],
): Slices<Transition[]> {
  const transitions: Transition[] = [];
  let work = 0;
  for (const range of ranges) {
    const { matches, work: added } = matchesIn(source, source.filter, range);
    for (const match of matches) transitions.push(transitionOf(match));
    work = yield* pause(work + added, source.sliceRows);
  }
  transitions.sort(comparing(query));
  return transitions.slice(query.offset, query.offset + query.limit);
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

// Finds the transitions of an event that match a filter.

/** Matches of a range. A page reads a block for each of them, in the worst case. */
const RANGE_MATCHES = 200;
/** What reading a block costs, in rows. */
const BLOCK_WORK = 200;
/** Records of a session that are checked at once. */
const CANDIDATES_MAX = 20_000;

/** The event whose transitions are searched. */
interface Searched {
  readonly sql: SqlFile;
  readonly partition: number;
}

/** What a transition must have; null for anything. */
interface RowFilter {
  /** The key of a seat or an area. */
  readonly key: number | null;
  readonly session: string | null;
}

/** A range of records, inclusive, and the number of transitions in it that match. */
interface Range extends Run {
  readonly count: number;
}

/** Matches in the records up to `last`. */
interface Counted {
  readonly last: number;
  readonly ranges: readonly Range[];
  /** Transitions that had to be looked at. */
  readonly read: number;
  /** What it cost, in rows. */
  readonly work: number;
}

/** A row that matches. */
interface Match {
  readonly block: Block;
  readonly record: number;
  readonly row: number;
}

/** @returns null when nothing can match. */
function filterOf({ seatId, areaId, session }: TransitionQuery): RowFilter | null {
  if (session === "" || (seatId !== undefined && areaId !== undefined)) return null;
  const placeId = seatId ?? areaId;
  const key = placeId === undefined ? null : keyOf(placeId, areaId !== undefined);
  return { key, session: session ?? null };
}

const isSearched = ({ key, session }: RowFilter) => key !== null || session !== null;

/**
 * Counts the matches from the first record on, as far as is done at once: in a run, or in a block.
 * @returns null when there are no more transitions in the range.
 */
function countNext(source: Searched, filter: RowFilter, range: Run): Counted | null {
  const { sql, partition } = source;
  const run = isSearched(filter) ? nextRun(sql, partition, range.first) : undefined;
  if (run !== undefined) {
    const part = { first: range.first, last: Math.min(run.last, range.last) };
    return countInRun(source, filter, { run, part });
  }
  const head = nextHead(sql, partition, range.first);
  if (head === undefined || head.first > range.last) return null;
  const part = { first: range.first, last: Math.min(head.last, range.last) };
  if (!isSearched(filter) && head.first >= range.first && head.last <= range.last) {
    return {
      last: part.last,
      ranges: [{ ...part, count: head.rows }],
      read: head.rows,
      work: head.rows,
    };
  }
  const { matches, work } = matchesIn(source, filter, part);
  const count = matches.length;
  return { last: part.last, ranges: [{ ...part, count }], read: count, work };
}

/** @param part - The records of the run that are searched. */
function countInRun(
  source: Searched,
  filter: RowFilter,
  { run, part }: { readonly run: Run; readonly part: Run },
): Counted {
  const isExact = filter.session === null;
  const all = candidatesIn(source, filter, run).filter((one) => isWithin(one, part));
  const found = isExact ? all : all.slice(0, CANDIDATES_MAX);
  const last = found.length === all.length ? part.last : found.at(-1)!;
  const ranges: Range[] = [];
  let work = BLOCK_WORK + found.length;
  for (let start = 0, end = 0; start < found.length; start = end) {
    end = Math.min(start + RANGE_MATCHES, found.length);
    while (found[end] === found[end - 1]) end += 1;
    const range = { first: found[start]!, last: found[end - 1]! };
    if (isExact) {
      ranges.push({ ...range, count: end - start });
    } else {
      const checked = matchesIn(source, filter, range);
      ranges.push({ ...range, count: checked.matches.length });
      work += checked.work;
    }
  }
  return { last, ranges, read: found.length, work };
}

/** @returns The records of the run that may match, in order. */
function candidatesIn({ sql, partition }: Searched, filter: RowFilter, run: Run): number[] {
  const { key, session } = filter;
  const { PLACE, SESSION } = LookupKind;
  const wanted = key === null ? { kind: SESSION, key: sessionKey(session!) } : { kind: PLACE, key };
  return findInRun(sql, partition, run, wanted);
}

const isWithin = (sequence: number, { first, last }: Run) => sequence >= first && sequence <= last;

/** @param range - Within one run, or of one block. */
function matchesIn(
  source: Searched,
  filter: RowFilter,
  range: Run,
): { readonly matches: Match[]; readonly work: number } {
  const { sql, partition } = source;
  const run = isSearched(filter) ? nextRun(sql, partition, range.first) : undefined;
  const candidates =
    run === undefined
      ? null
      : candidatesIn(source, filter, run).filter((one) => isWithin(one, range));
  const matches: Match[] = [];
  let work = 0;
  let next = candidates === null ? range.first : candidates[0];
  for (let i = 0; next !== undefined && next <= range.last;) {
    const found = nextBlock(sql, partition, next);
    if (found === undefined) break;
    const { block, last } = found;
    const accepts = acceptor(block, filter);
    const add = (record: number) => {
      const end = block.rowsEnd(record);
      for (let row = block.rowsStart(record); row < end; row++, work++) {
        if (accepts(row)) matches.push({ block, record, row });
      }
    };
    work += BLOCK_WORK;
    if (candidates === null) {
      const end = block.recordOf(range.last + 1);
      for (let record = block.recordOf(next); record < end; record++) add(record);
      next = last + 1;
      continue;
    }
    for (; i < candidates.length && candidates[i]! <= last; i++) {
      if (candidates[i] !== candidates[i - 1]) add(block.recordOf(candidates[i]!));
    }
    next = candidates[i];
  }
  return { matches, work };
}

/** @returns Whether a row of the block matches. */
function acceptor(block: Block, { key, session }: RowFilter): (row: number) => boolean {
  if (key === null && session === null) return () => true;
  if (session === null) return (row) => block.keyOf(row) === key;
  const index = block.texts.indexOf(session);
  if (key === null) return (row) => block.sessionIndexOf(row) === index;
  return (row) => block.keyOf(row) === key && block.sessionIndexOf(row) === index;
}

function transitionOf({ block, record, row }: Match): Transition {
  const key = block.keyOf(row);
  const { from, state, priceId, hold, session, holdType, places } = block.moveOf(record, row);
  return {
    ...block.atOf(record),
    ordinal: row - block.rowsStart(record),
    call: nameOfCall(block.callOf(record)),
    actor: block.actorOf(record),
    session,
    holdType,
    placeId: placeOf(key),
    isArea: isAreaKey(key),
    from,
    to: state,
    places,
    priceId,
    hold,
  };
}

// The order in which transitions are listed.

/** Times rise with sequence numbers. */
const IN_ORDER: ReadonlySet<TransitionSort> = new Set<TransitionSort>(["sequence", "time"]);

type Key = number | string | null;

/** What each property compares. A missing value is null or empty, and comes first. */
const SORT_KEYS: Readonly<Record<TransitionSort, (row: Transition) => Key>> = {
  sequence: ({ sequence }) => sequence,
  ordinal: ({ ordinal }) => ordinal,
  time: ({ sequence }) => sequence,
  call: ({ call }) => call,
  actorType: ({ actor }) => ACTOR_NAMES[actor.kind],
  actorId: ({ actor }) => actor.id,
  sessionId: ({ session }) => session,
  holdType: ({ holdType }) => holdType,
  holdSequence: ({ hold }) => Math.max(hold, 0),
  seatId: ({ placeId, isArea }) => (isArea ? null : placeId),
  groupOfSeatsId: ({ placeId, isArea }) => (isArea ? placeId : null),
  capacity: ({ places }) => places,
  fromState: ({ from }) => (from === null ? null : STATE_NAMES[from]),
  toState: ({ to }) => (to === null ? null : STATE_NAMES[to]),
  priceId: ({ priceId }) => priceId,
};

/** Whether the order is that of the records, or its reverse. */
function isInOrder({ sort }: TransitionQuery): boolean {
  return sort.length === 0 || IN_ORDER.has(sort[0]!.property);
}

function comparing({ sort }: TransitionQuery): (a: Transition, b: Transition) => number {
  return (a, b) => {
    const bySequence = a.sequence - b.sequence || a.ordinal - b.ordinal;
    for (const { property, descending } of sort) {
      const valueOf = SORT_KEYS[property];
      const order = IN_ORDER.has(property) ? bySequence : compare(valueOf(a), valueOf(b));
      if (order !== 0) return descending ? -order : order;
    }
    return bySequence;
  };
}

function compare(a: Key, b: Key): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? -1 : 1;
  return typeof a === "number" ? a - Number(b) : compareText(a, String(b));
}

/** By code point, as UTF-8 is. */
function compareText(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  for (let i = 0; i < end; i++) {
    const [one, other] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (one !== other) return rankOf(one) - rankOf(other);
  }
  return a.length - b.length;
}

/** Surrogates stand for characters after all others. */
const rankOf = (unit: number) => (unit >= 0xd800 && unit < 0xe000 ? unit + 0x1_0000 : unit);

// Lists the transitions of the trail in words, for people.

/** A transition with names instead of codes. */
export interface HistoryEntry {
  readonly eventId: string;
  readonly sequence: number;
  readonly ordinal: number;
  /** In UTC. */
  readonly time: string;
  readonly call: string;
  readonly actor: string;
  readonly actorId: number;
  readonly session: string;
  readonly holdType: string;
  readonly hold: number;
  readonly placeId: number;
  /** Null for a seat. */
  readonly places: number | null;
  readonly fromState: string | null;
  readonly toState: string | null;
  readonly priceId: number;
}

/**
 * Lists the events in the order in which they were created, each with its transitions in order.
 * @param eventId - Only this event. @throws Malformed, SqlFault.
 */
export function* historyOf(
  sql: SqlFile,
  storeId: string,
  eventId?: string,
): Generator<HistoryEntry, void> {
  // The thread that keeps the trail has not opened the new file yet.
  if (sql.row("SELECT 1 FROM sqlite_schema") === undefined) return;
  readTrail(sql, storeId);
  const events = "SELECT DISTINCT partition, eventId FROM events ORDER BY partition";
  for (const row of sql.list(events)) {
    if (eventId !== undefined && row["eventId"] !== eventId) continue;
    yield* historyOfEvent(sql, Number(row["partition"]), String(row["eventId"]));
  }
}

function* historyOfEvent(
  sql: SqlFile,
  partition: number,
  eventId: string,
): Generator<HistoryEntry, void> {
  for (let next = 0; ;) {
    const found = nextBlock(sql, partition, next);
    if (found === undefined) return;
    const { block, last } = found;
    for (let record = block.recordOf(next); record < block.recordCount; record++) {
      const end = block.rowsEnd(record);
      for (let row = block.rowsStart(record); row < end; row++) {
        const {
          timeMs,
          actor,
          isArea: _,
          from,
          to,
          ...rest
        } = transitionOf({ block, record, row });
        yield {
          eventId,
          ...rest,
          time: new Date(timeMs).toISOString().slice(0, -1),
          actor: ACTOR_NAMES[actor.kind],
          actorId: actor.id,
          fromState: nameOf(from),
          toState: nameOf(to),
        };
      }
    }
    next = last + 1;
  }
}

function nameOf(state: SeatState | null): string | null {
  return state === null ? null : STATE_NAMES[state];
}
