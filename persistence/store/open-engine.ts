/**
 * The engine on a data folder, in this process: what `import { openEngine } from "frontrow"` gives.
 * It takes the same commands as the HTTP interface and answers each once it is on disk.
 */
import { randomUUID } from "node:crypto";
import path from "node:path";
import type { CommandKind, CommandOf } from "../../engine/commands.ts";
import type { AnswerOf } from "../../engine/decide.ts";
import type { Engine, Outcome } from "../../engine/engine.ts";
import { ActorKind } from "../../engine/records.ts";
import { type FieldError, isGranted } from "../../engine/results.ts";
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
import { composeCommand, refuseCommand } from "./shape-check.ts";

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

/** @throws StoreFault. */
export async function openEngine(options: OpenOptions): Promise<Store> {
  const folder = path.resolve(options.folder);
  const onFailure = options.onFailure ?? endProcess;
  return new Store(await openStore(realPlatform, { ...options, folder, onFailure }));
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

  constructor(store: OpenStore) {
    this.engine = store.engine;
    this.report = store.report;
    this.logStats = store.journal.stats;
    this.isFresh = store.dataFolder.fresh;
    this.secret = store.dataFolder.secret;
    this.audit = store.audit;
    this.#store = store;
  }

  /**
   * Runs a command. A refusal is a value: `refused` tells it from a success, whose answer is
   * `value`. Settles once everything that the answer rests on is on disk.
   */
  async execute<K extends CommandKind>(command: CommandOf<K>): Promise<Outcome<AnswerOf<K>>> {
    const composed = composeCommand(command);
    const outcome = refuseCommand(this.engine.state, composed) ?? this.engine.submit(composed);
    await this.#durable();
    return outcome;
  }

  /** Reads the state. Settles once everything that was read is on disk. */
  async read<Value>(read: (state: State) => Value): Promise<Value> {
    this.engine.expireAll();
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

  /** Writes credentials to a file of the data folder, mode 0600. @returns Its path. */
  writeCredentials(text: string): string {
    return this.#store.dataFolder.writeCredentials(text);
  }

  /** Begins a snapshot now, unless one is in progress; `onSnapshot` reports its outcome. */
  requestSnapshot(): void {
    this.#store.snapshots.request();
  }

  /** Settles once everything is on disk and the folder is free for another process. */
  close(): Promise<void> {
    return this.#store.close();
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
