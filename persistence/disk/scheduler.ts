/** When the log writer runs things: passed in, so that a test can hold time still. */

export interface Scheduler {
  /** Runs `task` at the end of this turn of the event loop, after all input that it polled. */
  soon(task: () => void): void;
  /** Runs `task` after a delay; the answer cancels it. */
  later(delayMs: number, task: () => void): () => void;
}

export const realScheduler: Scheduler = {
  soon(task) {
    setImmediate(task);
  },
  later(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
};
