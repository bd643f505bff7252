/** Refusals of a busy server, which leave after a delay. */
import { expect, test } from "vitest";
import { DelayedRefusals } from "../../../server/api/overload.ts";

test("refusals leave in their order, each a quarter of a second after it was added", () => {
  let nowMs = 0;
  const sent: string[] = [];
  const refusals = new DelayedRefusals(() => nowMs);
  const add = (name: string) => refusals.add(() => sent.push(name));
  add("a");
  nowMs = 100;
  add("b");
  add("c");
  nowMs = 249;
  refusals.sendDue();
  expect(sent).toEqual([]);
  nowMs = 250;
  refusals.sendDue();
  expect(sent).toEqual(["a"]);
  nowMs = 350;
  refusals.sendDue();
  expect(sent).toEqual(["a", "b", "c"]);
  expect(refusals.count).toBe(0);
});

test("refusals leave without another request", async () => {
  const refusals = new DelayedRefusals();
  for (let round = 0; round < 2; round++) {
    await new Promise<void>((resolve) => {
      refusals.add(resolve);
      expect(refusals.count).toBe(1);
    });
  }
});
