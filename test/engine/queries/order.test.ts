/** Pages in order of keys. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { drain } from "../../../engine/inventory/steps.ts";
import { pageOf, ranksOf, sortInSteps } from "../../../engine/queries/order.ts";
import { Random } from "../../sim/workload/random.ts";

const KEY = fc.constantFrom(
  (random: Random) => random.below(4),
  (random: Random) => 65_530 + random.below(10),
  (random: Random) => random.below(2 ** 53 - 1),
  // Nearly all equal, beside one far away.
  (random: Random) => (random.once(500) ? 2 ** 52 : 7),
);

test("a page has the rows that comparing all keys one by one puts there", () => {
  const criterion = fc.record({ at: fc.nat({ max: 2 }), descending: fc.boolean() });
  const count = fc.oneof(fc.nat({ max: 20 }), fc.integer({ min: 900, max: 4_000 }));
  fc.assert(
    fc.property(
      fc.record({ seed: fc.nat(), count, columns: fc.array(KEY, { minLength: 3, maxLength: 3 }) }),
      fc.array(criterion, { maxLength: 4 }),
      fc.record({ from: fc.double({ min: 0, max: 1.1, noNaN: true }), limit: fc.nat({ max: 99 }) }),
      ({ seed, count: rowCount, columns }, criteria, { from, limit }) => {
        const random = new Random(seed);
        const rows = Array.from({ length: rowCount }, () => columns.map((key) => key(random)));
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
        const all = Uint32Array.from(rows.keys());
        const offset = Math.floor(from * rowCount);
        const page = drain(pageOf(all, keys, offset, offset + limit + 1));
        expect([...page]).toEqual(expected.slice(offset, offset + limit + 1));
        expect([...drain(pageOf(all, keys, 0, Infinity))]).toEqual(expected);
      },
    ),
  );
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
    expect(drain(sortInSteps(numbers))).toEqual(numbers.toSorted((a, b) => a - b));
    expect(drain(sortInSteps(texts))).toEqual(texts.toSorted());
  },
);
