/**
 * Opens an engine on a data folder in this process. It takes the commands of the HTTP interface and
 * answers each once it is on disk.
 */
import { randomUUID } from "node:crypto";
import path from "node:path";
import type { Caller } from "../../engine/bodies.ts";
import type { AnswerOf, CommandKind, CommandOf } from "../../engine/commands.ts";
import type { Engine, Outcome } from "../../engine/engine.ts";
import { labelKey } from "../../engine/names.ts";
import { ActorKind } from "../../engine/records.ts";
import type { RefusedObject } from "../../engine/queries/alternatives.ts";
import { isGranted, type Refusal as EngineRefusal, Result as Codes } from "../../engine/results.ts";
import type { State } from "../../engine/state.ts";
import type { HistoryThread } from "../history/thread.ts";
import type { ClusterHost } from "../cluster/host.ts";
import { containsStore, type FolderRights } from "../disk/data-folder.ts";
import { realDisk } from "../disk/disk.ts";
import { ExitCode, type StoreFault } from "../disk/faults.ts";
import type { LogStats } from "../log/log-writer.ts";
import type { StateReport } from "./open-state.ts";
import {
  type HostOptions,
  type OpenOptions,
  type OpenStore,
  openStore,
  type StoreObserver,
} from "./open-store.ts";
import { realPlatform } from "./platform.ts";
import { composeCommand, refuseCommand } from "./shape-check.ts";

export { ExitCode, type HostOptions, type OpenOptions };

/**
 * @param observer - Notified of every record that is written from now on.
 * @throws StoreFault.
 */
export async function openEngine(options: HostOptions, observer?: StoreObserver): Promise<Store> {
  const folder = path.resolve(options.folder);
  const onFailure = options.onFailure ?? endProcess;
  const store = await openStore(realPlatform, { ...options, folder, onFailure, observer });
  return new Store(store, folder);
}

/** There is a store in the folder. Changes nothing. */
export function hasStore(folder: string): boolean {
  return containsStore(realDisk, path.resolve(folder));
}

function endProcess(fault: StoreFault): void {
  process.stderr.write(`${fault.message}\n`);
  process.exit(fault.exitCode);
}

/** @returns The value of a command, from its answer and the state right after it. */
export type Show<K extends CommandKind, Shown> = (answer: AnswerOf<K>, state: State) => Shown;

/** @returns The refusal with what the state right after it can add. */
export type Help = (refusal: EngineRefusal, state: State) => EngineRefusal;

/** An open store, as a user of the library sees it. */
export class Store {
  /** For callers that themselves wait for the disk with `afterDurable`. */
  readonly engine: Engine;
  readonly report: StateReport;
  /** Counters of the log since it was opened. */
  readonly logStats: Readonly<LogStats>;
  /** The data folder was empty. */
  readonly isFresh: boolean;
  readonly rights: FolderRights;
  /** The master secret of the keys, 64 hexadecimal digits. */
  readonly secret: string;
  /** Every transition of every seat and area; null when `audit` was not given. */
  readonly audit: HistoryThread | null;
  /** The host of a cluster that leads; null for a store on this host alone. */
  readonly cluster: ClusterHost | null;
  readonly #store: OpenStore;
  /** Absolute path of the data folder. */
  readonly folder: string;
  readonly storeId: string;
  #isClosed = false;

  constructor(store: OpenStore, folder: string) {
    this.engine = store.engine;
    this.report = store.report;
    this.logStats = store.journal.stats;
    this.isFresh = store.dataFolder.isFresh;
    this.rights = store.dataFolder.rights;
    this.secret = store.dataFolder.secret;
    this.audit = store.audit;
    this.cluster = store.cluster;
    this.#store = store;
    this.folder = folder;
    this.storeId = store.dataFolder.storeId;
  }

  /**
   * Runs a command. A refusal is a value: `isGranted` distinguishes it from a success, whose answer
   * is `value`. Settles once everything that the outcome depends on is on disk.
   *
   * @param show - Makes the value of an answer, from the state right after the command.
   * @param help - Adds to a refusal, likewise.
   * @throws StoreClosed, NotLeading.
   */
  async execute<K extends CommandKind, Shown = AnswerOf<K>>(
    command: CommandOf<K>,
    show: Show<K, Shown> = (answer) => answer as never,
    help: Help = (refusal) => refusal,
  ): Promise<Outcome<Shown>> {
    this.#demandOpen();
    const composed = composeCommand(command);
    const { state } = this.engine;
    const outcome = refuseCommand(state, composed) ?? this.engine.submit(composed);
    const shown = isGranted(outcome)
      ? { ...outcome, value: show(outcome.value, state) }
      : help(outcome, state);
    await this.#durable();
    return shown;
  }

