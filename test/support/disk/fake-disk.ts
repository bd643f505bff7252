/**
 * A disk in memory that behaves like a failing one. What is written stays in a cache until it is
 * synced, names last once their folder is synced, and what is neither may be kept, lost or garbled
 * when the power fails. A test may make any step fail, fall short, or be the last of the process.
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
  /** When the thread pool does an operation: in a microtask if not given. */
  readonly later?: (operation: Operation, task: () => void) => void;
  /** Called when a process has ended. */
  readonly onEnd?: () => void;
}

export class FakeDisk extends Platter {
  /** Decides on each step of the process; null lets it happen. */
  decide: (step: Step) => Outcome | null = () => null;
  /** The process that lives; null when it has ended. */
  process: ProcessDisk | null = null;
  readonly #options: FakeDiskOptions;

  constructor(options: FakeDiskOptions) {
    super(options);
    this.#options = options;
  }

  /** A process begins; the one before, if it does not know yet that it ended, gets nothing done. */
  begin(): ProcessDisk {
    this.process = this.#processDisk(() => {});
    return this.process;
  }

  /**
   * The disk for another thread of the process.
   * @param beforeStep - What happens in the first thread meanwhile; may throw `ProcessDied`.
   */
  beginThread(beforeStep: () => void): ProcessDisk {
    const { process } = this;
    return this.#processDisk(beforeStep, () => this.process === process);
  }

  /** The process ends at that change of the disk, counted from now on. */
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

  /** Ends the process. What it had in flight happens, partially or not at all; the cache stays. */
  kill(): void {
    const { process } = this;
    this.process = null;
    process?.abandonFlights();
    this.#options.onEnd?.();
  }

  /** Ends the process, and leaves what was not synced to the dice. */
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
