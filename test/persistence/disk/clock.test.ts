/** The service clock: the machine's time at the start, carried on by the running clock. */
import { expect, test } from "vitest";
import { ServiceClock } from "../../../persistence/disk/clock.ts";

test("a step of the machine's clock while the service runs has no effect", () => {
  let [wallMs, runningMs] = [5_000, 70];
  const clock = new ServiceClock({ wallMs: () => wallMs, runningMs: () => runningMs });
  [wallMs, runningMs] = [9_000, 70.9];
  expect(clock.nowMs()).toBe(5_000);
  runningMs = 71;
  expect(clock.nowMs()).toBe(5_001);
});

test("a log that ends later moves the clock to its end; an earlier end has no effect", () => {
  const clock = new ServiceClock({ wallMs: () => 5_000, runningMs: () => 70 });
  clock.atLeast(4_000);
  expect(clock.nowMs()).toBe(5_000);
  clock.atLeast(6_000);
  expect(clock.nowMs()).toBe(6_000);
});
