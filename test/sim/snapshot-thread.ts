/**
 * The thread that writes a snapshot, on virtual time: what `snapshot-thread.ts` and its worker do
 * together, each message some time later than it was sent.
 */
import type { CatalogPut } from "../../engine/catalog.ts";
import {
  type BuildEnd,
  type BuildOptions,
  type Built,
  type ImageAt,
  SnapshotBuild,
} from "../../persistence/snapshot/build.ts";
import type { SnapshotWriter } from "../../persistence/snapshot/options.ts";
import { ProcessDied } from "../support/memory-disk.ts";
import type { ProcessDisk } from "./disk/virtual-process-disk.ts";
import type { Timeline } from "./timeline.ts";
import type { Random } from "./workload/random.ts";

const LATENCY_US_MAX = 400;
/** A step of the thread takes no longer. */
const STEP_US_MAX = 500;

export interface ThreadOptions {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly disk: ProcessDisk;
  readonly build: Omit<BuildOptions, "disk">;
  /** Called whenever there is one image less in the queue. */
  readonly onWritten: () => void;
}

export class SnapshotThread implements SnapshotWriter {
  readonly built: Promise<Built>;
  queued = 0;
  readonly #options: ThreadOptions;
  #build: SnapshotBuild | null = null;
  #settle!: { resolve: (built: Built) => void; reject: (failure: Error) => void };
  /** There is a snapshot, or there will be none. */
  #isOver = false;
  #isTerminated = false;
  /** At work; what it is told meanwhile waits. */
  #isBusy = false;
  readonly #told: (() => void)[] = [];
  #lastUs = 0;

  constructor(options: ThreadOptions) {
    this.#options = options;
    this.built = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    const disk = options.disk.thread(() => this.#beforeStep());
    this.#hear(() => {
      this.#build = new SnapshotBuild({ ...options.build, disk });
    });
  }

  put(nextId: number, puts: readonly CatalogPut[]): void {
    this.#hear(() => this.#build!.put(nextId, puts));
  }

  add(image: ImageAt): void {
    this.queued += 1;
    this.#hear(() => {
      this.#build!.add(image);
      this.#later(() => {
        this.queued -= 1;
        this.#options.onWritten();
      });
    });
  }

  finish(end: BuildEnd): void {
    this.#hear(() => {
      const built = this.#build!.finish(end);
      this.#isOver = true;
      this.#later(() => this.#settle.resolve(built));
    });
  }

  /** The thread ends where it is, and leaves what it has written. */
  abandon(): Promise<void> {
    this.release();
    this.#settle.reject(new Error("the thread ended without an answer"));
    return Promise.resolve();
  }

  /** The process has ended. @returns Whether the snapshot was in the making. */
  release(): boolean {
    this.#isTerminated = true;
    if (!this.#isBusy) this.#close();
    return this.#build !== null && !this.#isOver;
  }

  /** While a thread is at a step of the disk, the first thread goes on. */
  #beforeStep(): void {
    const { timeline, random } = this.#options;
    if (random.once(3)) for (let n = random.below(4); n > 0 && timeline.step(STEP_US_MAX); n--);
    if (this.#isTerminated) throw new ProcessDied();
  }

  /** In the order in which it is told. */
  #hear(told: () => void): void {
    const { timeline, random } = this.#options;
    this.#lastUs = Math.max(this.#lastUs, timeline.nowUs) + random.below(LATENCY_US_MAX);
    timeline.after(this.#lastUs - timeline.nowUs, () => {
      this.#told.push(told);
      this.#work();
    });
  }

  #work(): void {
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (let told = this.#told.shift(); told !== undefined; told = this.#told.shift()) {
      if (!this.#isOver && !this.#isTerminated) this.#do(told);
    }
    this.#isBusy = false;
    if (this.#isTerminated) this.#close();
  }

  #do(told: () => void): void {
    try {
      told();
    } catch (error) {
      if (error instanceof ProcessDied) return;
      this.#isOver = true;
      const failure = this.#close() ?? (error as Error);
      this.#later(() => this.#settle.reject(failure));
    }
  }

  /** @returns What failed on the way. */
  #close(): Error | null {
    try {
      if (!this.#isOver || !this.#isTerminated) this.#build?.abandon();
      return null;
    } catch (error) {
      return error instanceof ProcessDied ? null : (error as Error);
    }
  }

  /** The first thread hears of it. */
  #later(told: () => void): void {
    const { timeline, random } = this.#options;
    timeline.after(random.below(LATENCY_US_MAX), told);
  }
}
