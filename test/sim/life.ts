/**
 * One process of the store, from its start to its end: the real engine, log, snapshots and
 * recovery, joined as `openEngine` joins them, on a virtual disk and a virtual clock.
 */
import { Engine } from "../../engine/engine.ts";
import { Admission, type Journal, type LogSpace } from "../../engine/ports.ts";
import type { LogRecord } from "../../engine/records.ts";
import { type LogFailed, type StoreFault } from "../../persistence/disk/faults.ts";
import { ServiceClock } from "../../persistence/disk/service-clock.ts";
import { makeFoldersNow, writeFileNow } from "../../persistence/disk/transfer.ts";
import type { LogWriter } from "../../persistence/log/log-writer.ts";
import { buildSnapshot } from "../../persistence/snapshot/build.ts";
import type { SnapshotReport } from "../../persistence/snapshot/options.ts";
import { Snapshots } from "../../persistence/snapshot/snapshots.ts";
import { type OpenState, openState, type StateReport } from "../../persistence/store/open-state.ts";
import { Idempotency } from "../../server/idempotency.ts";
import type { Services } from "../../server/routing/services.ts";
import { ProcessDied } from "../support/memory-disk.ts";
import type { VirtualDisk } from "./disk/virtual-disk.ts";
import type { DiskFaults, ProcessDisk } from "./disk/virtual-process-disk.ts";
import { Violation } from "./model/invariants.ts";
import { SnapshotThread } from "./snapshot-thread.ts";

export const STORE_ID = "0b0e7a3c-5d1f-4c3e-9a52-6f0d3c1b2a49";
/** Holds that have run out are ended at least this often, as by the store. */
const SWEEP_MS = 500;
/** What the store keeps once its log is there. */
const HAS_LOG = "store.json";
/** A start or an end takes no longer, on the slowest disk. */
const UNTIL_US_MAX = 30_000_000;
/** A chain of promises in the sources is shorter than this. */
const MICROTASKS = 12;

/** Told of every record before the engine's journal is. */
export interface Witness {
  appended(sequence: number, timeMs: number, record: LogRecord): void;
  durable(sequence: number): void;
}

export interface LifeOptions {
  readonly disk: VirtualDisk;
  readonly folder: string;
  readonly faults: DiskFaults;
  readonly segmentBytes: number;
  readonly snapshotBytes: number | null;
  /** The machine's clock at the start of the process. */
  readonly wallMs: number;
  readonly witness: Witness;
  readonly onSnapshot: (report: SnapshotReport) => void;
  /** Called as often as the store ends holds. */
  readonly onSweep: () => void;
}

/** How a start went. */
export type Start =
  | { readonly kind: "open" }
  | { readonly kind: "died" }
  | { readonly kind: "fault"; readonly fault: StoreFault | Error };

export class Life {
  readonly disk: ProcessDisk;
  readonly clock: ServiceClock;
  /** Milliseconds that the machine's running clock has leapt ahead of the timeline. */
  leaptMs = 0;
  failure: LogFailed | null = null;
  opened!: OpenState;
  engine!: Engine;
  snapshots!: Snapshots;
  idempotency!: Idempotency;
  readonly #options: LifeOptions;
  readonly #threads = new Set<SnapshotThread>();

  constructor(options: LifeOptions) {
    const { disk, faults, wallMs } = options;
    this.#options = options;
    this.disk = disk.begin(faults);
    this.clock = new ServiceClock({
      wallMs: () => wallMs,
      runningMs: () => disk.timeline.nowUs / 1_000 + this.leaptMs,
    });
  }

  get report(): StateReport {
    return this.opened.report;
  }

  get journal(): LogWriter {
    return this.opened.journal;
  }

  get isDead(): boolean {
    return this.#options.disk.process !== this.disk;
  }

