/** The layout threads, as the server's thread sees them. Each is started for its first job. */
import { type StartWorker, WorkerClient, workerThread } from "../../persistence/disk/worker.ts";
import { buffersIn, type JobKind, type JobOf, type LayoutProgram, type ResultOf } from "./jobs.ts";

/** Jobs of one organization that may wait for a thread: each may keep the body of a request. */
export const WAITING_MAX = 4;
/** A job of at least this size is done by a thread of its own kind: about 30,000 seats. */
const LONG_JOB_BYTES = 8 * 1_024 * 1_024;
/**
 * For objects and texts of the thread: the largest layout needs less than 384. Without a limit the
 * thread keeps several times as much before it collects any garbage. Of these, for new objects: six
 * times as much by default, and no faster.
 */
const HEAP_LIMITS = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 8 };

export type StartLayoutThread = StartWorker<LayoutProgram>;

const startReal: StartLayoutThread = workerThread(
  new URL("worker.js", import.meta.url),
  "frontrow layouts",
  HEAP_LIMITS,
);

/** Two threads, because a layout of ordinary size must not wait for one that takes many seconds. */
export class LayoutThreads {
  readonly #ordinary: LayoutThread;
  readonly #long: LayoutThread;

  constructor(start: StartLayoutThread = startReal) {
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
  readonly job: () => JobOf<JobKind>;
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
  readonly #worker: WorkerClient<LayoutProgram>;
  /** By organization, the one whose turn is next first. */
  readonly #queues = new Map<number, Waiting[]>();
  /** Whether the thread has a job, or its result is being used. */
  #isBusy = false;

  constructor(start: StartLayoutThread) {
    this.#worker = new WorkerClient({ start, data: () => null, on: {} });
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
      const job = () => ({ ...make(), kind }) as unknown as JobOf<JobKind>;
      const used = async (result: ResultOf<K>) => resolve(await use(result));
      queue.push({ job, use: used, reject });
      this.#next();
    });
  }

  #next(): void {
    if (this.#isBusy) return;
    const [first] = this.#queues;
    if (first === undefined) return;
    const [organizationId, queue] = first;
    const waiting = queue.shift()!;
    this.#queues.delete(organizationId);
    if (queue.length > 0) this.#queues.set(organizationId, queue);
    this.#isBusy = true;
    this.#do(waiting);
  }

  #do({ job: make, use, reject }: Waiting): void {
    const job = make();
    const proceed = () => this.#proceed();
    this.#worker.ask(
      "do",
      job,
      (reply) => {
        if (reply.failure === null)
          use(reply.result as never)
            .catch(reject)
            .finally(proceed);
        else {
          reject(reply.failure);
          proceed();
        }
      },
      "parts" in job ? buffersIn(job.parts) : [],
    );
  }

  #proceed(): void {
    setImmediate(() => {
      this.count -= 1;
      this.#isBusy = false;
      this.#next();
    });
  }
}
