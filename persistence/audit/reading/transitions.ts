/** Reads a page of the transitions of an event, in slices. */
import {
  AuditGap,
  type TrailExtent,
  type Transition,
  type TransitionPage,
  type TransitionQuery,
} from "../../../engine/queries/audit-trail.ts";
import { lastBefore } from "../file.ts";
import { comparing, isInOrder } from "./order.ts";
import {
  countNext,
  filterOf,
  matchesIn,
  type Range,
  type RowFilter,
  type Searched,
  transitionOf,
} from "./search.ts";
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
