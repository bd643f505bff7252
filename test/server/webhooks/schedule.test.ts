/** When a delivery is tried again. */
import { expect, test } from "vitest";
import { delayMs, retryAfterMs } from "../../../server/webhooks/attempt.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

test("tries come after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, then every 12 h", () => {
  const delays = [1, 2, 3, 4, 5, 6, 7, 8, 20].map((attempts) => delayMs(attempts, 0, 0));
  const hours = [2, 5, 10, 12, 12, 12].map((each) => each * HOUR_MS);
  expect(delays).toEqual([5_000, 5 * MINUTE_MS, 30 * MINUTE_MS, ...hours]);
});

test("a try comes up to a fifth later, never earlier", () => {
  expect(delayMs(1, 0, 0.999)).toBe(5_999);
  expect(delayMs(2, 0, 0.5)).toBe(5.5 * MINUTE_MS);
});

test("a receiver may ask for a longer wait, up to a day, and not for a shorter one", () => {
  expect(delayMs(1, MINUTE_MS, 0)).toBe(MINUTE_MS);
  expect(delayMs(3, MINUTE_MS, 0)).toBe(30 * MINUTE_MS);
  expect(delayMs(1, 1_000 * HOUR_MS, 0)).toBe(24 * HOUR_MS);
});

test("Retry-After is a number of seconds or a time; anything else is ignored", () => {
  const nowMs = Date.parse("2030-05-01T20:00:00Z");
  expect(retryAfterMs("120", nowMs)).toBe(120_000);
  expect(retryAfterMs("Wed, 01 May 2030 20:01:00 GMT", nowMs)).toBe(60_000);
  expect(retryAfterMs("Wed, 01 May 2030 19:00:00 GMT", nowMs)).toBe(0);
  for (const header of [undefined, "", "soon", "-5", "9".repeat(30)]) {
    expect(retryAfterMs(header, nowMs)).toBe(0);
  }
});
