/** The ranks of names and labels in lists. */
import { expect, test } from "vitest";
import { lastValue } from "../../../engine/inventory/steps.ts";
import { ranksOf, sortInSteps } from "../../../engine/queries/order.ts";

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
