/** The platform that a store runs on, and the real one. */
import { randomBytes } from "node:crypto";
import { type Disk, realDisk } from "../disk/disk.ts";
import { type MachineTime, realScheduler, realTime, type Scheduler } from "../disk/clock.ts";
import { type StartWorker, workerThread } from "../disk/worker.ts";
import type { HistoryProgram } from "../history/thread.ts";
import type { StartSnapshotThread } from "../snapshot/thread.ts";

export interface Platform {
  readonly disk: Disk;
  readonly time: MachineTime;
  readonly scheduler: Scheduler;
  /** From a secure source. */
  readonly randomBytes: (count: number) => Buffer;
  /** Starts the program `snapshot-worker.ts`. */
  readonly startSnapshotThread: StartSnapshotThread;
  /** Starts the program `history-worker.ts`. */
  readonly startHistory: StartWorker<HistoryProgram>;
}

const program = (name: string) => new URL(`./${name}.js`, import.meta.url);

export const realPlatform: Platform = {
  disk: realDisk,
  time: realTime,
  scheduler: realScheduler,
  randomBytes,
  startSnapshotThread: workerThread(program("snapshot-worker"), "frontrow snapshots"),
  startHistory: workerThread(program("history-worker"), "frontrow history"),
};
