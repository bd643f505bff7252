/**
 * The library: `import { openEngine } from "frontrow"` opens an engine on a data folder in this
 * process. It takes the commands of the HTTP interface and answers each once it is on disk.
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
import { containsStore } from "../disk/data-folder.ts";
import { realDisk } from "../disk/disk.ts";
import type { StoreFault } from "../disk/faults.ts";
import type { LogStats } from "../log/log-writer.ts";
import type { StateReport } from "./open-state.ts";
import { type OpenOptions, type OpenStore, openStore } from "./open-store.ts";
import { realPlatform } from "./platform.ts";
import { composeCommand, refuseCommand } from "./shape-check.ts";

export type { OpenOptions };

/** @throws StoreFault. */
export async function openEngine(options: OpenOptions): Promise<Store> {
  const folder = path.resolve(options.folder);
  const onFailure = options.onFailure ?? endProcess;
  return new Store(await openStore(realPlatform, { ...options, folder, onFailure }));
}

/** Whether there is a store in the folder. Changes nothing. */
export function hasStore(folder: string): boolean {
  return containsStore(realDisk, path.resolve(folder));
}

function endProcess(fault: StoreFault): void {
  process.stderr.write(`${fault.message}\n`);
  process.exit(fault.exitCode);
}

/** An open store, as a user of the library sees it. */
export class Store {
  /** For callers that themselves wait for the disk with `afterDurable`. */
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
    this.isFresh = store.dataFolder.isFresh;
    this.secret = store.dataFolder.secret;
    this.audit = store.audit;
    this.#store = store;
  }

  /**
   * Runs a command. A refusal is a value: `isGranted` distinguishes it from a success, whose answer
   * is `value`. Settles once everything that the outcome depends on is on disk.
   */
  async execute<K extends CommandKind>(command: CommandOf<K>): Promise<Outcome<AnswerOf<K>>> {
    const composed = composeCommand(command);
    const outcome = refuseCommand(this.engine.state, composed) ?? this.engine.submit(composed);
    await this.#durable();
    return outcome;
  }

  /** Runs `read` on the current state. Settles once everything it may have read is on disk. */
  async read<Value>(read: (state: State) => Value): Promise<Value> {
    this.engine.expireAll();
    const value = read(this.engine.state);
    await this.#durable();
    return value;
  }

  /** @returns A caller that acts for the organization, which is created if it does not exist. */
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

  /** Begins a snapshot now, unless one is in progress. `onSnapshot` reports its outcome. */
  requestSnapshot(): void {
    this.#store.snapshots.request();
  }

  /** Settles once everything is on disk and another process may use the folder. */
  close(): Promise<void> {
    return this.#store.close();
  }

  #durable(): Promise<void> {
    return new Promise((resolve) => {
      this.engine.afterDurable(resolve);
    });
  }
}

/** @returns The answer of a command that must succeed. @throws Refused when it was refused. */
export function valueOf<Value>(outcome: Outcome<Value>): Value {
  if (isGranted(outcome)) return outcome.value;
  throw new Refused(outcome.detail, outcome.errors);
}

/** An unexpected refusal. */
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
