/** The natural order of names and labels. */
import { expect, test } from "vitest";
import { nameKey } from "../../../engine/layout/layout.ts";

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
