/** The size of a value as JSON is that of its text, for any depth. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonBytes } from "../../../engine/schema.ts";

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

test("the size of any value is the length of its JSON in UTF-8", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
      expect(jsonBytes(value)).toBe(bytesOf(value));
    }),
  );
});

test("members that are undefined do not count", () => {
  const value = { a: undefined, é: [undefined, "\n", "😀"], b: { c: undefined } };
  expect(jsonBytes(value)).toBe(bytesOf(value));
});

test("a value that is too deep for a recursion has a size", () => {
  let deep: unknown = 7;
  for (let depth = 0; depth < 1_000_000; depth++) deep = [deep];
  expect(jsonBytes(deep)).toBe(2_000_001);
});
