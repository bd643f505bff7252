/** Sorting by keys. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { sortByKeys } from "../../../engine/queries/order.ts";

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
