/**
 * The order of lists. Keys are whole numbers, so rows go into buckets by arithmetic: finding a page
 * among two hundred thousand rows takes a few milliseconds, in steps.
 */
import { drain } from "../inventory/steps.ts";
import { nameKey } from "../layout/layout.ts";

export interface SortKey {
  /** A whole number from 0 to 2^53 - 1. */
  readonly keyOf: (row: number) => number;
  readonly descending: boolean;
}

/** So few rows are compared with each other: well under a millisecond. */
const COMPARED_MAX = 1_000;

/**
 * The rows from `from` to before `to` in the order of the first key, then of the second, and so on.
 * Only rows in the buckets of the page are sorted further: of 200,000 seats in four states, none.
 *
 * @param rows - Where all keys are equal, this order remains.
 * Cost: O(rows × keys); each step visits each row once.
 */
export function* pageOf(
  rows: Uint32Array,
  keys: readonly SortKey[],
  from: number,
  to: number,
): Generator<void, Uint32Array> {
  const [key, ...rest] = keys;
  if (key === undefined || from >= rows.length) return rows.subarray(from, to);
  if (rows.length <= COMPARED_MAX) return compareAll(rows, keys).subarray(from, to);
  const offsets = new Float64Array(rows.length);
  const range = readOffsets(rows, key, offsets);
  yield;
  if (range === 0) return yield* pageOf(rows, rest, from, to);
  // As many buckets as rows at most, each for keys of a range of this width.
  const width = Math.floor(range / rows.length) + 1;
  const { bucketOf, ends } = countBuckets(offsets, range, width);
  yield;
  const first = ends.findIndex((end) => end > from);
  const last = ends.findIndex((end) => end >= Math.min(to, rows.length));
  const skipped = first === 0 ? 0 : ends[first - 1]!;
  const gathered = new Uint32Array(ends[last]! - skipped);
  const next = Uint32Array.from(ends.subarray(first, last + 1), (_, i) =>
    i === 0 ? 0 : ends[first + i - 1]! - skipped,
  );
  for (let i = 0; i < rows.length; i++) {
    const bucket = bucketOf[i]! - first;
    if (bucket >= 0 && bucket < next.length) gathered[next[bucket]!++] = rows[i]!;
  }
  yield;
  const page = new Uint32Array(Math.min(to, rows.length) - from);
  let [start, count] = [0, 0];
  for (const end of next) {
    const [low, high] = [Math.max(from - skipped, start), Math.min(to - skipped, end)];
    const bucket = gathered.subarray(start, end);
    const sorted = yield* pageOf(bucket, width === 1 ? rest : keys, low - start, high - start);
    page.set(sorted, count);
    count += sorted.length;
    start = end;
  }
  return page;
}

/** @returns By row: its bucket; and by bucket: the rows in it and in those before. */
function countBuckets(offsets: Float64Array, range: number, width: number) {
  const perOffset = 1 / width;
  const bucketOf = new Uint32Array(offsets.length);
  const ends = new Uint32Array(Math.floor(range * perOffset) + 1);
  for (let i = 0; i < offsets.length; i++) {
    const bucket = Math.floor(offsets[i]! * perOffset);
    bucketOf[i] = bucket;
    ends[bucket]! += 1;
  }
  for (let i = 1; i < ends.length; i++) ends[i]! += ends[i - 1]!;
  return { bucketOf, ends };
}

function compareAll(rows: Uint32Array, keys: readonly SortKey[]): Uint32Array {
  const columns = keys.map(({ keyOf }) => Float64Array.from(rows, keyOf));
  const order = Uint32Array.from(rows.keys()).sort((a, b) => {
    for (const [i, column] of columns.entries()) {
      const difference = column[a]! - column[b]!;
      if (difference !== 0) return keys[i]!.descending ? -difference : difference;
    }
    return a - b;
  });
  return order.map((i) => rows[i]!);
}

/**
 * Writes the distance of each row's key from the first key in order, so descending keys rise.
 *
 * @returns The largest distance.
 */
function readOffsets(
  rows: Uint32Array,
  { keyOf, descending }: SortKey,
  offsets: Float64Array,
): number {
  let [lowest, highest] = [Infinity, 0];
  for (let i = 0; i < rows.length; i++) {
    const key = keyOf(rows[i]!);
    offsets[i] = key;
    if (key < lowest) lowest = key;
    if (key > highest) highest = key;
  }
  for (let i = 0; i < rows.length; i++) {
    offsets[i] = descending ? highest - offsets[i]! : offsets[i]! - lowest;
  }
  return highest - lowest;
}

// The ranks of names and labels in lists, in their natural order.

/** A few milliseconds of work. */
const KEYS_PER_STEP = 2_000;

/** The rank of each name in the natural order; equal names have the same rank. */
export function ranksOf(names: readonly string[]): Uint32Array {
  return drain(rankInSteps(names));
}

/** `ranksOf` in steps. */
export function* rankInSteps(names: readonly string[]): Generator<void, Uint32Array> {
  const keyOf = new Map<string, string>();
  for (const [i, name] of names.entries()) {
    if (!keyOf.has(name)) keyOf.set(name, nameKey(name));
    if (i % KEYS_PER_STEP === KEYS_PER_STEP - 1) yield;
  }
  const sorted = yield* sortInSteps([...new Set(keyOf.values())]);
  const rankOf = new Map(sorted.map((key, rank) => [key, rank]));
  yield;
  return Uint32Array.from(names, (name) => rankOf.get(keyOf.get(name)!)!);
}

/** Sorts texts by code unit, or numbers: in pieces, then merged. */
export function* sortInSteps<Key extends number | string>(
  keys: readonly Key[],
): Generator<void, readonly Key[]> {
  let pieces: (readonly Key[])[] = [];
  for (let from = 0; from < keys.length; from += KEYS_PER_STEP) {
    pieces.push(keys.slice(from, from + KEYS_PER_STEP).sort(compare));
    yield;
  }
  while (pieces.length > 1) {
    const merged: (readonly Key[])[] = [];
    for (let i = 0; i < pieces.length; i += 2) {
      merged.push(yield* merge(pieces[i]!, pieces[i + 1] ?? []));
    }
    pieces = merged;
  }
  return pieces[0] ?? [];
}

function* merge<Key extends number | string>(
  first: readonly Key[],
  second: readonly Key[],
): Generator<void, readonly Key[]> {
  const merged: Key[] = [];
  let [a, b] = [0, 0];
  while (a < first.length || b < second.length) {
    const isFirst = b === second.length || (a < first.length && first[a]! <= second[b]!);
    merged.push(isFirst ? first[a++]! : second[b++]!);
    if (merged.length % KEYS_PER_STEP === 0) yield;
  }
  return merged;
}

function compare(a: number | string, b: number | string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
