/** A store under test: random records of a real engine, a log, and snapshots. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { Admission } from "../../../engine/ports.ts";
import type { State } from "../../../engine/state.ts";
import { auditedSequence } from "../../../persistence/audit/file.ts";
import type { Disk } from "../../../persistence/disk/disk.ts";
import type { LogWriter } from "../../../persistence/log/log-writer.ts";
import type { SnapshotReport } from "../../../persistence/snapshot/build.ts";
import {
  type FromThread,
  serveSnapshots,
  type StartSnapshotThread,
  type ToThread,
} from "../../../persistence/snapshot/thread.ts";
import type { Snapshots } from "../../../persistence/snapshot/snapshots.ts";
import type { StateReport } from "../../../persistence/store/open-state.ts";
import { openStore, type OpenStore } from "../../../persistence/store/open-store.ts";
import type { Platform } from "../../../persistence/store/platform.ts";
import { FakeDisk } from "../../support/disk/fake-disk.ts";
import { untilDeath } from "../../support/disk/process-disk.ts";
import { type History, LocalThread, RecordFeed } from "../../support/store.ts";
import { ManualTime, settle, STORE_ID } from "../log/log-fixture.ts";

const TURNS_MAX = 1_000;

export const SEGMENT_BYTES = 16 * 1024;
/** In memory where possible: `FakeDisk` decides what survives a crash. */
const ROOT = fs.existsSync("/dev/shm") ? "/dev/shm" : os.tmpdir();

/** A folder that is removed when the test ends. */
export function folderOf(): string {
  const folder = fs.mkdtempSync(path.join(ROOT, "frontrow-store-"));
  onTestFinished(() => removeFolder(folder));
  return folder;
}

export function removeFolder(folder: string): void {
  fs.rmSync(folder, { recursive: true, force: true });
}

/** The random bytes that the data folder asks for: the store id and the secret. */
const STORE_ID_BYTES = Buffer.from(STORE_ID.replaceAll("-", ""), "hex");
const randomBytes = (count: number) =>
  count === STORE_ID_BYTES.length ? Buffer.from(STORE_ID_BYTES) : Buffer.alloc(count, 0x5e);

export interface StoreOptions {
  readonly folder: string;
  readonly history: Pick<History, "records">;
  readonly disk?: FakeDisk;
  readonly everyBytes?: number;
  readonly everyMinutes?: number;
  readonly segmentBytes?: number;
  readonly startSnapshotThread?: StartSnapshotThread;
}

/** A process that opens the store, and feeds it with the records of the history. */
export class StoreProcess {
  readonly time = new ManualTime();
  readonly reports: SnapshotReport[] = [];
  readonly acknowledged: number[] = [];
  store!: OpenStore;
  #feed!: RecordFeed;

  static async start(options: StoreOptions): Promise<StoreProcess> {
    const process = new StoreProcess();
    const { folder, history, segmentBytes = SEGMENT_BYTES } = options;
    const { everyBytes = Infinity, everyMinutes = Infinity } = options;
    process.store = await openStore(process.#platform(options), {
      folder,
      segmentBytes,
      snapshotBytes: everyBytes,
      snapshotMinutes: everyMinutes,
      // One step per turn, so that records may come between any two.
      snapshotTurnMs: 0,
      onFailure: () => {},
      onSnapshot: (report) => process.reports.push(report),
    });
    const onDurable = (sequence: number) => void process.acknowledged.push(sequence);
    process.#feed = new RecordFeed(process.store, history.records, onDurable);
    return process;
  }

  #platform({ folder, disk = diskOn(folder), startSnapshotThread }: StoreOptions): Platform {
    const { time } = this;
    const own = disk.begin();
    return {
      disk: own,
      time: { wallMs: () => time.nowMs(), runningMs: () => time.nowMs() },
      scheduler: {
        soon: (task) => setImmediate(() => untilDeath(task)),
        later: (delayMs, task) => time.later(delayMs, task),
        // The history has its own records that end holds.
        every: () => () => {},
      },
      randomBytes,
      startSnapshotThread: startSnapshotThread ?? snapshotThreadOn(own),
      startAuditThread: () => {
        throw new Error("no test here has an audit trail");
      },
      startAuditReader: () => {
        throw new Error("no test here has an audit trail");
      },
    };
  }

  get state(): State {
    return this.store.engine.state;
  }

  get report(): StateReport {
    return this.store.report;
  }

  get journal(): LogWriter {
    return this.store.journal;
  }

  get snapshots(): Snapshots {
    return this.store.snapshots;
  }

  /** The last record that was appended. */
  get sequence(): number {
    return this.#feed.sequence;
  }

  /** The last record that was reported as durable, or recovered. */
  get durable(): number {
    return this.acknowledged.at(-1) ?? this.report.sequence;
  }

  /**
   * Appends the next records of the history in one batch, up to the first that is refused.
   * @returns How many it refused.
   */
  append(count: number): number {
    for (let i = 0; i < count; i++) if (this.#feed.append() !== Admission.OPEN) return count - i;
    return 0;
  }

  /** Appends batches and waits for the disk after each. */
  async commit(batches: number, batchRecords = 5): Promise<void> {
    for (let i = 0; i < batches; i++) {
      let left = batchRecords;
      for (let turn = 0; turn < TURNS_MAX && left > 0; turn++) {
        left = this.append(left);
        await settle();
      }
      if (left > 0) throw new Error(`${left} records are refused`);
    }
  }

  /** Takes a snapshot and waits for it. */
  async snapshot(): Promise<SnapshotReport> {
    const before = this.reports.length;
    this.snapshots.request();
    await this.settled(() => this.reports.length > before);
    return this.reports.at(-1)!;
  }

  async settled(isDone: () => boolean): Promise<void> {
    for (let turn = 0; turn < TURNS_MAX && !isDone(); turn++) await settle();
    if (!isDone()) throw new Error("it does not come to an end");
  }

  close(): Promise<void> {
    return this.store.close();
  }
}

/** A disk whose files are all real, too, for other readers of the folder. */
export function diskOn(folder: string): FakeDisk {
  return new FakeDisk({ folder, isReal: (name) => name.startsWith(`${folder}/`) });
}

/** Runs `snapshot-worker.ts` in this thread, on a disk of the test. */
export function snapshotThreadOn(disk: Disk): StartSnapshotThread {
  return (data, events) => {
    // The thread must not rest.
    data.bell.fill(1);
    const audited = () => auditedSequence(disk, data.folder, data.storeId);
    return new LocalThread<ToThread, FromThread>({
      serve: (port) => serveSnapshots(port, { ...data, disk, audited }),
      events,
      later: (task) => setImmediate(task),
    });
  };
}

/** All files in the folder and its subfolders, by path. */
export function contentOf(folder: string): Map<string, Buffer> {
  const names = fs.readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted();
  const paths = names.map((name) => path.join(folder, name));
  const files = paths.filter((name) => fs.statSync(name).isFile());
  return new Map(files.map((name) => [name, fs.readFileSync(name)]));
}

export function namesIn(folder: string, sub: string): string[] {
  return fs.readdirSync(path.join(folder, sub)).toSorted();
}

/** Snapshots, the newest first. */
export function snapshotPaths(folder: string): string[] {
  const names = namesIn(folder, "snapshots").filter((name) => name.endsWith(".sqlite"));
  return names.toReversed().map((name) => path.join(folder, "snapshots", name));
}
