/**
 * The engine on a data folder, in this process: what `import { openEngine } from "frontrow"` gives.
 * The same commands as over HTTP, each answered when it is on disk.
 */
import { randomUUID } from "node:crypto";
import path from "node:path";
import type { CommandKind, CommandOf } from "../../engine/commands.ts";
import type { AnswerOf } from "../../engine/decide.ts";
import { Engine, type Outcome } from "../../engine/engine.ts";
import { ActorKind } from "../../engine/records.ts";
import { type FieldError, isGranted } from "../../engine/results.ts";
import type { Caller } from "../../engine/shapes/caller.ts";
import type { State } from "../../engine/state.ts";
import { auditedSequence } from "../audit/file.ts";
import { type AuditReport, makeAuditFile } from "../audit/keeper.ts";
import { AuditThread, type AuditThreadOptions } from "../audit/thread.ts";
import { type DataFolder, isStore, openDataFolder } from "../disk/data-folder.ts";
import { namesIn, realDisk } from "../disk/disk.ts";
import { type StoreFault } from "../disk/faults.ts";
import { realScheduler } from "../disk/scheduler.ts";
import { realTime, ServiceClock } from "../disk/service-clock.ts";
import type { LogStats, LogWriter } from "../log/log-writer.ts";
import { buildSnapshot } from "../snapshot/build.ts";
import type { SnapshotReport } from "../snapshot/options.ts";
import { Snapshots, TURN_MS } from "../snapshot/snapshots.ts";
import { SnapshotThread } from "../snapshot/thread.ts";
import { openState, type RecoveryProgress, type StateReport } from "./open-state.ts";
import { refuseCommand } from "./shape-check.ts";

export interface OpenOptions {
  /** Path of the data folder; made when it is missing. One process at a time has it. */
  readonly folder: string;
  /** The master secret, 64 hexadecimal digits, when it is kept elsewhere than in the folder. */
  readonly secret?: string | undefined;
  /**
   * Called once when the log can no longer be written: the process must end, since what memory
   * holds may never reach the disk. Without it, the process ends at once with the fault's exit
   * code.
   */
  readonly onFailure?: ((fault: StoreFault) => void) | undefined;
  /** A snapshot is made each time the log has grown by so many bytes; 256 MiB when not given. */
  readonly snapshotBytes?: number | undefined;
  /** Told of every snapshot that was made, or could not be made; the latter loses nothing. */
  readonly onSnapshot?: ((report: SnapshotReport) => void) | undefined;
  /**
   * Keeps the audit trail, in `audit.sqlite`; without it there is none. Once a folder has a trail,
   * open it always with one: the log keeps all that the trail lacks.
   */
  readonly audit?: AuditOptions | undefined;
  /** Told now and then how far recovery is. */
  readonly onProgress?: ((progress: RecoveryProgress) => void) | undefined;
}

export interface AuditOptions {
  /** Days for which transitions are kept; null for ever. */
  readonly days: number | null;
  /** Told what an operator is to know of the trail. */
  readonly onReport: (report: AuditReport) => void;
}

/** Holds that have run out are ended at least this often. */
const SWEEP_MS = 500;
const SNAPSHOT_BYTES = 256 * 1024 * 1024;

export async function openEngine(options: OpenOptions): Promise<Store> {
  const folder = path.resolve(options.folder);
  const clock = new ServiceClock(realTime);
  const { secret } = options;
  const dataFolder = openDataFolder({ disk: realDisk, folder, clock, secret });
  try {
    const { storeId } = dataFolder;
    const place = { disk: realDisk, folder, storeId };
    const { state, journal, report, start } = await openState({
      ...place,
      mustExist: dataFolder.hasLog,
      clock,
      scheduler: realScheduler,
      onFailure: options.onFailure ?? endProcess,
      onProgress: options.onProgress,
    });
    if (!dataFolder.hasLog) dataFolder.keepHasLog();
    const audit = openAudit(options.audit, {
      folder,
      storeId,
      mark: () => journal.mark,
    });
    clock.atLeast(report.timeMs);
    const thread = new SnapshotThread({ folder, storeId });
    const snapshots = new Snapshots({
      state,
      log: journal,
      clock,
      scheduler: realScheduler,
      open: (base, onWritten) => thread.begin(base, onWritten),
      isSound: () => !engine.isHalted,
      everyBytes: options.snapshotBytes ?? SNAPSHOT_BYTES,
      turnMs: TURN_MS,
      start,
      onReport: options.onSnapshot ?? (() => {}),
    });
    const engine = new Engine(state, report, { clock, journal: snapshots });
    return new Store({
      engine,
      journal,
      report,
      dataFolder,
      audit,
      snapshots,
      thread,
      lastSnapshot: () => {
        snapshots.last((parts) => buildSnapshot(place, parts));
      },
    });
  } catch (error) {
    dataFolder.close();
    throw error;
  }
}

