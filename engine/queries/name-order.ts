/**
 * Natural order of names and labels: "2" comes before "10"; letters count first, then accents, then
 * case. It uses no locale, so the order is the same on every machine.
 */

import { lastValue } from "../inventory/steps.ts";

/** A few milliseconds of work. */
const KEYS_PER_STEP = 2_000;
const MARKS = /[\u0300-\u036f]/g;
const NO_MARK = /[^\u0300-\u036f]/g;
const DIGITS = /\d+/g;
const LEADING_ZEROS = /^0+(?=\d)/;
/** Letters that do not decompose into a plain letter and a mark. */
const PLAIN = new Map(Object.entries({ ß: "ss", æ: "ae", œ: "oe", ø: "o", đ: "d", ł: "l" }));
const SPECIAL = new RegExp(`[${[...PLAIN.keys()].join("")}]`, "g");
/** Comes before every character of a name. */
const END = "\0";

/** @returns A text such that two names compare as their keys compare, by code unit. */
export function nameKey(name: string): string {
  const decomposed = name.normalize("NFD");
  const lower = decomposed.toLowerCase();
  const letters = lower.replace(MARKS, "").replace(SPECIAL, (letter) => PLAIN.get(letter)!);
  const accents = lower.replace(DIGITS, "").replace(NO_MARK, "\u0001");
  const cases = Array.from(decomposed.replace(DIGITS, ""), (letter) =>
    letter === letter.toLowerCase() ? "0" : "1",
  );
  return [letters.replace(DIGITS, numberKey), accents, cases.join("")].join(END);
}

/** A run of digits, with its length in front: a longer number is larger. */
function numberKey(digits: string): string {
  const number = digits.replace(LEADING_ZEROS, "");
  return `0${String.fromCharCode(number.length)}${number}`;
}

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
