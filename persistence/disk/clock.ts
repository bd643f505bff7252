/**
 * The service clock: the machine's time at the start, advanced by a monotonic clock. A step of the
 * machine's clock while the service runs therefore neither ends holds early nor prolongs them. If
 * the machine's time at the start is earlier than the last record, time continues from that record.
 */
import type { Clock } from "../../engine/ports.ts";

/** The clocks of the machine, in milliseconds. */
export interface MachineTime {
  /** Since 1970, UTC; it may step. */
  wallMs(): number;
  /** Since an arbitrary moment; monotonic. */
  runningMs(): number;
}

export const realTime: MachineTime = {
  wallMs: () => Date.now(),
  runningMs: () => performance.now(),
};

export class ServiceClock implements Clock {
  readonly #time: MachineTime;
  readonly #startedMs: number;
  #baseMs: number;

  constructor(time: MachineTime) {
    this.#time = time;
    this.#startedMs = time.runningMs();
    this.#baseMs = time.wallMs();
  }

  nowMs(): number {
    return Math.floor(this.#baseMs + this.#time.runningMs() - this.#startedMs);
  }

  /** From now on the clock is at least at `timeMs`. */
  atLeast(timeMs: number): void {
    this.#baseMs += Math.max(0, timeMs - this.nowMs());
  }
}

// Runs work later. It is passed in, because a test controls time.

export interface Scheduler {
  /** Runs `task` at the end of this turn of the event loop, after all input of the turn. */
  soon(task: () => void): void;
  /** Runs `task` once after the delay. @returns Cancels it. */
  later(delayMs: number, task: () => void): () => void;
  /** Runs `task` periodically; does not keep the process alive. @returns As `later`. */
  every(periodMs: number, task: () => void): () => void;
}

export const realScheduler: Scheduler = {
  soon(task) {
    setImmediate(task);
  },
  later(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
  every(periodMs, task) {
    const timer = setInterval(task, periodMs);
    timer.unref();
    return () => clearInterval(timer);
  },
};