function openAudit(
  options: AuditOptions | undefined,
  log: Pick<AuditThreadOptions, "folder" | "storeId" | "mark">,
): AuditThread | null {
  if (options === undefined) return null;
  makeAuditFile(realDisk, log.folder);
  const projected = auditedSequence(realDisk, log.folder, log.storeId) ?? 0;
  return new AuditThread({ ...log, ...options, projected });
}

/** Whether there is a store in the folder already. Changes nothing. */
export function hasStore(folder: string): boolean {
  return isStore(namesIn(realDisk, path.resolve(folder)));
}

function endProcess(fault: StoreFault): void {
  process.stderr.write(`${fault.message}\n`);
  process.exit(fault.exitCode);
}

interface Parts {
  readonly engine: Engine;
  readonly journal: LogWriter;
  readonly report: StateReport;
  readonly dataFolder: DataFolder;
  readonly audit: AuditThread | null;
  readonly snapshots: Snapshots;
  readonly thread: SnapshotThread;
  /** Makes a snapshot of the end, when anything changed. */
  readonly lastSnapshot: () => void;
}

/** An open engine. */
export class Store {
  /** The engine itself, for those who wait for the disk with `afterDurable`. */
  readonly engine: Engine;
  readonly report: StateReport;
  /** Counters of the log since it was opened. */
  readonly logStats: LogStats;
  /** Whether the data folder was empty. */
  readonly isFresh: boolean;
  /** The master secret of the keys, 64 hexadecimal digits. */
  readonly secret: string;
  /** Every transition of every seat and area; null when `audit` was not given. */
  readonly audit: AuditThread | null;
  readonly #parts: Parts;
  readonly #sweep: NodeJS.Timeout;
  #closing: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.engine = parts.engine;
    this.report = parts.report;
    this.logStats = parts.journal.stats;
    this.isFresh = parts.dataFolder.fresh;
    this.secret = parts.dataFolder.secret;
    this.audit = parts.audit;
    this.#parts = parts;
    this.#sweep = setInterval(() => parts.engine.expireAll(), SWEEP_MS);
    this.#sweep.unref();
  }

  /**
   * Runs a command. A refusal is a value: `refused` tells it from a success, whose answer is
   * `value`. Settles once what was answered is on disk.
   */
  async execute<K extends CommandKind>(command: CommandOf<K>): Promise<Outcome<AnswerOf<K>>> {
    const outcome = refuseCommand(this.engine.state, command) ?? this.engine.submit(command);
    await this.#durable();
    return outcome;
  }

  /** Reads the state. Settles once what was read is on disk. */
  async read<Value>(read: (state: State) => Value): Promise<Value> {
    this.engine.expireAll();
    const value = read(this.engine.state);
    await this.#durable();
    return value;
  }

  /** The caller that acts for the organization of that name, which is made if there is none. */
  async callerFor(name: string): Promise<Caller> {
    const { organizations } = this.engine.state.catalog;
    const known = [...organizations.values()].find((organization) => organization.name === name);
    const organization = known ?? (await this.#createOrganization(name));
    const { id, tenantId } = organization;
    return { actor: { kind: ActorKind.ORGANIZATION, id }, tenantId, organizationId: id };
  }

  async #createOrganization(name: string) {
    const [tenant] = this.engine.state.catalog.tenants.values();
    const { id } =
      tenant ??
      valueOf(
        await this.execute({
          kind: "createTenant",
          caller: systemCaller(0),
          name: "default",
          tokenSha256: null,
          administrator: null,
        }),
      );
    return valueOf(
      await this.execute({
        kind: "createOrganization",
        caller: systemCaller(id),
        body: { name },
        administrator: null,
        publicKey: randomUUID(),
        privateKey: randomUUID(),
      }),
    );
  }

  /** Begins a snapshot now, unless one is in the making; `onSnapshot` tells how it went. */
  requestSnapshot(): void {
    this.#parts.snapshots.request();
  }

  /** Settles once everything is on disk and the folder is free for another process. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    clearInterval(this.#sweep);
    const { snapshots, journal, audit, lastSnapshot, thread, dataFolder } = this.#parts;
    try {
      thread.hurry();
      await snapshots.stop();
      await journal.close();
      await audit?.close();
      lastSnapshot();
    } finally {
      await audit?.close();
      await thread.close();
      dataFolder.close();
    }
  }

  #durable(): Promise<void> {
    return new Promise((resolve) => {
      this.engine.afterDurable(resolve);
    });
  }
}

/** The answer of a command that must not be refused. @throws Refused when it was. */
export function valueOf<Value>(outcome: Outcome<Value>): Value {
  if (isGranted(outcome)) return outcome.value;
  throw new Refused(outcome.detail, outcome.errors);
}

/** A refusal where none was expected. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly errors: readonly FieldError[];

  constructor(detail: string, errors: readonly FieldError[]) {
    const fields = errors.map(({ field, code, message }) => `${field} ${code}: ${message}`);
    super([detail, ...fields].join("; "));
    this.errors = errors;
  }
}

function systemCaller(tenantId: number): Caller {
  return { actor: { kind: ActorKind.SYSTEM, id: 0 }, tenantId, organizationId: 0 };
}
