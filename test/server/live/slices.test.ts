/** Slices of work between other work of the thread, by a clock of the test. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { Slices } from "../../../server/live/feed.ts";
import { OtherWork } from "../../../server/api/overload.ts";

/** A turn of the event loop, in milliseconds: other work, and how long it waits without a slice. */
interface Turn {
  readonly otherMs: number;
  readonly idleMs: number;
}

const OF_SLICE_MS = 0.25;

/** A thread with slices and other work. */
class Thread {
  nowMs = 1_000;
  activeMs = 500;
  readonly slices = new Slices(new OtherWork(() => this.activeMs));
  /** Of the slices. */
  slicesMs = 0;

  constructor() {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    const clock = vi.spyOn(performance, "now").mockImplementation(() => this.nowMs);
    onTestFinished(() => {
      clock.mockRestore();
      vi.useRealTimers();
    });
  }

  work(ms: number): void {
    this.nowMs += ms;
    this.activeMs += ms;
  }

  /** @param isEndless - True to leave more after each slice, until the test is over. */
  add(isEndless: boolean): void {
    let isLeft = isEndless;
    onTestFinished(() => {
      isLeft = false;
    });
    this.slices.add({
      workUntil: (endMs) => {
        if (isEndless && !isLeft) return false;
        expect(endMs - this.nowMs).toBeCloseTo(OF_SLICE_MS);
        this.work(OF_SLICE_MS);
        this.slicesMs += OF_SLICE_MS;
        return isLeft;
      },
    });
  }

  /** @returns The share of the slices. */
  async play(turns: number, { otherMs, idleMs }: Turn): Promise<number> {
    const [startMs, startSlicesMs] = [this.nowMs, this.slicesMs];
    for (let turn = 0; turn < turns; turn++) {
      const { nowMs, slicesMs } = this;
      this.work(otherMs);
      await nextTurn();
      if (this.slicesMs === slicesMs) this.nowMs += idleMs;
      // Timers of the test know whole milliseconds.
      vi.advanceTimersByTime(Math.floor(this.nowMs) - Math.floor(nowMs));
    }
    return (this.slicesMs - startSlicesMs) / (this.nowMs - startMs);
  }
}

test("works take turns, one slice each, until nothing is left of them", async () => {
  const slices = new Slices();
  const done: string[] = [];
  for (const [name, count] of [
    ["a", 3],
    ["b", 2],
  ] as const) {
    let left: number = count;
    slices.add({ workUntil: () => done.push(name) > 0 && --left > 0 });
  }
  await expect.poll(() => done.join("")).toBe("ababa");
});

test("beside much other work, short works share a slice", async () => {
  const thread = new Thread();
  const much = { otherMs: 0.3, idleMs: 0.1 };
  thread.add(false);
  await thread.play(40, much);
  let done = 0;
  for (let i = 0; i < 5; i++) {
    thread.slices.add({
      workUntil: () => {
        thread.work(OF_SLICE_MS / 10);
        return ++done === 0;
      },
    });
  }
  await thread.play(1, much);
  expect(done).toBe(5);
});

test("work that was removed has no slice", async () => {
  const slices = new Slices();
  const work = { workUntil: vi.fn<() => boolean>(() => true) };
  slices.add(work);
  slices.remove(work);
  await nextTurn();
  await nextTurn();
  expect(work.workUntil).not.toHaveBeenCalled();
});

test("much other work has most of the thread, and slices have it when that ends", async () => {
  const thread = new Thread();
  thread.add(true);
  const much = { otherMs: 0.3, idleMs: 0.1 };
  await thread.play(100, much);
  expect(await thread.play(1_000, much)).toBeLessThan(0.25);
  const little = { otherMs: 0.01, idleMs: 0.5 };
  await thread.play(100, little);
  expect(await thread.play(1_000, little)).toBeGreaterThan(0.8);
});

test("beside much other work, what comes long after the last slice has one at once", async () => {
  const thread = new Thread();
  const much = { otherMs: 0.3, idleMs: 0.1 };
  for (let i = 1; i <= 20; i++) {
    thread.add(false);
    await thread.play(1, much);
    expect(thread.slicesMs).toBe(i * OF_SLICE_MS);
    await thread.play(40, much);
  }
});
