/** The platform that a store runs on, and the real one. */
import { randomBytes } from "node:crypto";
import type { StartReader } from "../audit/reader.ts";
import type { StartAuditThread } from "../audit/thread.ts";
import { type Disk, realDisk } from "../disk/disk.ts";
import { type MachineTime, realScheduler, realTime, type Scheduler } from "../disk/clock.ts";
import { workerThread } from "../disk/worker.ts";
import type { StartSnapshotThread } from "../snapshot/thread.ts";

export interface Platform {
  readonly disk: Disk;
  readonly time: MachineTime;
  readonly scheduler: Scheduler;
  /** From a secure source. */
  readonly randomBytes: (count: number) => Buffer;
  /** Starts the program `snapshot-worker.ts`. */
  readonly startSnapshotThread: StartSnapshotThread;
  /** Starts the program `audit-worker.ts`. */
  readonly startAuditThread: StartAuditThread;
  /** Starts the program `audit-reader.ts`. */
  readonly startAuditReader: StartReader;
}

const program = (name: string) => new URL(`./${name}.js`, import.meta.url);

export const realPlatform: Platform = {
  disk: realDisk,
  time: realTime,
  scheduler: realScheduler,
  randomBytes,
  startSnapshotThread: workerThread(program("snapshot-worker"), "frontrow snapshots"),
  startAuditThread: workerThread(program("audit-worker"), "frontrow audit"),
  startAuditReader: workerThread(program("audit-reader"), "frontrow audit reader"),
};
