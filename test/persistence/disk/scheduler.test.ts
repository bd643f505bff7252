/** The real scheduler runs tasks after the turn, after a delay, or never. */
import { expect, test } from "vitest";
import { realScheduler } from "../../../persistence/disk/clock.ts";

test("soon runs after this turn, later runs after the delay", async () => {
  const order: string[] = [];
  const done = new Promise<void>((resolve) => {
    realScheduler.later(5, () => {
      order.push("later");
      resolve();
    });
  });
  realScheduler.soon(() => order.push("soon"));
  queueMicrotask(() => order.push("turn"));
  await done;
  expect(order).toEqual(["turn", "soon", "later"]);
});

test("a cancelled task does not run", async () => {
  let runs = 0;
  const cancel = realScheduler.later(1, () => (runs += 1));
  cancel();
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(runs).toBe(0);
});
