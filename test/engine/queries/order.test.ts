/** Sorting by keys. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { lastValue } from "../../../engine/inventory/steps.ts";
import { ranksOf, sortByKeys, sortInSteps } from "../../../engine/queries/order.ts";

/** The order that all steps of the sort lead to. */
function sorted(...given: Parameters<typeof sortByKeys>): Uint32Array {
  const steps = sortByKeys(...given);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

const KEY = fc.oneof(
  fc.integer({ min: 0, max: 3 }),
  fc.integer({ min: 65_530, max: 65_540 }),
  fc.maxSafeNat(),
);

test("rows are in the order that comparing their keys one by one gives", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(KEY, KEY, KEY), { maxLength: 200 }),
      fc.array(fc.record({ at: fc.nat({ max: 2 }), descending: fc.boolean() }), { maxLength: 4 }),
      (rows, criteria) => {
        const keys = criteria.map(({ at, descending }) => ({
          keyOf: (row: number) => rows[row]![at]!,
          descending,
        }));
        const expected = [...rows.keys()].sort((a, b) => {
          for (const { keyOf, descending } of keys) {
            const order = keyOf(a) - keyOf(b);
            if (order !== 0) return descending ? -order : order;
          }
          return a - b;
        });
        expect([...sorted(Uint32Array.from(rows.keys()), keys)]).toEqual(expected);
      },
    ),
  );
});

test("a key is read once for each row", () => {
  let reads = 0;
  const keyOf = (row: number) => {
    reads += 1;
    return (row * 7_919) % 10_007;
  };
  sorted(
    Uint32Array.from({ length: 10_000 }, (_, row) => row),
    [{ keyOf, descending: true }],
  );
  expect(reads).toBe(10_000);
});

// The ranks of names and labels in lists.

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