  /**
   * Runs `read` on the current state. Settles once everything it may have read is on disk.
   *
   * @throws StoreClosed, NotLeading.
   */
  async read<Value>(read: (state: State) => Value): Promise<Value> {
    this.#demandOpen();
    const value = read(this.engine.state);
    await this.#durable();
    return value;
  }

  /** @returns A caller for the organization with the name, created if necessary. */
  async callerFor(name: string): Promise<Caller> {
    const { organizations } = this.engine.state.catalog;
    const key = labelKey(name);
    const known = [...organizations.values()].find((found) => labelKey(found.name) === key);
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
    });
  }

  /** @throws Refused. */
  async #give<K extends CommandKind>(command: CommandOf<K>): Promise<AnswerOf<K>> {
    return valueOf(resultOf(await this.execute(command)));
  }

  /** Writes a secret to a file of the data folder, mode 0600. @returns Its path. */
  writeSecret(name: string, text: string): string {
    return this.#store.dataFolder.writeSecret(name, text);
  }

  /** Begins a snapshot now, unless one is in progress. `onSnapshot` reports its outcome. */
  requestSnapshot(): void {
    this.#store.snapshots.request();
  }

  /** As `prepareClose` of `OpenStore`: makes a `close` that follows short. */
  prepareClose(): Promise<void> {
    return this.#store.prepareClose();
  }

  /**
   * Settles once everything is on disk and another process may use the folder.
   * @param isEnding - As `close` of `OpenStore`.
   */
  close(isEnding?: boolean): Promise<void> {
    this.#isClosed = true;
    return this.#store.close(isEnding);
  }

  #demandOpen(): void {
    if (this.#isClosed) throw new StoreClosed(this.folder);
    if (this.cluster?.mayRead === false) throw new NotLeading();
  }

  #durable(): Promise<void> {
    return new Promise((resolve) => {
      this.engine.afterDurable(resolve);
    });
  }
}

/**
 * A call on a host of a cluster whose lease may have ended, so that another host may lead. Nothing
 * was done. Either the host leads on, and later calls succeed, or `onFailure` is called.
 */
export class NotLeading extends Error {
  override readonly name = "NotLeading";

  constructor() {
    super("this host of the cluster may no longer lead; try again shortly");
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

// Outcomes as the library shows them: a value, or a refusal whose code is a name.

/** By the number that the engine uses. */
export type CodeNames = { readonly [Name in keyof typeof Codes as (typeof Codes)[Name]]: Name };

/** Why a call was refused. */
export type RefusalCode = Exclude<keyof typeof Codes, "OK"> | "HISTORY_GONE";

/** Result of a call: `ok` tells a value from a refusal. A refused call changed nothing. */
export type Result<Value, Code extends RefusalCode = RefusalCode> =
  | { readonly ok: true; readonly value: Value }
  | Refusal<Code>;

export interface Refusal<Code extends RefusalCode = RefusalCode> {
  readonly ok: false;
  readonly code: Code;
  /** One sentence for a person. */
  readonly detail: string;
  /** Every refused object or member, in the order of the request. Empty when the code says all. */
  readonly errors: readonly RefusedObject[];
  /** What else the refusal says: of NOTHING_SUITABLE `largestTogether` and `available`. */
  readonly members?: Readonly<Record<string, number>>;
}

const NAMES = new Map(Object.entries(Codes).map(([name, code]) => [code, name as RefusalCode]));

export function resultOf<Value>(outcome: Outcome<Value>): Result<Value> {
  if (isGranted(outcome)) return { ok: true, value: outcome.value };
  const { refused, detail, errors, members } = outcome;
  const more = members === undefined ? {} : { members };
  return { ok: false, code: NAMES.get(refused)!, detail, errors, ...more };
}

/**
 * The value of a result, where no refusal is expected.
 *
 * @throws Refused when the call was refused.
 */
export function valueOf<Value>(result: Result<Value>): Value {
  if (result.ok) return result.value;
  throw new Refused(result);
}

/** A refusal where none was expected. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly code: RefusalCode;
  /** As in `Refusal`. */
  readonly errors: readonly RefusedObject[];

  constructor({ code, detail, errors }: Refusal) {
    const fields = errors.map(({ field, code: fault, message }) => `${field} ${fault}: ${message}`);
    super([detail, ...fields].join("; "));
    this.code = code;
    this.errors = errors;
  }
}
