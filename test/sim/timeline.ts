/** Virtual time: a queue of tasks, without a real clock. */
import type { Scheduler } from "../../persistence/disk/clock.ts";
import { untilDeath } from "../support/disk/process-disk.ts";

interface Entry {
  readonly timeUs: number;
  readonly task: () => void;
  isCancelled: boolean;
}

/** @returns A function to cancel. */
export function repeat(
  scheduler: Pick<Scheduler, "later">,
  periodMs: number,
  task: () => void,
): () => void {
  let cancel = () => {};
  const wait = () => {
    cancel = scheduler.later(periodMs, () => {
      wait();
      task();
    });
  };
  wait();
  return () => cancel();
}

/** Runs tasks in the order of their times; equal times in the order of arrival. */
export class Timeline implements Scheduler {
  /** Microseconds since the run began. */
  nowUs = 0;
  #entries: Entry[] = [];

  after(delayUs: number, task: () => void): () => void {
    const entry = { timeUs: this.nowUs + delayUs, task, isCancelled: false };
    // There are a few dozen entries at most; from the end, one comparison is usually enough.
    let at = this.#entries.length;
    while (at > 0 && this.#entries[at - 1]!.timeUs > entry.timeUs) at -= 1;
    this.#entries.splice(at, 0, entry);
    return () => {
      entry.isCancelled = true;
    };
  }

  soon(task: () => void): void {
    this.after(0, task);
  }

  later(delayMs: number, task: () => void): () => void {
    return this.after(delayMs * 1_000, task);
  }

  every(periodMs: number, task: () => void): () => void {
    return repeat(this, periodMs, task);
  }

  /** Runs the next task. @returns False if there is none, or none in time. */
  step(withinUs = Infinity): boolean {
    for (;;) {
      const [entry] = this.#entries;
      if (entry === undefined) return false;
      if (!entry.isCancelled && entry.timeUs > this.nowUs + withinUs) return false;
      this.#entries.shift();
      if (entry.isCancelled) continue;
      this.nowUs = Math.max(this.nowUs, entry.timeUs);
      untilDeath(entry.task);
      return true;
    }
  }

  /** Forgets all tasks, because the process has ended. */
  clear(): void {
    this.#entries = [];
  }
}
