/** Shapes are plain JSON Schema, and the types of their values follow from them. */
import fc from "fast-check";
import { expect, expectTypeOf, test } from "vitest";
import { STATE_SELECTION, VENUE } from "../../engine/bodies.ts";
import {
  BOOLEAN,
  exactObject,
  FORMATS,
  integer,
  isLocalDateTime,
  jsonBytes,
  list,
  normalLocalDateTime,
  object,
  oneOf,
  openObject,
  optional,
  orNull,
  text,
  type TypeOf,
} from "../../engine/schema.ts";
import { composerOf, fieldErrorOf, type Violation } from "../../engine/violations.ts";

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

// Composed texts of a value.

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

// Formats beyond a pattern.

/** By format: valid and invalid texts. */
const TEXTS: Readonly<Record<string, readonly [good: string[], bad: string[]]>> = {
  uuid: [
    ["11111111-1111-4111-8111-11111111111A"],
    ["11111111-1111-4111-8111-1111111111", "x".repeat(36), ""],
  ],
  "lower-case-uuid": [
    ["11111111-1111-4111-8111-11111111111a"],
    ["11111111-1111-4111-8111-11111111111A", "11111111-1111-4111-8111-1111111111", ""],
  ],
  email: [
    ["ann@odeon.example", "zo\u00eb@odeon.example", "zoe\u0308@odeon.example"],
    ["ann", "ann@", "@odeon", "an n@odeon.example", "a@b@c"],
  ],
  "channel-key": [
    ["agency", "A-1_b.2", "...", "7"],
    ["", ".", "..", "a b", "a/b", "\u00e4", "a\n", "a%20"],
  ],
  currency: [
    ["EUR", "XXX"],
    ["eur", "EU", "EURO", "E1R", "EUR ", " EUR", "EUR\n", "\u00c4\u00d6\u00dc", ""],
  ],
  "local-date-time": [
    ["2026-05-02T20:00", "2026-05-02T20:00:30"],
    ["2026-05-02", "2026-02-30T20:00"],
  ],
  "local-date": [
    ["2026-05-02T20:00", "2026-05-02"],
    ["2026-02-30", "2026-05", "20260502", ""],
  ],
  moment: [
    ["1", "900719925474099", "2026-05-02T20:00", "2026-05-02"],
    ["0", "01", "-1", "1.5", "9007199254740993", "2026-02-30", ""],
  ],
  line: [
    ["Stalls", "\u{1f3ad} Gala"],
    ["two\nlines", "half \ud83c", "tab\t"],
  ],
  name: [
    ["Stalls", "\u{1f3ad} Gala"],
    ["two\nlines", "half \ud83c", "tab\t"],
  ],
  text: [
    ["two\r\nlines", "tab\t"],
    ["half \ud83c", "zero \u0000"],
  ],
};

test.each(Object.entries(TEXTS))("%s", (format, [good, bad]) => {
  const isGood = (value: string) => FORMATS[format]!(value);
  expect(good.filter((value) => !isGood(value))).toEqual([]);
  expect(bad.filter(isGood)).toEqual([]);
});

test("every format has its texts here", () => {
  expect(Object.keys(TEXTS)).toEqual(Object.keys(FORMATS));
});

// Local date-times as text.

test("a date-time is one that the calendar has", () => {
  const good = [
    "2026-03-19T10:00",
    "2026-03-19T10:00:00",
    "2026-03-19T10:00:00.1",
    "2026-03-19T10:00:00.123456789",
    "2024-02-29T23:59:59",
    "2000-02-29T00:00",
  ];
  for (const value of good) expect(isLocalDateTime(value), value).toBe(true);
  const bad = [
    "",
    "2026-03-19",
    "2026-03-19 10:00",
    "2026-03-19T10:00Z",
    "2026-03-19T10:00:00+01:00",
    "2026-03-19T10:00:00.",
    "2026-03-19T10:00:00.1234567890",
    "2026-02-29T10:00",
    "1900-02-29T10:00",
    "2026-04-31T10:00",
    "2026-00-10T10:00",
    "2026-13-10T10:00",
    "2026-01-00T10:00",
    "2026-01-32T10:00",
    "2026-03-19T24:00",
    "2026-03-19T10:60",
    "2026-03-19T10:00:60",
    "26-03-19T10:00",
    "2026-03-19T10:00\n",
  ];
  for (const value of bad) expect(isLocalDateTime(value), value).toBe(false);
});

test("one moment is always the same text, so that texts compare as moments do", () => {
  const cases = [
    ["2026-03-19T10:00", "2026-03-19T10:00:00"],
    ["2026-03-19T10:00:00", "2026-03-19T10:00:00"],
    ["2026-03-19T10:00:00.000", "2026-03-19T10:00:00"],
    ["2026-03-19T10:00:20.0", "2026-03-19T10:00:20"],
    ["2026-03-19T10:00:00.120", "2026-03-19T10:00:00.12"],
    ["2026-03-19T10:00:00.012", "2026-03-19T10:00:00.012"],
  ];
  for (const [value, normal] of cases) expect(normalLocalDateTime(value!), value).toBe(normal);
  expect(
    normalLocalDateTime("2026-03-19T10:00") < normalLocalDateTime("2026-03-19T10:00:00.5"),
  ).toBe(true);
});

// The size of a value as JSON is the size of its text, for any depth.

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

// Violations of shapes as field errors, in the notation and the codes of the interface.

const NOTHING = { keyword: "", instancePath: "", params: {} };

const CASES: readonly (readonly [Partial<Violation>, string])[] = [
  [{ keyword: "required", params: { missingProperty: "name" } }, "name NOT_NULL"],
  [
    { keyword: "required", instancePath: "/a/0", params: { missingProperty: "b" } },
    "a[0].b NOT_NULL",
  ],
  [{ keyword: "type", instancePath: "/name", schema: "string", data: null }, "name NOT_NULL"],
  [{ keyword: "type", instancePath: "/0/name", schema: "string", data: 7 }, "[0].name TYPE"],
  [{ keyword: "maxLength", instancePath: "/a~1b/c~0d", schema: 3, data: "x" }, "a/b.c~d SIZE"],
  [{ keyword: "additionalProperties", params: { additionalProperty: "more" } }, "more UNKNOWN"],
  [{ keyword: "const", instancePath: "/a", data: 1 }, "a CONST"],
];

test.each(CASES)("%j is reported as %s", (violation, expected) => {
  const { field, code } = fieldErrorOf({ ...NOTHING, ...violation });
  expect(`${field} ${code}`).toBe(expected);
});

test("the message names the limit, and the rejected value is kept", () => {
  const violation = { ...NOTHING, keyword: "type", schema: ["string", "null"], data: 7 };
  expect(fieldErrorOf(violation)).toEqual({
    field: "",
    code: "TYPE",
    message: "must be a string or null",
    rejectedValue: 7,
  });
  const atLeast = (length: number) =>
    fieldErrorOf({ ...NOTHING, keyword: "minLength", schema: length, data: "" }).message;
  expect([1, 8].map(atLeast)).toEqual([
    "must have at least 1 character",
    "must have at least 8 characters",
  ]);
  const { message } = fieldErrorOf({ ...NOTHING, keyword: "type", schema: "integer", data: "7" });
  expect(message).toBe("must be an integer");
});
