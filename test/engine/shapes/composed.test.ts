/** Which texts of a value are composed. */
import { expect, test } from "vitest";
import { STATE_SELECTION, VENUE } from "../../../engine/bodies.ts";
import { composerOf } from "../../../engine/violations.ts";
import { integer, list, object, optional } from "../../../engine/schema.ts";

const [TWO, ONE] = ["e\u0301", "\u00e9"];

test("names and texts are composed wherever they are, and the rest is kept", () => {
  const compose = composerOf(list(object({ venue: optional(VENUE), id: integer() })))!;
  const value = [{ id: 1, venue: { name: TWO, address: TWO, other: TWO } }, { id: 2 }];
  const composed = [{ id: 1, venue: { name: ONE, address: ONE, other: TWO } }, { id: 2 }];
  expect(compose(value)).toEqual(composed);
  expect(value[0]!.venue!.name).toBe(TWO);
});

test("a value of another shape is kept", () => {
  const compose = composerOf(list(VENUE))!;
  for (const value of [null, 7, TWO, {}, [null, 7, [], { name: 7 }]]) {
    expect(compose(value)).toEqual(value);
  }
});

test("a session id is not composed, and a shape without names has no composer", () => {
  const selection = { sessionId: TWO, holdType: TWO };
  expect(composerOf(STATE_SELECTION)!(selection)).toEqual({ sessionId: TWO, holdType: ONE });
  expect(composerOf(object({ id: integer() }))).toBeNull();
});
