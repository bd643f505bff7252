/** The natural order of names and labels. */
import { expect, test } from "vitest";
import { lastValue } from "../../../engine/inventory/steps.ts";
import { nameKey, ranksOf, sortInSteps } from "../../../engine/queries/name-order.ts";

/** Names in order, in groups of names that are equal. */
const ORDER: readonly (readonly string[])[] = [
  [""],
  ["-1"],
  ["0", "00"],
  ["1"],
  ["2", "02", "002"],
  ["10"],
  ["10a"],
  ["99999999999999999999"],
  ["100000000000000000000"],
  ["A"],
  ["A 2"],
  ["A 10"],
  ["A2"],
  ["A2B1"],
  ["A10"],
  ["aB"],
  ["Ab"],
  ["b"],
  ["B"],
  ["cote"],
  ["Cote"],
  ["cot\u00e9", "cote\u0301"],
  ["c\u00f4te"],
  ["c\u00f4t\u00e9"],
  ["coter"],
  ["\u00d8l"],
  ["om"],
  ["\u0430"],
  ["\u0431"],
];

test("digits count as numbers, then letters, then accents, then case", () => {
  const keys = ORDER.map((names) => {
    const [key, ...others] = new Set(names.map(nameKey));
    expect([names, others]).toEqual([names, []]);
    return key!;
  });
  expect(ORDER.filter((_, i) => i > 0 && keys[i - 1]! >= keys[i]!)).toEqual([]);
});

test("ranks rise with names, and equal names have one rank", () => {
  expect([...ranksOf(["10", "B", "2", "b", "2", "02"])]).toEqual([1, 3, 0, 2, 0, 0]);
  expect([...ranksOf([])]).toEqual([]);
});

test.each([0, 1, 1_999, 2_001, 9_000])(
  "%i keys are sorted in steps as they are at once",
  (count) => {
    const numbers = Array.from({ length: count }, (_, i) => (i * 7_919) % 4_001);
    const texts = numbers.map((number) => `${number}`);
    expect(lastValue(sortInSteps(numbers))).toEqual(numbers.toSorted((a, b) => a - b));
    expect(lastValue(sortInSteps(texts))).toEqual(texts.toSorted());
  },
);
