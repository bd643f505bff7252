/**
 * The thread that writes one snapshot, on virtual time: what `snapshot-worker.ts` does when it is
 * told, each message some time later than it was sent.
 */
import {
  type BuildEnd,
  type BuildOptions,
  type Built,
  type ImageAt,
  SnapshotBuild,
} from "../../persistence/snapshot-build.ts";
import type { SnapshotWriter } from "../../persistence/snapshots.ts";
import { ProcessDied } from "../support/memory-disk.ts";
import type { Random } from "./random.ts";
import type { Timeline } from "./timeline.ts";

const LATENCY_US_MAX = 400;

export interface ThreadOptions {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly build: BuildOptions;
}

export class SnapshotThread implements SnapshotWriter {
  readonly #options: ThreadOptions;
  #build: SnapshotBuild | null = null;
  #failure: Error | null = null;
  #heardUs = 0;
  #isOver = false;
  /** At work; what comes meanwhile waits. */
  #isBusy = false;
  readonly #told: (() => void)[] = [];

  constructor(options: ThreadOptions) {
    this.#options = options;
  }

  add(image: ImageAt): void {
    this.#hear(() => {
      if (this.#failure === null) this.#try(() => this.#opened().add(image));
    });
  }

  finish(end: BuildEnd): Promise<Built> {
    return new Promise((resolve, reject: (failure: Error) => void) => {
      this.#hear(() => {
        if (this.#failure === null) this.#try(() => resolve(this.#finished(end)));
        if (this.#failure !== null) reject(this.#failure);
      });
    });
  }

  /** The process has ended. @returns Whether the snapshot was in the making. */
  release(): boolean {
    this.#abandon();
    return this.#build !== null && !this.#isOver;
  }

  #finished(end: BuildEnd): Built {
    const built = this.#opened().finish(end);
    this.#isOver = true;
    return built;
  }

  #opened(): SnapshotBuild {
    return (this.#build ??= new SnapshotBuild(this.#options.build));
  }

  /** In the order in which they were sent. */
  #hear(told: () => void): void {
    const { timeline, random } = this.#options;
    const earliestUs = Math.max(this.#heardUs, timeline.nowUs);
    this.#heardUs = earliestUs + random.below(LATENCY_US_MAX);
    timeline.after(this.#heardUs - timeline.nowUs, () => {
      this.#told.push(told);
      this.#work();
    });
  }

  #work(): void {
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (let told = this.#told.shift(); told !== undefined; told = this.#told.shift()) told();
    this.#isBusy = false;
  }

  #try(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (error instanceof ProcessDied) return;
      this.#failure = error as Error;
      this.#isOver = true;
      this.#abandon();
    }
  }

  #abandon(): void {
    try {
      this.#build?.abandon();
    } catch (error) {
      // The process has ended; or the disk fails here too, and then that is told.
      if (!(error instanceof ProcessDied)) this.#failure = error as Error;
    }
  }
}
