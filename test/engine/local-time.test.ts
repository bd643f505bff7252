/** Local date-times as text. */
import { expect, test } from "vitest";
import { isLocalDateTime, normalLocalDateTime } from "../../engine/schema.ts";

test("a date-time is one that the calendar has", () => {
  const good = [
    "2026-03-19T10:00",
    "2026-03-19T10:00:00",
    "2026-03-19T10:00:00.1",
    "2026-03-19T10:00:00.123456789",
    "2024-02-29T23:59:59",
    "2000-02-29T00:00",
  ];
  for (const text of good) expect(isLocalDateTime(text), text).toBe(true);
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
  for (const text of bad) expect(isLocalDateTime(text), text).toBe(false);
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
  for (const [text, normal] of cases) expect(normalLocalDateTime(text!), text).toBe(normal);
  expect(
    normalLocalDateTime("2026-03-19T10:00") < normalLocalDateTime("2026-03-19T10:00:00.5"),
  ).toBe(true);
});
