/** The layout thread, as the server's thread sees it. It is started for its first job. */
import { Worker } from "node:worker_threads";
import { buffersIn, type JobKind, type JobOf, type ResultOf } from "./jobs.ts";
import type { FromLayouts, ToLayouts } from "./service.ts";

/** Jobs that may wait: each keeps the body of a request. */
const WAITING_MAX = 16;

export interface ThreadEvents {
  readonly message: (message: FromLayouts) => void;
  /** The thread has ended. */
  readonly exit: (reason: Error) => void;
}

export interface RunningThread {
  post(message: ToLayouts, transfer: readonly ArrayBuffer[]): void;
  terminate(): Promise<unknown>;
}

export type StartLayoutThread = (events: ThreadEvents) => RunningThread;

/** A job that waits for its turn. */
interface Waiting {
  readonly message: () => ToLayouts["job"];
  readonly resolve: (result: never) => void;
  readonly reject: (reason: Error) => void;
}

/** Ordering: one job at a time. The next one is made when the result of the last was used. */
export class LayoutThread {
  readonly #start: StartLayoutThread;
  readonly #queue: Waiting[] = [];
  #running: Waiting | null = null;
  #thread: RunningThread | null = null;

  constructor(start: StartLayoutThread = startWorker) {
    this.#start = start;
  }

  /**
   * Does a job in the thread, after those that came before. The memory of its bytes moves there.
   *
   * @param make - Called when it is the job's turn.
   * @returns Null when too many jobs wait.
   */
  run<K extends JobKind>(kind: K, make: () => Omit<JobOf<K>, "kind">): Promise<ResultOf<K>> | null {
    if (this.#queue.length >= WAITING_MAX) return null;
    return new Promise((resolve, reject) => {
      const message = () => ({ ...make(), kind }) as unknown as ToLayouts["job"];
      this.#queue.push({ message, resolve, reject });
      this.#next();
    });
  }

  async close(): Promise<void> {
    await this.#thread?.terminate();
  }

  #next(): void {
    if (this.#running !== null) return;
    const waiting = this.#queue.shift();
    if (waiting === undefined) return;
    this.#running = waiting;
    this.#thread ??= this.#start({
      message: (message) => this.#hear(message),
      exit: (reason) => this.#ended(reason),
    });
    const job = waiting.message();
    this.#thread.post({ job }, "parts" in job ? buffersIn(job.parts) : []);
  }

  #hear(message: FromLayouts): void {
    const waiting = this.#running;
    if ("failure" in message) waiting?.reject(new Error(message.failure));
    else waiting?.resolve(message.result as never);
    this.#proceed();
  }

  /** The next job starts another thread. */
  #ended(reason: Error): void {
    this.#thread = null;
    this.#running?.reject(reason);
    this.#proceed();
  }

  #proceed(): void {
    setImmediate(() => {
      this.#running = null;
      this.#next();
    });
  }
}

function startWorker({ message, exit }: ThreadEvents): RunningThread {
  const worker = new Worker(new URL("worker.js", import.meta.url), { name: "frontrow layouts" });
  let reason = new Error("the layout thread ended");
  worker.unref();
  worker.on("message", message);
  worker.on("error", (error) => (reason = error));
  worker.once("exit", () => exit(reason));
  return {
    post: (value, transfer) => worker.postMessage(value, transfer),
    terminate: () => worker.terminate(),
  };
}
