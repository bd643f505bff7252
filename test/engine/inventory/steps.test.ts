/** Work in steps. */
import { expect, test } from "vitest";
import { lastValue } from "../../../engine/inventory/steps.ts";

test("work that was begun in steps continues where it was and gives its result", () => {
  const done: number[] = [];
  const steps = (function* () {
    for (let i = 0; i < 5; i++) {
      done.push(i);
      yield;
    }
    return "complete";
  })();
  steps.next();
  steps.next();
  expect(done).toEqual([0, 1]);
  expect(lastValue(steps)).toBe("complete");
  expect(done).toEqual([0, 1, 2, 3, 4]);
});
