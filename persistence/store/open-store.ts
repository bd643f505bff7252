/**
 * Assembles a store: the only place that joins engine, log, snapshots, audit trail and data folder.
 * Everything else comes from the platform, so a simulation runs exactly this code.
 */
import { apply, noteSequence } from "../../engine/apply.ts";
import { assert } from "../../engine/assert.ts";
import { Engine, type Position } from "../../engine/engine.ts";
import type { Observer } from "../../engine/ports.ts";
import type { State } from "../../engine/state.ts";
import { auditedSequence } from "../history/archive.ts";
import { type AuditReport, makeAuditFile } from "../history/keeper.ts";
import { HistoryThread } from "../history/thread.ts";
import { CellKeys } from "../cluster/etcd.ts";
import { FollowedLog } from "../cluster/follower.ts";
import { ClusterHost } from "../cluster/host.ts";
import { type ClusterOptions, NoSuchCell, TooFarBehind } from "../cluster/options.ts";
import { type MachineTime, type Scheduler, ServiceClock } from "../disk/clock.ts";
import {
  containsStore,
  type DataFolder,
  openDataFolder,
  type StorePlace,
} from "../disk/data-folder.ts";
import type { Disk } from "../disk/disk.ts";
import type { StoreFault } from "../disk/faults.ts";
import { readFileNow } from "../disk/transfer.ts";
import {
  LOG_FOLDER,
  padToSector,
  payloadIsIntact,
  readFrameHeader,
  SEGMENT_HEADER_BYTES,
  segmentName,
} from "../log/frame.ts";
import { type ChainMark, findSegments } from "../log/log-reader.ts";
import { type LogStats, LogWriter, type OnBatch } from "../log/log-writer.ts";
import { beginEpoch, BROKEN_SUFFIX, type LogOptions } from "../log/recover.ts";
import { type BuildParts, buildSnapshot, prune, type SnapshotReport } from "../snapshot/build.ts";
import { Snapshots, TURN_MS } from "../snapshot/snapshots.ts";
import { SnapshotThread } from "../snapshot/thread.ts";
import {
  openState,
  type ReadState,
  type RecoveryProgress,
  type StateReport,
} from "./open-state.ts";
import type { Platform } from "./platform.ts";

/** The options of the library, and those of everyone who opens a store. */
export interface OpenOptions {
  /** Path of the data folder, which is created if necessary. One process at a time may use it. */
  readonly folder: string;
  /** The master secret, 64 hexadecimal digits, when it is not kept in the folder. */
  readonly secret?: string | undefined;
  /** The number of the cell, 0 by default: the range of ids and sequence numbers of a new store. */
  readonly cell?: number | undefined;
  /**
   * Called once when the log can no longer be written: the process must end, because the changes in
   * memory may never reach the disk. By default it ends at once with the fault's exit code.
   */
  readonly onFailure?: ((fault: StoreFault) => void) | undefined;
  /** A snapshot is taken each time the log has grown by this many bytes; 256 MiB by default. */
  readonly snapshotBytes?: number | undefined;
  /** A snapshot is also taken when there are new records and the last one is this old; 10. */
  readonly snapshotMinutes?: number | undefined;
  /** Called after every snapshot and every failed one. A failed snapshot loses nothing. */
  readonly onSnapshot?: ((report: SnapshotReport) => void) | undefined;
  /**
   * Keeps the audit trail in `audit.sqlite`; by default there is none. Once a folder has a trail,
   * always open it with this option: otherwise the log keeps every record that the trail lacks.
   */
  readonly audit?: AuditOptions | undefined;
  /** Called from time to time during recovery. */
  readonly onProgress?: ((progress: RecoveryProgress) => void) | undefined;
}

/** The options of a store that may be on several hosts. */
export interface HostOptions extends OpenOptions {
  /** Makes this a host of a cluster; by default the store is on this host alone. */
  readonly cluster?: ClusterOptions | undefined;
}

