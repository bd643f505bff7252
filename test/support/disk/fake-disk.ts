/**
 * A disk in memory that behaves like a failing one. Written data stays in a cache until it is
 * synced, and names are durable once their folder is synced. Anything else may be kept, lost or
 * garbled when the power fails. A test may make any step fail, fall short, or be the last one.
 */
import type { Loss } from "./inode.ts";
import { Platter, type PlatterOptions } from "./platter.ts";
import {
  CHANGES,
  type Operation,
  type Outcome,
  ProcessDied,
  ProcessDisk,
  type Step,
} from "./process-disk.ts";

export interface FakeDiskOptions extends PlatterOptions {
  /** Decides when the thread pool does an operation; by default in a microtask. */
  readonly later?: (operation: Operation, task: () => void) => void;
  /** Called when a process has ended. */
  readonly onEnd?: () => void;
}

export class FakeDisk extends Platter {
  /** Decides on each step of the process; null lets it happen. */
  decide: (step: Step) => Outcome | null = () => null;
  /** The running process; null when it has ended. */
  process: ProcessDisk | null = null;
  readonly #options: FakeDiskOptions;

  constructor(options: FakeDiskOptions) {
    super(options);
    this.#options = options;
  }

  /** Starts a process. Operations of the previous one have no effect from now on. */
  begin(): ProcessDisk {
    this.process = this.#processDisk(() => {});
    return this.process;
  }

  /**
   * The disk for another thread of the process.
   * @param beforeStep - Runs the first thread meanwhile; may throw `ProcessDied`.
   */
  beginThread(beforeStep: () => void): ProcessDisk {
    const { process } = this;
    return this.#processDisk(beforeStep, () => this.process === process);
  }

  /** Ends the process at the n-th change of the disk from now on. */
  endAtChange(number: number): void {
    let left = number;
    this.decide = ({ operation }) => {
      if (CHANGES.has(operation)) left -= 1;
      return left === 0 ? { dies: true } : null;
    };
  }

  get isDead(): boolean {
    return this.process === null;
  }

  /** Ends the process. Operations in flight may happen completely, partially or not at all. */
  kill(): void {
    const { process } = this;
    this.process = null;
    process?.abandonFlights();
    this.#options.onEnd?.();
  }

  /** Ends the process, and lets the dice decide about unsynced data. */
  override losePower(loss?: Loss): void {
    this.kill();
    super.losePower(loss);
  }

  #processDisk(beforeStep: () => void, isAlive?: () => boolean): ProcessDisk {
    const disk: ProcessDisk = new ProcessDisk(this, {
      isAlive: isAlive ?? (() => this.process === disk),
      decide: (step) => {
        beforeStep();
        if (this.isDead) throw new ProcessDied();
        return this.decide(step);
      },
      later: this.#options.later ?? ((_, task) => queueMicrotask(task)),
      kill: () => this.kill(),
    });
    return disk;
  }
}
