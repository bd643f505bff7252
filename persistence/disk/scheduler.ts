/** When the store runs things later. Passed in, so that a test can hold time still. */

export interface Scheduler {
  /** Runs `task` at the end of this turn of the event loop, after all input that it polled. */
  soon(task: () => void): void;
  /** Runs `task` after a delay. @returns A function that cancels it. */
  later(delayMs: number, task: () => void): () => void;
  /** Runs `task` again and again; does not keep the process alive. @returns As `later`. */
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
