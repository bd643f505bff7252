/** The formats of texts that no pattern can say. */
import { expect, test } from "vitest";
import { FORMATS } from "../../../engine/schema.ts";

/** By format: texts that are one, and texts that are none. */
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
  const isGood = (text: string) => FORMATS[format]!(text);
  expect(good.filter((text) => !isGood(text))).toEqual([]);
  expect(bad.filter(isGood)).toEqual([]);
});

test("every format has its texts here", () => {
  expect(Object.keys(TEXTS)).toEqual(Object.keys(FORMATS));
});
