/** A store under test: random records of a real engine, its log, and snapshots of it. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { apply } from "../../../engine/apply.ts";
import { Admission, LogSpace } from "../../../engine/ports.ts";
import { State } from "../../../engine/state.ts";
import { digest } from "../../../engine/verify/digest.ts";
import type { Disk } from "../../../persistence/disk/disk.ts";
import type { LogWriter } from "../../../persistence/log/log-writer.ts";
import {
  type BuildEnd,
  buildSnapshot,
  SnapshotBuild,
} from "../../../persistence/snapshot/build.ts";
import type { SnapshotWriter, SnapshotReport } from "../../../persistence/snapshot/options.ts";
import { Snapshots } from "../../../persistence/snapshot/snapshots.ts";
import { openState, type StateReport } from "../../../persistence/store/open-state.ts";
import { Workload } from "../../sim/workload/workload.ts";
import { CrashingDisk } from "../../support/crashing-disk.ts";
import type { KeptRecord } from "../../support/engine.ts";
import { ProcessDied } from "../../support/memory-disk.ts";
import { ManualTime, settle, STORE_ID } from "../log/log-fixture.ts";

const TURNS_MAX = 1_000;

export const SEGMENT_BYTES = 16 * 1024;
/** In memory where there is such a folder: what outlasts a crash is for `CrashingDisk` to say. */
const ROOT = fs.existsSync("/dev/shm") ? "/dev/shm" : os.tmpdir();

/** Records of a random workload, and the digest of the state after each. */
export class History {
  readonly records: readonly KeptRecord[];
  readonly #digests: string[];

  constructor(seed: number, steps: number) {
    const workload = new Workload(seed);
    for (let step = 0; step < steps; step++) workload.step();
    this.records = workload.bench.journal.kept;
    const state = new State();
    this.#digests = [digest(state)];
    for (const { record, timeMs } of this.records) {
      apply(state, record, timeMs);
      this.#digests.push(digest(state));
    }
  }

  digestAt(sequence: number): string {
    return this.#digests[sequence]!;
  }
}

export function newFolder(): string {
  return fs.mkdtempSync(path.join(ROOT, "frontrow-store-"));
}

export function removeFolder(folder: string): void {
  fs.rmSync(folder, { recursive: true, force: true });
}

export interface StoreOptions {
  readonly folder: string;
  readonly history: Pick<History, "records">;
  readonly disk?: CrashingDisk;
  readonly everyBytes?: number;
  readonly segmentBytes?: number;
}

/** A process that has the store. */
export class StoreProcess {
  readonly time = new ManualTime();
  readonly reports: SnapshotReport[] = [];
  readonly acknowledged: number[] = [];
  state!: State;
  report!: StateReport;
  snapshots!: Snapshots;
  journal!: LogWriter;
  sequence = 0;
  /** As an engine that halted would say. */
  isSound = true;
  /** Replaced by a test whose threads cannot be had. */
  open = (base: string | null, _onWritten: () => void): SnapshotWriter => this.#writer(base);
  readonly #options: StoreOptions;
  readonly #disk: Disk;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.#disk = (options.disk ?? new CrashingDisk()).begin();
  }

  static async start(options: StoreOptions): Promise<StoreProcess> {
    const process = new StoreProcess(options);
    await process.#open();
    return process;
  }

  async #open(): Promise<void> {
    const { folder, everyBytes = Infinity, segmentBytes = SEGMENT_BYTES } = this.#options;
    const { time } = this;
    const opened = await openState({
      disk: this.#disk,
      folder,
      storeId: STORE_ID,
      clock: time,
      scheduler: time,
      segmentBytes,
      onFailure: () => {},
    });
    this.state = opened.state;
    this.report = opened.report;
    this.journal = opened.journal;
    this.sequence = opened.report.sequence;
    this.snapshots = new Snapshots({
      state: opened.state,
      log: opened.journal,
      clock: time,
      scheduler: { soon: (task) => setImmediate(task), later: (ms, task) => time.later(ms, task) },
      isSound: () => this.isSound,
      open: (base, onWritten) => this.open(base, onWritten),
      everyBytes,
      // One step a turn, so that records come between any two.
      turnMs: 0,
      start: opened.start,
      onReport: (report) => this.reports.push(report),
    });
    this.snapshots.durable = (sequence) => this.acknowledged.push(sequence);
  }

  /** Everything that was told to be on disk; what was recovered counts. */
  get durable(): number {
    return this.acknowledged.at(-1) ?? this.report.sequence;
  }

  /**
   * The next records of the history, in one batch, as far as the log has room for them.
   * @returns How many it did not take.
   */
  append(count: number): number {
    for (let i = 0; i < count; i++) {
      const { record, timeMs } = this.#options.history.records[this.sequence]!;
      const taken = this.snapshots.append(this.sequence + 1, timeMs, record, LogSpace.GENERAL);
      if (taken !== Admission.OPEN) return count - i;
      this.sequence += 1;
      apply(this.state, record, timeMs);
    }
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

  /** Makes a snapshot and waits for it. */
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

  /** As `Store.close` does. */
  async close(): Promise<void> {
    await this.snapshots.stop();
    await this.journal.close();
    this.snapshots.last((parts) => buildSnapshot(this.#place, parts));
  }

  get #place() {
    return { disk: this.#disk, folder: this.#options.folder, storeId: STORE_ID };
  }

  /** In this thread; otherwise as the real one. */
  #writer(base: string | null): SnapshotWriter {
    const given: ((build: SnapshotBuild) => void)[] = [];
    let finish!: (end: BuildEnd) => void;
    const end = new Promise<BuildEnd>((resolve) => {
      finish = resolve;
    });
    const build = async () => {
      const at = await end;
      // Another thread answers in some later turn, never in this one.
      await settle();
      let building: SnapshotBuild | null = null;
      try {
        building = new SnapshotBuild({ ...this.#place, base });
        for (const give of given) give(building);
        return building.finish(at);
      } catch (error) {
        if (error instanceof ProcessDied) return new Promise<never>(() => {});
        building?.abandon();
        throw error;
      }
    };
    return {
      put: (nextId, puts) => void given.push((one) => one.put(nextId, puts)),
      add: (image) => void given.push((one) => one.add(image)),
      queued: 0,
      finish,
      built: build(),
      abandon: () => Promise.resolve(),
    };
  }
}

/** Every file in the folder and below, by path. */
export function contentOf(folder: string): Map<string, Buffer> {
  const names = fs.readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted();
  const paths = names.map((name) => path.join(folder, name));
  const files = paths.filter((name) => fs.statSync(name).isFile());
  return new Map(files.map((name) => [name, fs.readFileSync(name)]));
}

export function namesIn(folder: string, sub: string): string[] {
  return fs.readdirSync(path.join(folder, sub)).toSorted();
}

/** The newest snapshot, and the one before. */
export function snapshotPaths(folder: string): string[] {
  const names = namesIn(folder, "snapshots").filter((name) => name.endsWith(".sqlite"));
  return names.toReversed().map((name) => path.join(folder, "snapshots", name));
}