export interface StoreOptions extends HostOptions {
  /** Absolute. */
  readonly folder: string;
  readonly onFailure: (fault: StoreFault) => void;
  /** Whole sectors; 64 MiB by default. */
  readonly segmentBytes?: number | undefined;
  /** As in `LogWriterOptions`. */
  readonly recordBytesMax?: number | undefined;
  /** As `turnMs` of `SnapshotsOptions`; `TURN_MS` by default. */
  readonly snapshotTurnMs?: number | undefined;
  /** Notified of every record before the snapshots are. */
  readonly observer?: StoreObserver | undefined;
}

/** Follows the records of a store from its opening on. */
export interface StoreObserver extends Observer {
  /** Called once, before the first record. @param sequence - Of the last record on disk. */
  begin?(state: State, sequence: number): void;
  /** As `OnBatch`. */
  keep?(payload: Buffer, firstSequence: number, recordCount: number): void;
}

export interface AuditOptions {
  /** Days for which transitions are kept; null for ever. */
  readonly days: number | null;
  /** Called when an operator should know something about the trail. */
  readonly onReport: (report: AuditReport) => void;
}

/** An open store. */
export interface OpenStore {
  readonly engine: Engine;
  readonly journal: LogWriter;
  readonly report: StateReport;
  readonly dataFolder: DataFolder;
  /** Null when the store was opened without `audit`. */
  readonly audit: HistoryThread | null;
  readonly snapshots: Snapshots;
  /** The host of a cluster that leads; null for a store on a single host. */
  readonly cluster: ClusterHost | null;
  /**
   * Does in advance, while the store is in use, what would delay `close`: adds the records to the
   * trail, and makes a snapshot. Takes 32 seconds at most, and changes nothing for callers.
   */
  prepareClose(): Promise<void>;
  /**
   * Settles when everything is on disk and another process may use the folder.
   * @param isEnding - The process ends afterwards, so the trail may leave records to the next one.
   */
  close(isEnding?: boolean): Promise<void>;
}

/** Interval of ending expired holds of all events, and of checking the last snapshot's age. */
const SWEEP_MS = 500;
/** Wait of `prepareClose` for the snapshot. */
const FINAL_MS_MAX = 12_000;
/** Wait for the trail at the close of an ending process. */
const TRAIL_END_MS_MAX = 100;
/** After an on-sale, thousands of holds may end in the same second. */
const HOLDS_PER_TURN = 1_000;
const SNAPSHOT_BYTES = 256 * 1024 * 1024;
const SNAPSHOT_MINUTES = 10;
const MINUTE_MS = 60_000;

/**
 * On a host of a cluster, this settles when the host leads. After a pause another one may lead by
 * then, so `mayRead` of the cluster has to hold for each answer.
 * @throws StoreFault; then another process may use the folder.
 */
export async function openStore(platform: Platform, options: StoreOptions): Promise<OpenStore> {
  const { disk, randomBytes, time } = platform;
  const { folder, secret, cell, cluster } = options;
  const clock = new ServiceClock(time);
  if (cluster !== undefined) await refuseNewFolder(platform, folder, cluster);
  const clusterCell = cluster?.cell;
  const facts = { secret, cell, clusterCell };
  const dataFolder = openDataFolder({ disk, folder, clock, randomBytes, ...facts });
  try {
    const prepared = await prepare(platform, options, { clock, dataFolder });
    const { log, report } = prepared;
    if (log instanceof LogWriter) return begin(prepared, { journal: log, position: report });
    return begin(prepared, await leading(log, prepared));
  } catch (error) {
    dataFolder.close();
    throw error;
  }
}

/** The parts of a store without its engine. */
interface Prepared {
  readonly platform: Platform;
  readonly place: StorePlace;
  readonly clock: ServiceClock;
  readonly dataFolder: DataFolder;
  readonly state: State;
  readonly log: LogWriter | HostLog;
  readonly report: StateReport;
  readonly audit: HistoryThread | null;
  readonly thread: SnapshotThread;
  readonly snapshots: Snapshots;
  readonly observer: Observer;
  /** Null until there is one. */
  engine: Engine | null;
}

