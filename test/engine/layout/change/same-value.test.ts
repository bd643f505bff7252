/** Equality of JSON values. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { isSameValue } from "../../../../engine/layout/change.ts";

test("two values are the same when their JSON is, whatever the order of members", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      const copy: unknown = JSON.parse(JSON.stringify(a), (_, value: unknown) =>
        typeof value !== "object" || value === null || Array.isArray(value)
          ? value
          : Object.fromEntries(Object.entries(value).toReversed()),
      );
      expect(isSameValue(copy, JSON.parse(JSON.stringify(a)))).toBe(true);
      if (isSameValue(a, b)) expect(b).toEqual(a);
      else expect(JSON.stringify(b)).not.toBe(JSON.stringify(a));
    }),
  );
});

test.each([
  [{ a: 1 }, { a: 1, b: undefined }],
  [{ a: undefined }, { b: 1 }],
  [[1], { 0: 1 }],
  [
    [1, 2],
    [2, 1],
  ],
  [null, {}],
  [1, "1"],
])("%o and %o differ", (a, b) => {
  expect(isSameValue(a, b)).toBe(false);
  expect(isSameValue(b, a)).toBe(false);
});
