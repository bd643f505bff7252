/**
 * The engine on a data folder, in this process. It takes the same commands as the HTTP interface
 * and answers each once it is on disk.
 */
import { randomUUID } from "node:crypto";
import path from "node:path";
import type { CommandKind, CommandOf } from "../../engine/commands.ts";
import type { AnswerOf } from "../../engine/decide.ts";
import type { Engine, Outcome } from "../../engine/engine.ts";
import type { Observer } from "../../engine/ports.ts";
import { ActorKind } from "../../engine/records.ts";
import type { Caller } from "../../engine/shapes/caller.ts";
import type { State } from "../../engine/state.ts";
import type { AuditThread } from "../audit/thread.ts";
import { isStore } from "../disk/data-folder.ts";
import { namesIn, realDisk } from "../disk/disk.ts";
import type { StoreFault } from "../disk/faults.ts";
import type { LogStats } from "../log/log-writer.ts";
import type { SnapshotReport } from "../snapshot/options.ts";
import type { RecoveryProgress, StateReport } from "./open-state.ts";
import { type AuditOptions, type OpenStore, openStore } from "./open-store.ts";
import { realPlatform } from "./platform.ts";
import { resultOf, valueOf } from "./results.ts";
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
  /** A snapshot is taken each time the log has grown by so many bytes; 256 MiB by default. */
  readonly snapshotBytes?: number | undefined;
  /** Called after every snapshot that was taken or has failed; a failed one loses nothing. */
  readonly onSnapshot?: ((report: SnapshotReport) => void) | undefined;
  /**
   * Keeps the audit trail, in `audit.sqlite`; without it there is none. Once a folder has a trail,
   * always open it with one: the log keeps every record that the trail lacks.
   */
  readonly audit?: AuditOptions | undefined;
  /** Called from time to time with the progress of recovery. */
  readonly onProgress?: ((progress: RecoveryProgress) => void) | undefined;
}

/**
 * @param observer - Notified of every record that is written from now on.
 * @throws StoreFault.
 */
export async function openEngine(options: OpenOptions, observer?: Observer): Promise<Store> {
  const folder = path.resolve(options.folder);
  const onFailure = options.onFailure ?? endProcess;
  const store = await openStore(realPlatform, { ...options, folder, onFailure, observer });
  return new Store(store, folder);
}

/** Whether there is a store in the folder. Changes nothing. */
export function hasStore(folder: string): boolean {
  return isStore(namesIn(realDisk, path.resolve(folder)));
}

function endProcess(fault: StoreFault): void {
  process.stderr.write(`${fault.message}\n`);
  process.exit(fault.exitCode);
}

/** An open engine. */
export class Store {
  /** The engine itself, for callers that wait for the disk with `afterDurable`. */
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
  readonly #store: OpenStore;
  readonly #folder: string;
  #isClosed = false;

  constructor(store: OpenStore, folder: string) {
    this.engine = store.engine;
    this.report = store.report;
    this.logStats = store.journal.stats;
    this.isFresh = store.dataFolder.fresh;
    this.secret = store.dataFolder.secret;
    this.audit = store.audit;
    this.#store = store;
    this.#folder = folder;
  }

  /**
   * Runs a command. A refusal is a value: `refused` tells it from a success, whose answer is
   * `value`. Settles once everything that the answer rests on is on disk.
   *
   * @throws StoreClosed.
   */
  async execute<K extends CommandKind>(command: CommandOf<K>): Promise<Outcome<AnswerOf<K>>> {
    this.#demandOpen();
    const outcome = refuseCommand(this.engine.state, command) ?? this.engine.submit(command);
    await this.#durable();
    return outcome;
  }

  /** Reads the state. Settles once everything that was read is on disk. @throws StoreClosed. */
  async read<Value>(read: (state: State) => Value): Promise<Value> {
    this.#demandOpen();
    const value = read(this.engine.state);
    await this.#durable();
    return value;
  }

  /** The caller that acts for the organization of that name, which is created if necessary. */
  async callerFor(name: string): Promise<Caller> {
    const { organizations } = this.engine.state.catalog;
    const known = [...organizations.values()].find((organization) => organization.name === name);
    const organization = known ?? (await this.#createOrganization(name));
    const { id, tenantId } = organization;
    return { actor: { kind: ActorKind.ORGANIZATION, id }, tenantId, organizationId: id };
  }

  async #createOrganization(name: string) {
    const [known] = this.engine.state.catalog.tenants.values();
    const secrets = { tokenSha256: null, administrator: null };
    const tenant = { kind: "createTenant", name: "default", ...secrets } as const;
    const { id } = known ?? (await this.#give({ ...tenant, caller: systemCaller(0) }));
    return this.#give({
      kind: "createOrganization",
      caller: systemCaller(id),
      body: { name },
      administrator: null,
      publicKey: randomUUID(),
      privateKey: randomUUID(),
    });
  }

  /** @throws Refused. */
  async #give<K extends CommandKind>(command: CommandOf<K>): Promise<AnswerOf<K>> {
    return valueOf(resultOf(await this.execute(command)));
  }

  /** Begins a snapshot now, unless one is in progress; `onSnapshot` reports its outcome. */
  requestSnapshot(): void {
    this.#store.snapshots.request();
  }

  /** Settles once everything is on disk and the folder is free for another process. */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.#store.close();
  }

  #demandOpen(): void {
    if (this.#isClosed) throw new StoreClosed(this.#folder);
  }

  #durable(): Promise<void> {
    return new Promise((resolve) => {
      this.engine.afterDurable(resolve);
    });
  }
}

/** A call after `close`. */
export class StoreClosed extends Error {
  override readonly name = "StoreClosed";

  constructor(folder: string) {
    super(`the store in ${folder} was closed; open it again`);
  }
}

/** Acts for a tenant as a whole; 0 for the operator. */
export function systemCaller(tenantId: number): Caller {
  return { actor: { kind: ActorKind.SYSTEM, id: 0 }, tenantId, organizationId: 0 };
}
