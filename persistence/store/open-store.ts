/**
 * Puts a store together: the only place that joins engine, log, snapshots, audit trail and data
 * folder. What it runs on is the platform, so a simulation runs exactly this code.
 */
import { Engine } from "../../engine/engine.ts";
import type { Observer } from "../../engine/ports.ts";
import { auditedSequence } from "../audit/file.ts";
import { type AuditReport, makeAuditFile } from "../audit/keeper.ts";
import { AuditThread } from "../audit/thread.ts";
import { type DataFolder, openDataFolder } from "../disk/data-folder.ts";
import type { StoreFault } from "../disk/faults.ts";
import { ServiceClock } from "../disk/service-clock.ts";
import type { LogWriter } from "../log/log-writer.ts";
import { buildSnapshot } from "../snapshot/build.ts";
import type { SnapshotReport } from "../snapshot/options.ts";
import { Snapshots, TURN_MS } from "../snapshot/snapshots.ts";
import { SnapshotThread } from "../snapshot/thread.ts";
import { openState, type RecoveryProgress, type StateReport } from "./open-state.ts";
import type { Platform } from "./platform.ts";

export interface StoreOptions {
  /** Absolute path of the data folder. */
  readonly folder: string;
  /** The master secret, 64 hexadecimal digits, when it is kept elsewhere than in the folder. */
  readonly secret?: string | undefined;
  /** Called once when the log can no longer be written: the process must end. */
  readonly onFailure: (fault: StoreFault) => void;
  readonly onProgress?: ((progress: RecoveryProgress) => void) | undefined;
  /** A snapshot is taken each time the log has grown by so many bytes; 256 MiB by default. */
  readonly snapshotBytes?: number | undefined;
  readonly onSnapshot?: ((report: SnapshotReport) => void) | undefined;
  /** Keeps the audit trail; without it there is none. */
  readonly audit?: AuditOptions | undefined;
  /** 64 MiB by default. */
  readonly segmentBytes?: number | undefined;
  /** How long a turn may copy for a snapshot; `TURN_MS` by default. */
  readonly snapshotTurnMs?: number | undefined;
  /** Notified of every record, before the snapshots are. */
  readonly observer?: Observer | undefined;
}

export interface AuditOptions {
  /** Days for which transitions are kept; null for ever. */
  readonly days: number | null;
  /** Called with what an operator should know about the trail. */
  readonly onReport: (report: AuditReport) => void;
}

/** Expired holds are ended at least this often. */
const SWEEP_MS = 500;
const SNAPSHOT_BYTES = 256 * 1024 * 1024;

/** @throws StoreFault; the folder is free again then. */
export async function openStore(platform: Platform, options: StoreOptions): Promise<OpenStore> {
  const { disk, scheduler, randomBytes, time, startSnapshotThread } = platform;
  const { folder, secret, onFailure, onProgress, segmentBytes } = options;
  const clock = new ServiceClock(time);
  const dataFolder = openDataFolder({ disk, folder, clock, secret, randomBytes });
  try {
    const { storeId, hasLog: mustExist } = dataFolder;
    const place = { disk, folder, storeId };
    const timing = { clock, scheduler };
    const log = { mustExist, segmentBytes, onFailure, onProgress };
    const { state, journal, report, start } = await openState({ ...place, ...timing, ...log });
    if (!mustExist) dataFolder.keepHasLog();
    clock.atLeast(report.timeMs);
    const audit = openAudit(platform, options, { storeId, journal });
    const thread = new SnapshotThread({ folder, storeId }, startSnapshotThread);
    const snapshots = new Snapshots({
      ...timing,
      state,
      start,
      log: journal,
      open: (base, onWritten) => thread.begin(base, onWritten),
      isSound: () => !engine.isHalted,
      everyBytes: options.snapshotBytes ?? SNAPSHOT_BYTES,
      turnMs: options.snapshotTurnMs ?? TURN_MS,
      onReport: options.onSnapshot ?? (() => {}),
    });
    const observer = both(options.observer, snapshots);
    const engine = new Engine(state, report, { clock, journal, observer });
    const stopSweep = scheduler.every(SWEEP_MS, () => engine.expireAll());
    const audited = () => auditedSequence(disk, folder, storeId);
    const lastSnapshot = () => {
      snapshots.last((parts) => buildSnapshot({ ...place, audited }, parts));
    };
    const parts = { engine, journal, report, dataFolder, audit, snapshots };
    return new OpenStore({ ...parts, thread, stopSweep, lastSnapshot });
  } catch (error) {
    dataFolder.close();
    throw error;
  }
}

function openAudit(
  { disk, scheduler, startAuditThread: startThread }: Platform,
  { audit, folder }: StoreOptions,
  { storeId, journal }: { readonly storeId: string; readonly journal: LogWriter },
): AuditThread | null {
  if (audit === undefined) return null;
  makeAuditFile(disk, folder);
  const projected = auditedSequence(disk, folder, storeId) ?? 0;
  const mark = () => journal.mark;
  return new AuditThread({ ...audit, folder, storeId, projected, mark, scheduler, startThread });
}

function both(first: Observer | undefined, second: Observer): Observer {
  if (first === undefined) return second;
  return {
    beforeApply(sequence, timeMs, record) {
      first.beforeApply(sequence, timeMs, record);
      second.beforeApply(sequence, timeMs, record);
    },
    durable(sequence) {
      first.durable(sequence);
      second.durable(sequence);
    },
  };
}

interface Parts {
  readonly engine: Engine;
  readonly journal: LogWriter;
  readonly report: StateReport;
  readonly dataFolder: DataFolder;
  readonly audit: AuditThread | null;
  readonly snapshots: Snapshots;
  readonly thread: SnapshotThread;
  readonly stopSweep: () => void;
  readonly lastSnapshot: () => void;
}

/** The parts of an open store, and how they end together. */
export class OpenStore {
  readonly engine: Engine;
  readonly journal: LogWriter;
  readonly report: StateReport;
  readonly dataFolder: DataFolder;
  /** Null when the store was opened without `audit`. */
  readonly audit: AuditThread | null;
  readonly snapshots: Snapshots;
  readonly #parts: Parts;
  #closing: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.engine = parts.engine;
    this.journal = parts.journal;
    this.report = parts.report;
    this.dataFolder = parts.dataFolder;
    this.audit = parts.audit;
    this.snapshots = parts.snapshots;
    this.#parts = parts;
  }

  /** Settles when everything is on disk and the folder is free for another process. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /**
   * Ordering: the last snapshot needs a log that is durable to its end, and prunes by what the
   * trail has. The folder is released last.
   */
  async #close(): Promise<void> {
    const { thread, stopSweep, lastSnapshot } = this.#parts;
    stopSweep();
    try {
      thread.hurry();
      await this.snapshots.stop();
      await this.journal.close();
      await this.audit?.close();
      lastSnapshot();
    } finally {
      await this.audit?.close();
      await thread.close();
      this.dataFolder.close();
    }
  }
}
