/** The ranks of names and labels in lists, in their natural order. */
import { lastValue } from "../inventory/steps.ts";
import { nameKey } from "../layout/natural-order.ts";

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
