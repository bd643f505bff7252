/** Finds the transitions of an event that match a filter. */
import type { Transition, TransitionQuery } from "../../../engine/queries/audit-trail.ts";
import type { SqlFile } from "../../disk/sqlite.ts";
import type { Block } from "../blocks/block.ts";
import { nextBlock, nextHead } from "../blocks/block-file.ts";
import { findInRun, LookupKind, nextRun, type Run, sessionKey } from "../blocks/lookups.ts";
import { isAreaKey, keyOf, nameOfCall, placeOf } from "../blocks/rows.ts";

/** Matches of a range. A page reads a block for each of them, in the worst case. */
const RANGE_MATCHES = 200;
/** What reading a block costs, in rows. */
const BLOCK_WORK = 200;
/** Records of a session that are checked at once. */
const CANDIDATES_MAX = 20_000;

/** The event whose transitions are searched. */
export interface Searched {
  readonly sql: SqlFile;
  readonly partition: number;
}

/** What a transition must have; null for anything. */
export interface RowFilter {
  /** The key of a seat or an area. */
  readonly key: number | null;
  readonly session: string | null;
}

/** A range of records, inclusive, and the number of transitions in it that match. */
export interface Range extends Run {
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
export function filterOf({ seatId, areaId, session }: TransitionQuery): RowFilter | null {
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
export function countNext(source: Searched, filter: RowFilter, range: Run): Counted | null {
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
export function matchesIn(
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

export function transitionOf({ block, record, row }: Match): Transition {
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
