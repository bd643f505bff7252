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
  let sorted = rows;
  // From the last key to the first, since each pass keeps the order of the ones before it.
  for (const key of keys.toReversed()) sorted = yield* sortByKey(sorted, key);
  return sorted;
}

function* sortByKey(
  rows: Uint32Array,
  { keyOf, descending }: SortKey,
): Generator<void, Uint32Array> {
  const keys = new Float64Array(rows.length);
  const [lowest, highest] = readKeys(rows, keyOf, keys);
  // Offsets from one end have few digits, and turn the order around.
  for (let i = 0; i < keys.length; i++)
    keys[i] = descending ? highest - keys[i]! : keys[i]! - lowest;
  let sorted = rows;
  let sortedKeys: Float64Array = keys;
  for (let digit = 0; digit < DIGIT_COUNT; digit++) {
    const unit = 2 ** (digit * DIGIT_BITS);
    if (highest - lowest < unit) break;
    yield;
    const digits = Math.min(DIGITS, Math.floor((highest - lowest) / unit) + 1);
    [sorted, sortedKeys] = sortByDigit(sorted, sortedKeys, { unit, digits });
  }
  yield;
  return sorted;
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

/** Sorts by one digit and keeps the order of rows with the same digit. */
function sortByDigit(
  rows: Uint32Array,
  keys: Float64Array,
  { unit, digits }: { readonly unit: number; readonly digits: number },
): [rows: Uint32Array, keys: Float64Array] {
  const digitOf = (key: number) => Math.floor(key / unit) % DIGITS;
  const next = new Uint32Array(digits + 1);
  for (const key of keys) next[digitOf(key) + 1]! += 1;
  for (let digit = 0; digit < digits; digit++) next[digit + 1]! += next[digit]!;
  const [sortedRows, sortedKeys] = [new Uint32Array(rows.length), new Float64Array(rows.length)];
  for (let i = 0; i < rows.length; i++) {
    const place = next[digitOf(keys[i]!)]!++;
    sortedRows[place] = rows[i]!;
    sortedKeys[place] = keys[i]!;
  }
  return [sortedRows, sortedKeys];
}
