/** Shapes are plain JSON Schema, and the types of their values follow from them. */
import { expect, expectTypeOf, test } from "vitest";
import {
  BOOLEAN,
  exactObject,
  integer,
  list,
  object,
  oneOf,
  openObject,
  optional,
  orNull,
  text,
  type TypeOf,
} from "../../../engine/schema.ts";

const ITEM = object({ id: integer({ minimum: 1 }), note: optional(text({})) });

test("a shape is JSON Schema, its members in the order in which they were written", () => {
  expect(
    JSON.stringify(exactObject({ items: optional(list(ITEM, { maxItems: 2 })), ok: BOOLEAN })),
  ).toBe(
    '{"type":"object","properties":{"items":{"type":["array","null"],"items":{"type":"object",' +
      '"properties":{"id":{"type":"integer","minimum":1},"note":{"type":["string","null"]}},' +
      '"required":["id"]},"maxItems":2},"ok":{"type":"boolean"}},"required":["ok"],' +
      '"additionalProperties":false}',
  );
  expect(orNull(list(ITEM))["type"]).toEqual(["array", "null"]);
  expect(orNull(orNull(oneOf(["RED"])))).toEqual({
    type: ["string", "null"],
    enum: ["RED", null],
  });
});

test("the type of a value follows from its shape", () => {
  expectTypeOf<TypeOf<typeof ITEM>>().branded.toEqualTypeOf<{
    readonly id: number;
    readonly note?: string | null | undefined;
  }>();
  const COLOR = oneOf(["RED", "GREEN"]);
  expectTypeOf<TypeOf<typeof COLOR>>().toEqualTypeOf<"RED" | "GREEN">();
  const OPEN = openObject({ id: integer() });
  expectTypeOf<TypeOf<typeof OPEN>["fill"]>().toEqualTypeOf<unknown>();
  expect(COLOR).toEqual({ type: "string", enum: ["RED", "GREEN"] });
});
