/** Runs work later. It is passed in, because a test controls time. */

export interface Scheduler {
  /** Runs `task` at the end of this turn of the event loop, after all input of the turn. */
  soon(task: () => void): void;
  /** Runs `task` once after the delay. @returns A function that cancels it. */
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