async function prepare(
  platform: Platform,
  options: StoreOptions,
  { clock, dataFolder }: Pick<Prepared, "clock" | "dataFolder">,
): Promise<Prepared> {
  const { disk, scheduler, time, startSnapshotThread } = platform;
  const { folder, cell, onFailure, onProgress, segmentBytes, recordBytesMax, cluster } = options;
  const onBatch: OnBatch = (...batch) => options.observer?.keep?.(...batch);
  const { storeId, secret, hasLog: mustExist } = dataFolder;
  const place = { disk, folder, storeId };
  if (cluster !== undefined) setAsideEmpty(disk, folder);
  const timing = { clock, scheduler, runningMs: () => time.runningMs() };
  const onChecked = () => dataFolder.upgrade();
  const sizes = { segmentBytes, recordBytesMax };
  const shared = { ...place, ...timing, ...sizes, onBatch, onFailure };
  const reading = { ...shared, mustExist, cell, onProgress, onChecked };
  const { state, log, report, start } = await openState<Prepared["log"]>(reading, (read) => {
    if (cluster === undefined) return beginEpoch(shared, read.scan);
    return Promise.resolve(new HostLog({ ...shared, secret, time, cluster, read }));
  });
  const audit = openAudit(platform, options, { storeId, journal: log });
  const thread = new SnapshotThread({ folder, storeId }, startSnapshotThread);
  const snapshots = new Snapshots({
    ...timing,
    state,
    start,
    log,
    open: (base, onWritten) => thread.begin(base, onWritten),
    isSound: () => prepared.engine?.isHalted !== true,
    everyBytes: options.snapshotBytes ?? SNAPSHOT_BYTES,
    everyMs: (options.snapshotMinutes ?? SNAPSHOT_MINUTES) * MINUTE_MS,
    turnMs: options.snapshotTurnMs ?? TURN_MS,
    onReport: options.onSnapshot ?? (() => {}),
  });
  options.observer?.begin?.(state, report.sequence);
  const observer = both(options.observer, snapshots);
  const parts = { audit, thread, snapshots, observer, engine: null };
  const prepared: Prepared = { platform, place, clock, dataFolder, state, log, report, ...parts };
  return prepared;
}

/** Follows the leader of the cluster until this host leads. */
async function leading(log: HostLog, prepared: Prepared): Promise<Led> {
  const { platform, state, observer, snapshots, audit, thread } = prepared;
  const settle = inTurns(platform.scheduler, () => state.partitions.settleStep());
  const stopSweep = platform.scheduler.every(SWEEP_MS, () => {
    settle();
    snapshots.tick();
  });
  try {
    return await log.lead(observer);
  } catch (error) {
    await snapshots.stop();
    await audit?.close();
    await thread.close();
    throw error;
  } finally {
    stopSweep();
  }
}

function begin(prepared: Prepared, { journal, position, cluster }: Led): OpenStore {
  const { platform, place, clock, state, observer, snapshots, report } = prepared;
  const { audit, thread, dataFolder } = prepared;
  const { scheduler } = platform;
  // A host of a cluster has had no log until now if it has just founded the cell.
  if (!dataFolder.hasLog) dataFolder.markHasLog();
  // Without a record after the snapshot, the log does not tell the time.
  clock.atLeast(Math.max(report.timeMs, position.timeMs));
  const confirm = cluster?.confirm;
  const engine = new Engine(state, position, { clock, journal, observer, confirm });
  prepared.engine = engine;
  const settle = inTurns(scheduler, () => engine.settle());
  const expire = inTurns(scheduler, () => engine.expireAll(HOLDS_PER_TURN));
  const stopSweep = scheduler.every(SWEEP_MS, () => {
    expire();
    settle();
    snapshots.tick();
  });
  const audited = () => auditedSequence(place.disk, place.folder, place.storeId);
  const writeLast = (parts: BuildParts) => {
    const built = buildSnapshot(place, parts);
    return { ...built, ...prune({ ...place, audited, newest: built.name, base: parts.base }) };
  };
  const lastSnapshot = () => snapshots.last(writeLast);
  const parts = { engine, journal, report, dataFolder, audit, snapshots, cluster: cluster ?? null };
  const prepareClose = async () => {
    thread.hurry();
    await snapshots.final(FINAL_MS_MAX);
  };
  let closing: Promise<void> | undefined;
  const close = (isEnding = false) => {
    const ends = trailEnds(parts, scheduler, isEnding);
    return (closing ??= closeAll(parts, { thread, stopSweep, lastSnapshot, ...ends }));
  };
  return { ...parts, prepareClose, close };
}

