/**
 * Sorts seats, or any numbered rows, by keys that are whole numbers: by their digits, so that no
 * two keys are compared. Two hundred thousand rows take a few milliseconds for each key.
 */
import { lastValue } from "../inventory/steps.ts";
import { nameKey } from "../layout/layout.ts";

const DIGIT_BITS = 16;
const DIGITS = 2 ** DIGIT_BITS;
/** Of a key below 2^53: the digits that four right shifts give. */
const DIGIT_COUNT = 4;

export interface SortKey {
  /** A whole number from 0 to 2^53 - 1. */
  readonly keyOf: (row: number) => number;
  readonly descending: boolean;
}

/** Memory that all passes of a sort share. */
interface Scratch {
  readonly rows: readonly [Uint32Array, Uint32Array];
  readonly keys: readonly [Float64Array, Float64Array];
  /** By digit, during a pass: the place of the next row. It grows as needed. */
  next: Uint32Array;
}

/**
 * @param rows - Where all keys are equal, this order remains.
 * @returns The rows in the order of the first key, then of the second, and so on. Each step visits
 * each row once.
 * Cost: O(rows × keys).
 */
export function* sortByKeys(
  rows: Uint32Array,
  keys: readonly SortKey[],
): Generator<void, Uint32Array> {
  const { length } = rows;
  const scratch: Scratch = {
    rows: [new Uint32Array(length), new Uint32Array(length)],
    keys: [new Float64Array(length), new Float64Array(length)],
    next: new Uint32Array(),
  };
  let sorted = rows;
  // From the last key to the first, since each pass keeps the order of the ones before it.
  for (const key of keys.toReversed()) sorted = yield* sortByKey(sorted, key, scratch);
  return sorted;
}

function* sortByKey(
  rows: Uint32Array,
  { keyOf, descending }: SortKey,
  scratch: Scratch,
): Generator<void, Uint32Array> {
  let keys = scratch.keys[0];
  const [lowest, highest] = readKeys(rows, keyOf, keys);
  // Offsets from one end have few digits, and turn the order around.
  for (let i = 0; i < keys.length; i++)
    keys[i] = descending ? highest - keys[i]! : keys[i]! - lowest;
  let sorted = rows;
  for (let digit = 0; digit < DIGIT_COUNT; digit++) {
    const unit = 2 ** (digit * DIGIT_BITS);
    if (highest - lowest < unit) break;
    yield;
    const digits = Math.min(DIGITS, Math.floor((highest - lowest) / unit) + 1);
    const from = { rows: sorted, keys };
    sorted = otherOf(scratch.rows, sorted);
    keys = otherOf(scratch.keys, keys);
    if (scratch.next.length <= digits) scratch.next = new Uint32Array(digits + 1);
    const next = scratch.next.subarray(0, digits + 1).fill(0);
    sortByDigit(from, { rows: sorted, keys }, { unit, next });
  }
  yield;
  return sorted;
}

function otherOf<Column>([first, second]: readonly [Column, Column], column: Column): Column {
  return column === first ? second : first;
}

/** @returns The lowest and the highest key. */
function readKeys(
  rows: Uint32Array,
  keyOf: SortKey["keyOf"],
  keys: Float64Array,
): readonly [number, number] {
  let lowest = Infinity;
  let highest = 0;
  for (let i = 0; i < rows.length; i++) {
    const key = keyOf(rows[i]!);
    keys[i] = key;
    if (key < lowest) lowest = key;
    if (key > highest) highest = key;
  }
  return [lowest, highest];
}

/** Rows, and by index the key of each. */
interface Keyed {
  readonly rows: Uint32Array;
  readonly keys: Float64Array;
}

/** Sorts by one digit and keeps the order of rows with the same digit. @param next - Zeros. */
function sortByDigit(
  { rows, keys }: Keyed,
  sorted: Keyed,
  { unit, next }: { readonly unit: number; readonly next: Uint32Array },
): void {
  const digitOf = (key: number) => Math.floor(key / unit) % DIGITS;
  for (const key of keys) next[digitOf(key) + 1]! += 1;
  for (let digit = 0; digit < next.length - 1; digit++) next[digit + 1]! += next[digit]!;
  for (let i = 0; i < rows.length; i++) {
    const place = next[digitOf(keys[i]!)]!++;
    sorted.rows[place] = rows[i]!;
    sorted.keys[place] = keys[i]!;
  }
}

// The ranks of names and labels in lists, in their natural order.

/** A few milliseconds of work. */
const KEYS_PER_STEP = 2_000;

/** The rank of each name in the natural order; equal names have the same rank. */
export function ranksOf(names: readonly string[]): Uint32Array {
  return lastValue(rankInSteps(names));
}

/** Does what `ranksOf` does, in steps. */
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

/** Sorts texts by code unit, or numbers: pieces of them, which are then merged. */
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
