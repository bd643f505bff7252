/** Work in slices. */
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { inOwnSlice, inSlices } from "../../../server/api/overload.ts";

function spin(ms: number): void {
  const startMs = performance.now();
  while (performance.now() - startMs < ms);
}

function* counting(steps: number, stepMs: number): Generator<void, number> {
  let done = 0;
  for (; done < steps; done++) {
    spin(stepMs);
    yield;
  }
  return done;
}

/** Until the test ends: a busy machine may stop this process for longer than a slice. */
function stopClock(): void {
  const clock = vi.spyOn(performance, "now").mockReturnValue(0);
  onTestFinished(() => clock.mockRestore());
}

test("short work is done at once", () => {
  stopClock();
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
  stopClock();
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

/** A thread whose time passes by its work alone, with an event loop of its own. */
class Thread {
  nowMs = 0;
  #activeMs = 0;
  #timers: { readonly atMs: number; readonly task: () => void }[] = [];

  /** Its clock and its timers stand in for the real ones until the test ends. */
  begin(): void {
    const utilization = () => ({ idle: 0, active: this.#activeMs, utilization: 0 });
    vi.spyOn(performance, "now").mockImplementation(() => this.nowMs);
    vi.spyOn(performance, "eventLoopUtilization").mockImplementation(utilization);
    const later = (task: () => void, ms = 0) => {
      this.#timers.push({ atMs: this.nowMs + ms, task });
    };
    vi.stubGlobal("setTimeout", later);
    vi.stubGlobal("setImmediate", (task: () => void) => later(task));
    onTestFinished(() => {
      vi.unstubAllGlobals();
      vi.restoreAllMocks();
    });
  }

  work(ms: number): void {
    this.nowMs += ms;
    this.#activeMs += ms;
  }

  /** A turn of the event loop, which waits for as long if nothing is due. */
  async turn(waitMs: number): Promise<void> {
    const isDue = ({ atMs }: { readonly atMs: number }) => atMs <= this.nowMs;
    if (!this.#timers.some(isDue)) this.nowMs += waitMs;
    const due = this.#timers.filter(isDue);
    this.#timers = this.#timers.filter((timer) => !due.includes(timer));
    for (const { task } of due) task();
    await setImmediate();
  }
}

/** @returns The share of the time that long work has, while other work has its turns too. */
async function shareBeside(otherMs: number, waitMs: number): Promise<number> {
  const thread = new Thread();
  thread.begin();
  // A module of its own: the clock of the shared one goes on after the test.
  const own = `../../../server/api/overload.ts?beside=${otherMs}-${waitMs}`;
  const { inSlices: inOwnSlices } = (await import(own)) as { readonly inSlices: typeof inSlices };
  const end = { isDone: false };
  let workedMs = 0;
  function* work(): Generator<void, void> {
    for (let slice = 0; slice < 20; slice++) {
      thread.work(3);
      workedMs += 3;
      yield;
    }
  }
  void Promise.resolve(inOwnSlices(work())).then(() => (end.isDone = true));
  while (!end.isDone) {
    thread.work(otherMs);
    await thread.turn(waitMs);
  }
  return workedMs / thread.nowMs;
}

test.each([
  { title: "in every turn", waitMs: 0 },
  { title: "now and then", waitMs: 1 },
])("beside other work $title, long work has a tenth of the time", async ({ waitMs }) => {
  const share = await shareBeside(1, waitMs);
  expect(share).toBeGreaterThan(0.05);
  expect(share).toBeLessThan(0.15);
});

test("without other work, long work has the thread", async () => {
  expect(await shareBeside(0, 0)).toBeGreaterThan(0.9);
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