function openAudit(
  { disk, scheduler, startHistory: start }: Platform,
  { audit, folder }: StoreOptions,
  {
    storeId,
    journal,
  }: { readonly storeId: string; readonly journal: Pick<LogWriter, "mark" | "whenWritten"> },
): HistoryThread | null {
  if (audit === undefined) return null;
  makeAuditFile(disk, folder);
  const archived = auditedSequence(disk, folder, storeId) ?? 0;
  const source = {
    mark: () => journal.mark,
    whenWritten: (done: () => void) => journal.whenWritten(done),
  };
  return new HistoryThread({ ...audit, folder, storeId, archived, ...source, start, scheduler });
}

/** The folder is not released while the trail's thread still writes to it. */
function trailEnds(
  { audit, dataFolder }: Pick<OpenStore, "audit" | "dataFolder">,
  scheduler: Scheduler,
  isEnding: boolean,
): Pick<Closing, "closeTrail" | "release"> {
  let end: Promise<void> | undefined;
  const ended = () => (end ??= audit?.close() ?? Promise.resolve());
  let trail: Promise<void> | undefined;
  const closeTrail = () =>
    (trail ??= within(scheduler, isEnding ? TRAIL_END_MS_MAX : Infinity, ended()));
  const release = () => {
    const released = ended().finally(() => dataFolder.close());
    return within(scheduler, isEnding ? 0 : Infinity, released);
  };
  return { closeTrail, release };
}

/** Waits for the work, but not longer than `msMax`. */
async function within(
  scheduler: Scheduler,
  msMax: number,
  work: Promise<unknown> | undefined,
): Promise<void> {
  if (msMax === Infinity) return void (await work);
  let cancel = () => {};
  const tooLong = new Promise<void>((resolve) => {
    cancel = scheduler.later(msMax, resolve);
  });
  await Promise.race([work, tooLong]);
  cancel();
}

