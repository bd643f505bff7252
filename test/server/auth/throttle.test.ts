/** The throttle: five failures within a minute close a name for a minute. */
import { expect, test } from "vitest";
import { Throttle } from "../../../server/auth/limits.ts";

const MINUTE = 60_000;

test("the fifth failure within a minute closes the name for a minute", () => {
  const throttle = new Throttle(5);
  for (let i = 0; i < 5; i++) {
    expect([i, throttle.admits("a", i)]).toEqual([i, true]);
    throttle.failed("a", i);
  }
  expect(throttle.admits("a", 5)).toBe(false);
  expect(throttle.admits("a", 4 + MINUTE - 1)).toBe(false);
  expect(throttle.admits("a", 4 + MINUTE)).toBe(true);
  expect(throttle.admits("b", 5)).toBe(true);
});

test("four failures per minute never close a name", () => {
  const throttle = new Throttle(5);
  for (let i = 0; i < 20; i++) {
    throttle.failed("a", i * (MINUTE / 4));
    expect([i, throttle.admits("a", i * (MINUTE / 4))]).toEqual([i, true]);
  }
});

test("after the minute the count starts again", () => {
  const throttle = new Throttle(5);
  for (let i = 0; i < 5; i++) throttle.failed("a", 0);
  throttle.failed("a", MINUTE);
  expect(throttle.admits("a", MINUTE)).toBe(true);
});

test("only 100,000 names are kept; the oldest is forgotten first", () => {
  const throttle = new Throttle(5);
  throttle.failed("last", 0);
  for (let i = 0; i < 5; i++) throttle.failed("first", 0);
  for (let i = 0; i < 5; i++) throttle.failed("last", 1);
  for (let i = 0; i < 99_999; i++) throttle.failed(`name ${i}`, 2);
  expect([throttle.admits("first", 3), throttle.admits("last", 3)]).toEqual([true, false]);
});

test("a failure that is withdrawn does not count", () => {
  const throttle = new Throttle(2);
  throttle.failed("a", 0);
  throttle.failed("a", 1);
  throttle.withdraw("a");
  expect(throttle.admits("a", 2)).toBe(true);
  throttle.failed("a", 2);
  expect(throttle.admits("a", 3)).toBe(false);
  throttle.withdraw("unknown");
  expect(throttle.admits("unknown", 3)).toBe(true);
});