  /** Runs until the store is open, or the process has ended. */
  async start(): Promise<Start> {
    const opening = this.#open().then(
      (): Start => ({ kind: "open" }),
      (error: unknown): Start => {
        if (error instanceof ProcessDied) return { kind: "died" };
        return { kind: "fault", fault: error as Error };
      },
    );
    return (await this.until(opening)) ?? { kind: "died" };
  }

  /** @returns null when the process ended before it settled. */
  async until<T>(promise: Promise<T>): Promise<T | null> {
    let settled: { readonly value: T } | null = null;
    void (async () => {
      settled = { value: await promise };
    })();
    const { timeline } = this.#options.disk;
    const latestUs = timeline.nowUs + UNTIL_US_MAX;
    for (;;) {
      await microtasks();
      if (settled !== null) return (settled as { readonly value: T }).value;
      if (this.isDead) return null;
      if (!timeline.step()) throw new Error("the process waits for nothing");
      if (timeline.nowUs > latestUs) throw new Violation("I21", "a start or an end");
    }
  }

  async #open(): Promise<void> {
    const { disk, folder, segmentBytes, witness } = this.#options;
    const { timeline } = disk;
    makeFoldersNow(this.disk, folder);
    const hasLog = (this.disk.listNow(folder) ?? []).includes(HAS_LOG);
    this.opened = await openState({
      disk: this.disk,
      folder,
      storeId: STORE_ID,
      mustExist: hasLog,
      clock: this.clock,
      scheduler: timeline,
      segmentBytes,
      onFailure: (failure) => {
        this.failure = failure;
      },
    });
    const { state, report } = this.opened;
    if (!hasLog) writeFileNow(this.disk, folder, HAS_LOG, Buffer.from("{}"));
    this.clock.atLeast(report.timeMs);
    this.snapshots = this.#snapshots();
    const witnessed = new Witnessed(this.snapshots, witness);
    this.engine = new Engine(state, report, { clock: this.clock, journal: witnessed });
    this.idempotency = new Idempotency({ engine: this.engine, keys: KEYS } as unknown as Services);
    this.#sweepLater();
  }

  #snapshots(): Snapshots {
    const { disk, snapshotBytes, onSnapshot } = this.#options;
    const { state, journal, start } = this.opened;
    return new Snapshots({
      state,
      log: journal,
      clock: this.clock,
      scheduler: disk.timeline,
      open: (base, onWritten) => this.#thread(base, onWritten),
      isSound: () => !this.engine.isHalted,
      everyBytes: snapshotBytes ?? Infinity,
      // One step a turn, so that records come between any two, and no real clock decides.
      turnMs: 0,
      start,
      onReport: onSnapshot,
    });
  }

  #thread(base: string | null, onWritten: () => void): SnapshotThread {
    const { disk, folder } = this.#options;
    const { timeline, random } = disk;
    const build = { folder, storeId: STORE_ID, base };
    const thread = new SnapshotThread({ timeline, random, disk: this.disk, build, onWritten });
    this.#threads.add(thread);
    return thread;
  }

  #sweepLater(): void {
    this.#options.disk.timeline.later(SWEEP_MS, () => {
      this.#options.onSweep();
      this.#sweepLater();
    });
  }

  /** As `Store.close` does. */
  async close(): Promise<void> {
    const { folder } = this.#options;
    await this.snapshots.stop();
    await this.journal.close();
    if (this.#options.snapshotBytes === null) return;
    const place = { disk: this.disk, folder, storeId: STORE_ID };
    this.snapshots.last((parts) => buildSnapshot(place, parts));
  }

  /**
   * The process has ended: real files that its threads have open are closed.
   * @returns Whether a thread was at work.
   */
  release(): boolean {
    return [...this.#threads].map((thread) => thread.release()).includes(true);
  }
}

/** Lets everything happen that waits for a promise. */
export async function microtasks(): Promise<void> {
  for (let i = 0; i < MICROTASKS; i++) await Promise.resolve();
}

/** Stands between the engine and its journal. */
class Witnessed implements Journal {
  readonly #journal: Journal;
  readonly #witness: Witness;

  constructor(journal: Journal, witness: Witness) {
    this.#journal = journal;
    this.#witness = witness;
  }

  admission(): Admission {
    return this.#journal.admission();
  }

  append(sequence: number, timeMs: number, record: LogRecord, space: LogSpace): Admission {
    const admission = this.#journal.append(sequence, timeMs, record, space);
    if (admission === Admission.OPEN) this.#witness.appended(sequence, timeMs, record);
    return admission;
  }

  set durable(told: (sequence: number) => void) {
    this.#journal.durable = (sequence) => {
      this.#witness.durable(sequence);
      told(sequence);
    };
  }
}

/** Replies are kept in clear here; a fingerprint is the request itself. */
const KEYS = {
  fingerprint: (head: string, body: Uint8Array) => `${head}\n${String(body)}`,
  seal: (text: string) => text,
  unseal: (text: string) => text,
};