/** @returns A function that runs `step`, once a turn, until it has nothing left to do. */
function inTurns(scheduler: Scheduler, step: () => boolean): () => void {
  let isRunning = false;
  const run = () => {
    isRunning = step();
    if (isRunning) scheduler.soon(run);
  };
  return () => {
    if (!isRunning) run();
  };
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

interface Closing {
  readonly thread: SnapshotThread;
  readonly stopSweep: () => void;
  readonly closeTrail: () => Promise<void>;
  readonly lastSnapshot: () => void;
  readonly release: () => Promise<void>;
}

/**
 * Ordering: the last snapshot comes after the log, durable to its end, and after the trail, because
 * segments missing in the trail are kept. The folder is released last.
 */
async function closeAll(
  { snapshots, journal, cluster }: Omit<OpenStore, "prepareClose" | "close">,
  { thread, stopSweep, closeTrail, lastSnapshot, release }: Closing,
): Promise<void> {
  stopSweep();
  try {
    thread.hurry();
    await snapshots.stop();
    await journal.close();
    // Another host may lead from now on: everything is in the log.
    await new Promise<void>((resolve) => {
      if (cluster === null) resolve();
      else cluster.leave(resolve);
    });
    await closeTrail();
    lastSnapshot();
  } finally {
    await closeTrail();
    await thread.close();
    await release();
  }
}

// The log of a host of a cluster: followed until the host leads, and written from then on.

const ASK_DEADLINE_MS = 2_000;
const RETRY_DELAY_MS = 200;

export interface HostLogOptions extends Omit<LogOptions, "replay" | "start" | "check">, StorePlace {
  readonly time: MachineTime;
  readonly cluster: ClusterOptions;
  readonly secret: string;
  readonly read: ReadState;
}

/** Begin of the engine of a leader. */
interface Led {
  readonly journal: LogWriter;
  readonly position: Position;
  readonly cluster?: ClusterHost;
}

/** Shows snapshots and trail one log, whoever writes it. */
class HostLog {
  readonly #options: HostLogOptions;
  readonly #followed: FollowedLog;
  readonly #host: ClusterHost;
  #observer: Observer | null = null;
  #journal: LogWriter | null = null;
  #begun: { resolve: (led: Led) => void; reject: (fault: StoreFault) => void } | null = null;

  constructor(options: HostLogOptions) {
    const { disk, folder, storeId, secret, clock, scheduler, time, cluster, read } = options;
    const { onBatch } = options;
    this.#options = options;
    const onFault = (fault: StoreFault) => this.#fail(fault);
    this.#followed = new FollowedLog({
      disk,
      clock,
      storeId,
      onBatch,
      onFault,
      folder: `${folder}/${LOG_FOLDER}`,
      scan: read.scan,
      newest: read.newest,
      onDurable: (sequence) => this.#observer!.durable(sequence),
    });
    this.#host = new ClusterHost({
      ...cluster,
      scheduler,
      time,
      disk,
      folder,
      storeId,
      secret,
      onFault,
      log: this.#followed,
      onLead: () => void this.#lead(),
    });
    this.#replayWithEngine(read);
  }

  get mark(): ChainMark | null {
    return (this.#journal ?? this.#followed).mark;
  }

  get hasFailed(): boolean {
    return (this.#journal ?? this.#followed).hasFailed;
  }

  /** As of the log of a leader. */
  whenWritten(done: () => void): void {
    if (this.#journal === null) done();
    else this.#journal.whenWritten(done);
  }

  get stats(): Pick<LogStats, "bytes"> {
    const led = this.#journal?.stats.bytes ?? 0;
    return { bytes: this.#followed.bytes + led };
  }

  /** Settles when this host leads. To be called once. @throws StoreFault when it never can. */
  lead(observer: Observer): Promise<Led> {
    assert(this.#observer === null, "a host is started once");
    this.#observer = observer;
    return new Promise((resolve, reject) => {
      this.#begun = { resolve, reject };
      this.#host.start();
      this.#options.cluster.onStanding?.(this.#host);
    });
  }

  /** The same steps as in the engine, in the same order. */
  #replayWithEngine({ state, scan, replayWith }: ReadState): void {
    state.sequence = scan.sequence;
    replayWith((sequence, timeMs, record) => {
      this.#observer!.beforeApply(sequence, timeMs, record);
      state.sequence = sequence;
      noteSequence(state, sequence, record);
      apply(state, record, timeMs, sequence);
    });
  }

  async #lead(): Promise<void> {
    const host = this.#host;
    const { read, scheduler } = this.#options;
    const pendingRecords = () => this.#journal?.stats.pendingRecords ?? 0;
    const gathering = new Gathering(scheduler, pendingRecords);
    const { sequence, timeMs } = read.scan;
    try {
      const journal = await beginEpoch(
        {
          ...this.#options,
          commit: (frame, place, done) => host.commit(frame, place, done),
          hasRoom: () => host.hasRoom,
          gather: gathering,
        },
        read.scan,
      );
      this.#journal = journal;
      host.lead(journal);
      this.#begun!.resolve({ journal, position: { sequence, timeMs }, cluster: host });
    } catch (error) {
      this.#fail(error as StoreFault);
    }
  }

  #fail(fault: StoreFault): void {
    if (this.#journal === null) this.#begun!.reject(fault);
    else this.#journal.fail(fault);
  }
}

/**
 * An empty folder is for a host that founds a cell. When the cell has a store already, the folder
 * needs a copy of it.
 * @throws TooFarBehind, NoSuchCell; then nothing was changed.
 */
async function refuseNewFolder(
  { disk, scheduler }: Platform,
  folder: string,
  { etcd, cell, founds = false }: ClusterOptions,
): Promise<void> {
  if (containsStore(disk, folder)) return;
  const { store } = new CellKeys(cell);
  const request = { from: store, to: `${store}\0`, limit: 1 };
  await new Promise<void>((resolve, reject) => {
    const ask = () =>
      etcd.range(request, ASK_DEADLINE_MS, (reply) => {
        if (reply.kind !== "done") scheduler.later(RETRY_DELAY_MS, ask);
        else if (reply.value.pairs.length > 0) {
          reject(new TooFarBehind(folder, "it is empty, and the cell has a store"));
        } else if (founds) resolve();
        else reject(new NoSuchCell(folder, cell, false));
      });
    ask();
  });
}

// Batch delay of a leader. A frame takes several milliseconds, and waiting clients send their next
// request on its answer. A frame with the first of these alone would make most others wait for the
// frame after it, and each frame costs processor time on all hosts. So a frame waits for as many
// requests as the last one answered, while they arrive.

const LOOK_EVERY_MS = 1;
/** After so many looks in a row without another record, none is expected any more. */
const QUIET_LOOKS = 3;
/** Bounds the delay: without it, a constant stream of requests would delay all of them. */
const LOOKS_MAX = 6;

/** A frame that waits for records. */
interface Waiting {
  readonly send: () => void;
  /** At the last look. */
  readonly records: number;
  readonly looks: number;
  readonly quietLooks: number;
}

export class Gathering {
  readonly #scheduler: Scheduler;
  readonly #pendingRecords: () => number;
  #sentRecords = 0;
  #expectedRecords = 0;
  #waiting: Waiting | null = null;
  #cancelLook: (() => void) | null = null;

  /** @param pendingRecords - How many records the next frame has so far. */
  constructor(scheduler: Scheduler, pendingRecords: () => number) {
    this.#scheduler = scheduler;
    this.#pendingRecords = pendingRecords;
  }

  /** To be called before the answers of the last frame leave: those who get them come back. */
  answered(): void {
    this.#expectedRecords = this.#pendingRecords() + this.#sentRecords;
  }

  /** To be called when the next frame may leave and has something, or with its first record. */
  begin(send: () => void): void {
    const records = this.#pendingRecords();
    this.#waiting = { send, records, looks: 0, quietLooks: 0 };
    this.#scheduler.soon(() => this.#look());
  }

  /** To be called with each further record. */
  added(): void {
    if (this.#waiting !== null && this.#pendingRecords() === this.#expectedRecords) {
      this.#scheduler.soon(() => this.#look());
    }
  }

  #look(): void {
    const waiting = this.#waiting;
    if (waiting === null) return;
    const { send, looks } = waiting;
    const records = this.#pendingRecords();
    const quietLooks = records > waiting.records ? 0 : waiting.quietLooks + 1;
    const isDue = quietLooks === QUIET_LOOKS || looks === LOOKS_MAX;
    this.#cancelLook?.();
    if (records >= this.#expectedRecords || isDue) {
      this.#sentRecords = records;
      this.#waiting = null;
      this.#cancelLook = null;
      return send();
    }
    this.#waiting = { send, records, looks: looks + 1, quietLooks };
    this.#cancelLook = this.#scheduler.later(LOOK_EVERY_MS, () => this.#look());
  }
}

// Sets a newest segment without a whole frame aside. A leader begins a segment before the first
// frame of it is in etcd; if the host is lost in between, another leader begins the same segment.

/** @param folder - The data folder. @returns True when there was one. */
export function setAsideEmpty(disk: Disk, folder: string): boolean {
  const newest = findSegments(disk, folder).at(-1);
  if (newest === undefined) return false;
  const log = `${folder}/${LOG_FOLDER}`;
  const path = `${log}/${segmentName(newest)}`;
  const bytes = readFileNow(disk, path);
  const header = readFrameHeader(bytes, SEGMENT_HEADER_BYTES);
  if (header !== null) {
    const end = SEGMENT_HEADER_BYTES + padToSector(header.frameBytes);
    const frame = bytes.subarray(SEGMENT_HEADER_BYTES, end);
    if (end <= bytes.length && payloadIsIntact(frame)) return false;
  }
  disk.renameNow(path, `${path}${BROKEN_SUFFIX}`);
  disk.syncFolderNow(log);
  return true;
}
