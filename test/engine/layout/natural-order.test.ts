/** Natural order of labels. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { compareNatural, compareText } from "../../../engine/layout/natural-order.ts";

test("digits in labels compare as numbers", () => {
  const ordered = ["1", "2", "10", "A", "A1", "A2", "A10", "A10a", "A10b", "AA1", "B1", "a1"];
  const shuffled = ordered.toReversed();
  expect(shuffled.sort(compareNatural)).toEqual(ordered);
});

test("leading zeros matter only when nothing else differs", () => {
  expect(["02", "3", "2", "1"].sort(compareNatural)).toEqual(["1", "02", "2", "3"]);
  expect(compareNatural("A02b", "A2a")).toBeGreaterThan(0);
  expect(compareNatural("0", "00")).toBeLessThan(0);
});

test("numbers of forty digits compare exactly", () => {
  const long = "9".repeat(40);
  expect(compareNatural(long, `1${"0".repeat(40)}`)).toBeLessThan(0);
  expect(compareNatural(`${long}1`, `${long}2`)).toBeLessThan(0);
});

test("text compares by code unit, in any locale", () => {
  expect(["b", "ä", "a", "Z"].sort(compareText)).toEqual(["Z", "a", "b", "ä"]);
  expect(compareText("a", "a")).toBe(0);
});

test("the order is total: antisymmetric, transitive, and zero only for equal labels", () => {
  const label = fc.stringMatching(/^[0-2Aa]{0,5}$/);
  fc.assert(
    fc.property(label, label, label, (a, b, c) => {
      expect(Math.sign(compareNatural(a, b)) + Math.sign(compareNatural(b, a))).toBe(0);
      expect(compareNatural(a, b) === 0).toBe(a === b);
      if (compareNatural(a, b) <= 0 && compareNatural(b, c) <= 0) {
        expect(compareNatural(a, c)).toBeLessThanOrEqual(0);
      }
    }),
    { numRuns: 2_000, seed: 1 },
  );
});
