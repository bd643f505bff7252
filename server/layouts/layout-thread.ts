/** The layout threads, as the server's thread sees them. Each is started for its first job. */
import { Worker } from "node:worker_threads";
import {
  buffersIn,
  type FromLayouts,
  type JobKind,
  type JobOf,
  type ResultOf,
  type ToLayouts,
} from "./jobs.ts";

/** Jobs of one organization that may wait for a thread: each may keep the body of a request. */
export const WAITING_MAX = 4;
/** A job of at least this size is done by a thread of its own kind: about 30,000 seats. */
const LONG_JOB_BYTES = 8 * 1_024 * 1_024;
/**
 * For objects and texts of the thread: the largest layout needs less than 384. Without a limit the
 * thread keeps several times as much before it collects any garbage.
 */
const HEAP_MIB_MAX = 512;
/** Of these, for new objects: six times as much by default, and no faster. */
const YOUNG_MIB_MAX = 8;

export interface ThreadEvents {
  readonly message: (message: FromLayouts) => void;
  /** The thread has ended. */
  readonly exit: (reason: Error) => void;
}

export interface RunningThread {
  post(message: ToLayouts, transfer: readonly ArrayBuffer[]): void;
}

export type StartLayoutThread = (events: ThreadEvents) => RunningThread;

/** Two threads, because a layout of ordinary size must not wait for one that takes many seconds. */
export class LayoutThreads {
  readonly #ordinary: LayoutThread;
  readonly #long: LayoutThread;

  constructor(start: StartLayoutThread = startWorker) {
    this.#ordinary = new LayoutThread(start);
    this.#long = new LayoutThread(start);
  }

  /** Jobs that wait or run. */
  get count(): number {
    return this.#ordinary.count + this.#long.count;
  }

  /** Jobs that were refused, because too many of their organization waited. */
  get refused(): number {
    return this.#ordinary.refused + this.#long.refused;
  }

  /** @param jobBytes - What the job reads, as JSON. */
  threadFor(jobBytes: number): LayoutThread {
    return jobBytes < LONG_JOB_BYTES ? this.#ordinary : this.#long;
  }
}

/** A job that waits for its turn. */
interface Waiting {
  readonly message: () => ToLayouts["job"];
  /** Settles when the result was used, or rejects when the use failed. */
  readonly use: (result: never) => Promise<void>;
  readonly reject: (reason: unknown) => void;
}

/**
 * Ordering: one job at a time; the next one is made when the result of the last has been used. The
 * organizations take turns.
 */
class LayoutThread {
  /** As in `LayoutThreads`. */
  count = 0;
  refused = 0;
  readonly #start: StartLayoutThread;
  /** By organization, the one whose turn is next first. */
  readonly #queues = new Map<number, Waiting[]>();
  #running: Waiting | null = null;
  /** Whether the thread has the running job. Otherwise its result is being used. */
  #isPosted = false;
  #thread: RunningThread | null = null;

  constructor(start: StartLayoutThread) {
    this.#start = start;
  }

  /**
   * Does a job in the thread. The memory of its bytes moves there.
   *
   * @param make - Called when it is the job's turn.
   * @param use - Uses the result. It must not wait for another job, which comes only after it.
   * @returns What `use` returns; null when too many jobs of the organization wait.
   */
  run<K extends JobKind, Value>(
    kind: K,
    organizationId: number,
    make: () => Omit<JobOf<K>, "kind">,
    use: (result: ResultOf<K>) => Value | Promise<Value>,
  ): Promise<Value> | null {
    const queue = this.#queues.get(organizationId) ?? [];
    if (queue.length >= WAITING_MAX) {
      this.refused += 1;
      return null;
    }
    this.count += 1;
    this.#queues.set(organizationId, queue);
    return new Promise((resolve, reject) => {
      const message = () => ({ ...make(), kind }) as unknown as ToLayouts["job"];
      const used = async (result: ResultOf<K>) => resolve(await use(result));
      queue.push({ message, use: used, reject });
      this.#next();
    });
  }

  #next(): void {
    if (this.#running !== null) return;
    const [first] = this.#queues;
    if (first === undefined) return;
    const [organizationId, queue] = first;
    const waiting = queue.shift()!;
    this.#queues.delete(organizationId);
    if (queue.length > 0) this.#queues.set(organizationId, queue);
    this.#running = waiting;
    this.#thread ??= this.#start({
      message: (message) => this.#hear(message),
      exit: (reason) => this.#ended(reason),
    });
    const job = waiting.message();
    this.#isPosted = true;
    this.#thread.post({ job }, "parts" in job ? buffersIn(job.parts) : []);
  }

  #hear(message: FromLayouts): void {
    const waiting = this.#running;
    if (waiting === null || !this.#isPosted) return;
    this.#isPosted = false;
    if ("failure" in message) {
      waiting.reject(new Error(message.failure));
      this.#proceed();
    } else {
      const proceed = () => this.#proceed();
      waiting
        .use(message.result as never)
        .catch(waiting.reject)
        .finally(proceed);
    }
  }

  /** The next job starts another thread. */
  #ended(reason: Error): void {
    this.#thread = null;
    if (this.#running === null || !this.#isPosted) return;
    this.#isPosted = false;
    this.#running.reject(reason);
    this.#proceed();
  }

  #proceed(): void {
    setImmediate(() => {
      this.count -= 1;
      this.#running = null;
      this.#next();
    });
  }
}

function startWorker({ message, exit }: ThreadEvents): RunningThread {
  const worker = new Worker(new URL("worker.js", import.meta.url), {
    name: "frontrow layouts",
    resourceLimits: {
      maxOldGenerationSizeMb: HEAP_MIB_MAX,
      maxYoungGenerationSizeMb: YOUNG_MIB_MAX,
    },
  });
  let reason = new Error("the layout thread ended");
  worker.on("message", message);
  worker.on("error", (error) => (reason = error));
  worker.once("exit", () => exit(reason));
  // Comes last: a listener of messages keeps the process alive.
  worker.unref();
  return {
    post: (value, transfer) => worker.postMessage(value, transfer),
  };
}
