/** Values of the header `Prefer` with and without a request for a representation. */
import { expect, test } from "vitest";
import { wantsRepresentation } from "../../../server/http/answers.ts";

test.each([
  ["return=representation", true],
  ["Return = Representation", true],
  ['return="representation"', true],
  ["respond-async, return=representation; foo=bar, wait=5", true],
  ["return=representation, return=minimal", true],
  ["return=minimal, return=representation", false],
  ["return=minimal", false],
  ["return", false],
  ["return=representations", false],
  ["xreturn=representation", false],
  ["", false],
  [",,;=", false],
])("%s", (prefer, isWanted) => {
  expect(wantsRepresentation(prefer)).toBe(isWanted);
});
