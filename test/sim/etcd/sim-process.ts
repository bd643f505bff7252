/**
 * A process on the timeline. While it is paused its tasks wait, and after its end none of them
 * runs. Its clock runs at a rate of its own.
 */
import type { Scheduler } from "../../../persistence/disk/clock.ts";
import { repeat, type Timeline } from "../timeline.ts";

/** The longest delay between the tasks due during a pause. */
const RESUME_US_MAX = 40;

export class SimProcess implements Scheduler {
  readonly name: string;
  readonly #timeline: Timeline;
  /** Its seconds per second. */
  readonly #rate: number;
  #isPaused = false;
  /** Time of the stop of its clock; null while it runs. */
  #stoppedAtUs: number | null = null;
  #stoppedUs = 0;
  #isAlive = true;
  #waiting: (() => void)[] = [];

  constructor(name: string, timeline: Timeline, rate: number) {
    this.name = name;
    this.#timeline = timeline;
    this.#rate = rate;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** Neither paused nor ended. */
  get isRunning(): boolean {
    return this.#isAlive && !this.#isPaused;
  }

  /** Its monotonic clock. */
  get runningMs(): number {
    const nowUs = this.#stoppedAtUs ?? this.#timeline.nowUs;
    return ((nowUs - this.#stoppedUs) / 1_000) * this.#rate;
  }

  /** Runs a task of the process after a time of the timeline. @returns A function to cancel. */
  after(delayUs: number, task: () => void): () => void {
    let isCancelled = false;
    const run = () => {
      if (!isCancelled) task();
    };
    this.#timeline.after(delayUs, () => this.#run(run));
    return () => {
      isCancelled = true;
    };
  }

  soon(task: () => void): void {
    this.after(0, task);
  }

  later(delayMs: number, task: () => void): () => void {
    return this.after((delayMs * 1_000) / this.#rate, task);
  }

  every(periodMs: number, task: () => void): () => void {
    return repeat(this, periodMs, task);
  }

  /** @param stopsClock - As in a suspended virtual machine. */
  pause(stopsClock = false): void {
    this.#isPaused = true;
    if (stopsClock) this.#stoppedAtUs ??= this.#timeline.nowUs;
  }

  resume(): void {
    this.#isPaused = false;
    if (this.#stoppedAtUs !== null) this.#stoppedUs += this.#timeline.nowUs - this.#stoppedAtUs;
    this.#stoppedAtUs = null;
    const waiting = this.#waiting;
    this.#waiting = [];
    waiting.forEach((task, i) => {
      const delayUs = Math.floor((i * RESUME_US_MAX) / waiting.length);
      this.#timeline.after(delayUs, () => this.#run(task));
    });
  }

  end(): void {
    this.#isAlive = false;
    this.#waiting = [];
  }

  #run(task: () => void): void {
    if (!this.#isAlive) return;
    if (this.#isPaused) this.#waiting.push(task);
    else task();
  }
}
