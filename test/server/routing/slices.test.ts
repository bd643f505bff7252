/** Work in slices. */
import { setImmediate, setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { inOwnSlice, inSlices } from "../../../server/api/overload.ts";

/** @returns How long it took. */
function spin(ms: number): number {
  const startMs = performance.now();
  while (performance.now() - startMs < ms);
  return performance.now() - startMs;
}

function* counting(steps: number, stepMs: number): Generator<void, number> {
  let done = 0;
  for (; done < steps; done++) {
    spin(stepMs);
    yield;
  }
  return done;
}

test("short work is done at once", () => {
  // A busy machine may stop this process for longer than a slice.
  const clock = vi.spyOn(performance, "now").mockReturnValue(0);
  onTestFinished(() => clock.mockRestore());
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

test("a work that fails in a slice rejects its own promise, and the others go on", async () => {
  function* failing(): Generator<void, never> {
    yield* counting(2, 3);
    throw new Error("no more");
  }
  const [before, failed, sameOwner, after] = await Promise.allSettled([
    inSlices(counting(5, 3)),
    inSlices(failing(), "owner"),
    inSlices(counting(4, 3), "owner"),
    inSlices(counting(6, 3)),
  ]);
  expect(failed).toMatchObject({ status: "rejected", reason: { message: "no more" } });
  expect([before, sameOwner, after]).toEqual(
    [5, 4, 6].map((value) => ({ status: "fulfilled", value })),
  );
  // Nothing of them is left in the way of the next one.
  expect(inSlices(counting(1, 0))).toBe(1);
});

test("several long works take turns, one slice in each turn of the event loop", async () => {
  const ended: string[] = [];
  const slices: string[] = [];
  function* work(name: string, steps: number): Generator<void, string> {
    for (let step = 0; step < steps; step++) {
      slices.push(name);
      yield* counting(1, 3);
    }
    return name;
  }
  const works = [work("long", 8), work("short", 3)].map(async (steps) => {
    ended.push(await inSlices(steps));
  });
  const turns: number[] = [];
  while (slices.length < 11) {
    await setImmediate();
    turns.push(slices.length);
  }
  await Promise.all(works);
  // The second work waits for its first slice: the first one had its own at once.
  expect(slices.slice(0, 6)).toEqual(["long", "long", "short", "long", "short", "long"]);
  expect(turns.every((count, i) => i === 0 || count - turns[i - 1]! <= 1)).toBe(true);
  expect(ended).toEqual(["short", "long"]);
});

test("long works of one owner come one after the other, and owners take turns", async () => {
  const slices: string[] = [];
  function* work(name: string): Generator<void, void> {
    for (let step = 0; step < 3; step++) {
      slices.push(name);
      yield* counting(1, 3);
    }
  }
  const of = (owner: string) => (name: string) => inSlices(work(name), owner);
  await Promise.all([...["a", "b", "c"].map(of("busy")), of("other")("x")]);
  expect(slices.filter((name) => name !== "x").join("")).toBe("aaabbbccc");
  expect(slices.lastIndexOf("x")).toBeLessThan(slices.indexOf("c"));
});

/** Long work, and how much of the time it took. */
function longWork(slices: number): {
  readonly done: Promise<void>;
  readonly share: () => number;
} {
  const startMs = performance.now();
  let workedMs = 0;
  function* work(): Generator<void, void> {
    for (let slice = 0; slice < slices; slice++) {
      workedMs += spin(3);
      yield;
    }
  }
  const done = Promise.resolve(inSlices(work()));
  return { done, share: () => workedMs / (performance.now() - startMs) };
}

test.each([
  ["in every turn", 1, () => setImmediate()],
  ["now and then", 1, () => setTimeout(1)],
] as const)("beside other work %s, long work has a tenth of the time", async (_, ms, pause) => {
  const end = { isDone: false };
  const { done, share } = longWork(20);
  void done.finally(() => (end.isDone = true));
  while (!end.isDone) {
    spin(ms);
    // oxlint-disable-next-line no-await-in-loop -- one piece of other work after the other
    await pause();
  }
  expect(share()).toBeLessThan(0.2);
});

test("without other work, long work has the thread", async () => {
  const { done, share } = longWork(50);
  await done;
  expect(share()).toBeGreaterThan(0.2);
});

test("works that cannot be cut, all at once → one in a turn, and owners take turns", async () => {
  const done: string[] = [];
  const turn = (name: string) => inOwnSlice(() => void done.push(name), name[0]);
  const all = Promise.all(["a1", "a2", "a3", "b1"].map(turn));
  const turns = [done.length];
  while (done.length < 4) {
    await setImmediate();
    turns.push(done.length);
  }
  await all;
  expect(done).toEqual(["a1", "b1", "a2", "a3"]);
  expect(turns.every((count, i) => i === 0 || count - turns[i - 1]! <= 1)).toBe(true);
});
