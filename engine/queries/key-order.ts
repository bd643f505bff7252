/**
 * Sorts seats, or any numbered rows, by keys that are whole numbers: by their digits, so that no
 * two keys are compared. Two hundred thousand rows take a few milliseconds for each key.
 */

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
