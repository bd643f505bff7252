/** Work in slices. */
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { inSlices } from "../../../server/routing/slices.ts";

function* counting(steps: number, stepMs: number): Generator<void, number> {
  let done = 0;
  for (; done < steps; done++) {
    const endMs = performance.now() + stepMs;
    while (performance.now() < endMs);
    yield;
  }
  return done;
}

test("short work is done at once", () => {
  expect(inSlices(counting(10, 0))).toBe(10);
});

test("other work is done between the slices of long work", async () => {
  const end = { isDone: false };
  const done = Promise.resolve(inSlices(counting(20, 2))).finally(() => (end.isDone = true));
  let turns = 0;
  while (!end.isDone) {
    await setImmediate();
    turns += 1;
  }
  await expect(done).resolves.toBe(20);
  expect(turns).toBeGreaterThan(5);
});

test("an error in a later slice is reported", async () => {
  function* failing(): Generator<void, never> {
    yield* counting(10, 2);
    throw new Error("no more");
  }
  await expect(inSlices(failing())).rejects.toThrow("no more");
});
