/**
 * `frontrow serve`: builds the parts, connects them, and stops them in order. The only file of the
 * server that knows the engine, the persistence and the HTTP front.
 */
import { randomBytes } from "node:crypto";
import path from "node:path";
import v8 from "node:v8";
import type { Logger } from "pino";
import { assert } from "../engine/assert.ts";
import type { Caller } from "../engine/bodies.ts";
import { PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN } from "../engine/constants.ts";
import type { Engine } from "../engine/engine.ts";
import { ActorKind } from "../engine/records.ts";
import { isRefused } from "../engine/results.ts";
import { FORMATS } from "../engine/schema.ts";
import { RecentChanges } from "../persistence/history/recent-changes.ts";
import { packedLayout, packLayout } from "../persistence/log/layout-packing.ts";
import {
  ExitCode,
  hasStore,
  type HostOptions,
  openEngine,
  type OpenOptions,
  type Store,
} from "../persistence/store/open-engine.ts";
import type { RecoveryProgress } from "../persistence/store/open-state.ts";
import { WaitingWork } from "./api/overload.ts";
import { ReplyBodies, type ReplyOptions, type Services } from "./api/services.ts";
import { rememberedQueries } from "./api/validate.ts";
import { Keys, sha256 } from "./auth/keys.ts";
import { RateLimits, Throttle } from "./auth/limits.ts";
import { Logins, Passwords } from "./auth/logins.ts";
import { Moves } from "./cells/moves.ts";
import { Copies } from "./cluster/copies.ts";
import {
  bracketed,
  clusterHostOf,
  clusterLines as clusterLinesOf,
  notLeader,
} from "./cluster/host.ts";
import { OpenCommandSockets } from "./commands/connection.ts";
import {
  BOOTSTRAP_VARIABLES,
  connectionsMaxOf,
  dataFolderOf,
  openFilesMax,
  type ServeOptions,
} from "./config.ts";
import { createDemo, DemoTraffic, describeDemo, findDemo } from "./demo.ts";
import { Dispatch } from "./dispatch.ts";
import { readSecret } from "./gateway/link-layout.ts";
import { OpenLinks } from "./gateway/link.ts";
import { NOT_READY, type Problem } from "./http/answers.ts";
import { Doors } from "./door/doors.ts";
import { StartingFront } from "./http/front.ts";
import { type HttpServer, type HttpStats, listen } from "./http/server.ts";
import { LargeLayouts } from "./layouts/large-layouts.ts";
import { LayoutThreads } from "./layouts/layout-thread.ts";
import { Live } from "./live/live.ts";
import { ensureMemory, memoryBudgets, memoryOfProcess, tooMuchMemory } from "./memory.ts";
import { AccessLog, createLog, warnUntrusted } from "./observe/log.ts";
import { Metrics } from "./observe/metrics.ts";
import { Progress, StoreReports } from "./observe/progress.ts";
import { STOP_SIGNALS, stopSignal, takeOtherSignals, UsageError, version } from "./program.ts";
import { routeTable } from "./routes/table.ts";
import { Webhooks } from "./webhooks/webhooks.ts";

const EXIT_BROKEN = 70;
const DRAIN_MS_MAX = 5_000;
const MEBIBYTE = 1024 * 1024;
/**
 * How much the JavaScript heap of a thread may grow between two collections of all garbage, in
 * percent of what is in use. By default it is up to 300 while much is thrown away, so that a tenant
 * who sends a lot makes the heap four times as large as it needs to be.
 */
const HEAP_GROWTH = "--heap-growing-percent=50";
const SECRET = /^[0-9a-f]{64}$/i;

const RECOVERING = {
  snapshot: "recovering: events of the snapshot",
  log: "recovering: segments of the log",
} as const;

/** Runs until a signal stops it. @throws StoreFault, UsageError, Error when it cannot start. */
export async function serve(options: ServeOptions, env: NodeJS.ProcessEnv): Promise<void> {
  ensureMemory(memoryOfProcess());
  v8.setFlagsFromString(HEAP_GROWTH);
  const log = createLog(options);
  const onBroken = (error: unknown) => endBroken(log, error);
  process.on("uncaughtException", onBroken);
  process.on("unhandledRejection", onBroken);
  const secret = env["FRONTROW_SECRET"];
  if (secret !== undefined && !SECRET.test(secret)) {
    throw new UsageError("FRONTROW_SECRET must have 64 hexadecimal digits");
  }
  if (options.demoTraffic && !options.demo) throw new UsageError("--demo-traffic needs --demo");
  const folder = dataFolderOf(options);
  if (!hasStore(folder)) checkVariables(env);
  checkToken("FRONTROW_PLATFORM_TOKEN", env["FRONTROW_PLATFORM_TOKEN"]);
  const { host, port, trustedProxy: trustedProxies = [] } = options;
  const { gatewaySecretFile: secretFile } = options;
  const gateways = secretFile === undefined ? null : new OpenLinks(readSecret(secretFile));
  const connectionsMax = connectionsMaxOf(options.maxConnections, openFilesMax());
  const stopping = stopSignal();
  const bounds = { connectionsMax, trustedProxies };
  const accessLog = options.accessLog === undefined ? null : new AccessLog(options.accessLog);
  takeOtherSignals(() => accessLog?.reopen(log));
  const onAnswer = accessLog?.answered.bind(accessLog);
  const told = { onBroken, onAnswer, onUntrustedProxy: warnUntrusted(log) };
  const http = await listen(new StartingFront(), { host, port, ...told, ...bounds });
  const reports = new StoreReports(log);
  const recent = new RecentChanges();
  const starting: OpenOptions = {
    folder,
    secret,
    cell: options.cell,
    snapshotBytes: options.snapshotEvery * MEBIBYTE,
    snapshotMinutes: options.snapshotMinutes,
    onSnapshot: (report) => reports.snapshot(report),
    audit: { days: options.auditDays, onReport: (report) => reports.audit(report) },
    onFailure: onBroken,
  };
  const copies = new Copies(path.resolve(folder), env["FRONTROW_PLATFORM_TOKEN"]);
  const cluster = clusterHostOf(options, http, { log, copies });
  const leave = cluster?.leave ?? (() => {});
  for (const signal of STOP_SIGNALS) process.once(signal, leave);
  const store = await openStore(http, { ...starting, cluster: cluster?.options }, recent);
  for (const signal of STOP_SIGNALS) process.off(signal, leave);
  const parts = { options, env, log, reports, accessLog, recent, gateways, copies, onBroken };
  const running = await open(store, http, parts);
  await stopping;
  await stopAll(running, http, { log, accessLog });
}

async function openStore(
  http: HttpServer,
  options: HostOptions,
  recent: RecentChanges,
): Promise<Store> {
  const progress = new Progress(process.stderr);
  const onProgress = ({ phase, done, total }: RecoveryProgress) => {
    progress.tell(RECOVERING[phase], done, total);
  };
  try {
    return await openEngine({ ...options, onProgress }, recent);
  } catch (error) {
    http.close();
    throw error;
  } finally {
    progress.stop();
  }
}

interface Context {
  readonly options: ServeOptions;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
  readonly reports: StoreReports;
  readonly accessLog: AccessLog | null;
  readonly recent: RecentChanges;
  readonly gateways: OpenLinks | null;
  readonly copies: Copies;
  readonly onBroken: (error: unknown) => never;
}

interface Running {
  readonly store: Store;
  live: Live | null;
  readonly doors: Doors;
  readonly webhooks: Webhooks;
  isReady: boolean;
  stopTraffic: () => void;
}

async function open(
  store: Store,
  http: HttpServer,
  { options, env, log, reports, accessLog, recent, gateways, copies, onBroken }: Context,
): Promise<Running> {
  const { engine } = store;
  const memory = memoryOfProcess();
  const budgets = memoryBudgets(options, memory);
  engine.state.quota = budgets;
  const warning = tooMuchMemory(budgets, memory);
  if (warning !== null) log.warn(warning);
  const platformToken = env["FRONTROW_PLATFORM_TOKEN"];
  const { cluster } = store;
  const isReady = () => running.isReady && cluster?.mayRead !== false;
  const notReady = () => (running.isReady ? notLeader(cluster!.status()) : NOT_READY);
  const clusterLines = cluster === null ? undefined : () => clusterLinesOf(cluster.status());
  const counted = { reports, http: http.stats, accessLog, recent, gateways, copies };
  const replyMemory = budgets.replies / MEBIBYTE;
  const parts = {
    ...options,
    replyMemory,
    platformToken,
    ...counted,
    isReady,
    notReady,
    clusterLines,
  };
  const services = servicesOf(store, parts);
  const { keys, live, doors, webhooks } = services;
  const running: Running = { store, live, doors, webhooks, isReady: true, stopTraffic: () => {} };
  reports.recovered(store.report);
  reports.rights(store.rights);
  // A process that was killed during its first start may have left a folder without a tenant.
  if (engine.state.catalog.tenants.size > 0) {
    warnIgnored(log, env);
  } else {
    const { tenantId, generated } = await bootstrap(engine, services, env);
    if (options.demo) createDemo(engine, tenantId);
    if (generated.length > 0) keepCredentials(store, generated);
  }
  await new Promise<void>((resolve) => {
    engine.afterDurable(resolve);
  });
  // A door whose time came while the server was down opens before anything else is accepted.
  await doors.begin(onBroken);
  http.front = new Dispatch(services, routeTable(version, platformToken !== undefined), log);
  webhooks.begin();
  const baseUrl = `http://${bracketed(options.host)}:${http.port}`;
  process.stdout.write(`frontrow listening on ${baseUrl}\n`);
  if (options.demo) running.stopTraffic = playDemo(store, keys, { baseUrl, ...options });
  return running;
}

/** What the services need beside the store. */
interface ServiceParts
  extends
    ReplyOptions,
    Pick<
      ServeOptions,
      | "metricsToken"
      | "badKeysPerMinute"
      | "badLoginsPerMinute"
      | "allowedOrigins"
      | "webhookPrivateAddresses"
    > {
  readonly platformToken: string | undefined;
  readonly reports: StoreReports;
  readonly http: HttpStats;
  readonly accessLog: AccessLog | null;
  readonly recent: RecentChanges;
  readonly gateways: OpenLinks | null;
  readonly copies: Copies;
  readonly isReady: () => boolean;
  readonly notReady?: () => Problem;
  readonly clusterLines?: (() => readonly string[]) | undefined;
}

/** @returns The services. The webhooks send nothing before they are told to begin. */
export function servicesOf(
  store: Store,
  parts: ServiceParts,
): Services & { readonly webhooks: Webhooks } {
  const { engine, audit } = store;
  const { reports, http, isReady, notReady, accessLog, gateways, copies, clusterLines } = parts;
  assert(audit !== null, "a server keeps an audit trail");
  const keys = new Keys(store.secret, engine.state.catalog, parts.platformToken);
  const passwords = new Passwords();
  const badLogins = new Throttle(parts.badLoginsPerMinute);
  const logins = new Logins(engine, passwords, keys, badLogins);
  const replies = new ReplyBodies(parts);
  const rates = new RateLimits();
  const waiting = new WaitingWork();
  const commands = new OpenCommandSockets();
  const live = new Live({ engine, audit, waiting, ...parts });
  const doors = new Doors(engine, store.secret);
  const badKeys = new Throttle(parts.badKeysPerMinute);
  const layoutThreads = new LayoutThreads();
  const callers = { keys, logins, passwords, badKeys, rates };
  const { folder, storeId } = store;
  const webhooks = new Webhooks({
    engine,
    audit,
    keys,
    folder,
    storeId,
    allowsPrivate: parts.webhookPrivateAddresses,
    report: (message) => reports.webhooks(message),
  });
  const queries = rememberedQueries;
  const work = { replies, waiting, commands, queries, layoutThreads, webhooks };
  const counted = { audit, http, accessLog, live, gateways, clusterLines, ...work, ...callers };
  const sources = { engine, version, log: store.logStats, store: reports, ...counted };
  const packer = { pack: packLayout, packed: packedLayout };
  const layouts = new LargeLayouts(engine, layoutThreads, packer);
  layouts.packAll();
  return {
    engine,
    audit,
    live,
    doors,
    commands,
    gateways,
    copies,
    layouts,
    keys,
    passwords,
    logins,
    badKeys,
    metrics: new Metrics(sources),
    replies,
    rates,
    waiting,
    webhooks,
    moves: new Moves({ engine, unpacked: packedLayout }, keys),
    metricsToken: parts.metricsToken ?? null,
    isReady,
    notReady,
  };
}

/** Generated credentials are never printed: whatever reads the output may keep it for long. */
function keepCredentials(store: Store, generated: Bootstrap["generated"]): void {
  const text = generated.map(([name, value]) => `${name}: ${value}\n`).join("");
  const file = store.writeSecret("first-credentials", text);
  process.stderr.write(
    `The first credentials are in ${file}: keep them elsewhere and delete it.\n`,
  );
}

/**
 * Prints how to try the demo. The commands read the key from a file, as a header for curl.
 *
 * @returns Ends its traffic.
 */
function playDemo(
  store: Store,
  keys: Keys,
  { baseUrl, demoTraffic }: { readonly baseUrl: string; readonly demoTraffic: boolean },
): () => void {
  const { engine } = store;
  const demo = findDemo(engine);
  if (demo === null) return () => {};
  const key = keys.organizationKey(demo.organization);
  const keyFile = store.writeSecret("demo-key", `X-API-Key: ${key}\n`);
  const traffic = demoTraffic ? new DemoTraffic(engine, demo) : null;
  const access = { baseUrl, key, keyFile, onSale: traffic?.event };
  process.stdout.write(`${describeDemo(engine, demo, access)}\n`);
  return traffic?.start() ?? (() => {});
}

function warnIgnored(log: Logger, env: NodeJS.ProcessEnv): void {
  for (const variable of BOOTSTRAP_VARIABLES) {
    if (env[variable] === undefined) continue;
    log.warn({ variable }, "ignored: the data folder is not empty");
  }
}

/**
 * Does what takes long while requests are still served. Then accepts no new ones, answers those in
 * flight, completes the log, and exits with 0.
 */
async function stopAll(
  running: Running,
  http: HttpServer,
  { log, accessLog }: { readonly log: Logger; readonly accessLog: AccessLog | null },
): Promise<void> {
  const { store, webhooks } = running;
  running.stopTraffic();
  log.info("stopping: a snapshot first, while requests are served");
  await store.prepareClose();
  running.isReady = false;
  running.doors.stop();
  running.live?.stop();
  // It reads the trail, whose thread is the last to leave the file. Before the drain: a test of a
  // webhook may take longer than that.
  await webhooks.close();
  const tooLong = new Promise<void>((resolve) => {
    setTimeout(resolve, DRAIN_MS_MAX);
  });
  await Promise.race([http.drain(), tooLong]);
  if (accessLog !== null) await Promise.race([accessLog.written(), tooLong]);
  await store.close(true);
  http.close();
  log.info("stopped");
  process.exit(0);
}

/**
 * Memory and disk may now differ, so nothing more is answered. The next start recovers. That
 * another host of the cluster leads is part of the plan.
 */
function endBroken(log: Logger, error: unknown): never {
  const { exitCode = EXIT_BROKEN, message } = error as { exitCode?: number; message?: string };
  const isExpected = exitCode === ExitCode.LEADERSHIP_LOST;
  if (isExpected) log.error({ exitCode }, `the process ends: ${message}`);
  else log.fatal({ err: error }, "the process ends: its state can no longer be trusted");
  process.exit(exitCode);
}

// Fills an empty data folder with its first tenant and super admin.

const GENERATED_BYTES = 18;
const TOKEN_LENGTH_MIN = 16;
const PRINTABLE = /^[\x21-\x7e]+$/;

const SYSTEM: Caller = {
  actor: { kind: ActorKind.SYSTEM, id: 0 },
  tenantId: 0,
  organizationId: 0,
};

interface Bootstrap {
  readonly tenantId: number;
  /** Generated credentials, to be written down once: name and value. */
  readonly generated: readonly (readonly [string, string])[];
}

/** Creates the tenant. @param env - Has passed `checkVariables`. */
export async function bootstrap(
  engine: Engine,
  services: { readonly keys: Keys; readonly passwords: Passwords },
  env: NodeJS.ProcessEnv,
): Promise<Bootstrap> {
  const { tenantToken, adminEmail, adminPassword } = variablesIn(env);
  const email = adminEmail ?? "admin@frontrow.local";
  const password = adminPassword ?? randomBytes(GENERATED_BYTES).toString("base64url");
  const passwordHash = await services.passwords.hash(password);
  assert(passwordHash !== null, "the first account has a place");
  const tokenSha256 = tenantToken === undefined ? null : sha256(tenantToken);
  const tenant = engine.submit({
    kind: "createTenant",
    caller: SYSTEM,
    name: "default",
    tokenSha256,
    administrator: { email, firstName: "", lastName: "", passwordHash },
  });
  if (isRefused(tenant)) throw new Error(tenant.detail);
  const token = services.keys.tenantToken(tenant.value);
  const generated: (readonly [string, string])[] = [];
  if (token !== null) generated.push(["tenant token", token]);
  if (adminEmail === undefined) generated.push(["admin email", email]);
  if (adminPassword === undefined) generated.push(["admin password", password]);
  return { tenantId: tenant.value.id, generated };
}

/** @throws UsageError naming the variable when its token is too short or not printable ASCII. */
function checkToken(variable: string, token: string | undefined): void {
  if (token === undefined) return;
  if (token.length >= TOKEN_LENGTH_MIN && PRINTABLE.test(token)) return;
  throw new UsageError(`${variable} must have at least ${TOKEN_LENGTH_MIN} printable characters`);
}

/** @throws UsageError naming the variable. */
export function checkVariables(env: NodeJS.ProcessEnv): void {
  const { tenantToken, adminEmail, adminPassword } = variablesIn(env);
  checkToken("FRONTROW_TENANT_TOKEN", tenantToken);
  if (adminEmail !== undefined && FORMATS["email"]?.(adminEmail) !== true) {
    throw new UsageError("FRONTROW_ADMIN_EMAIL must be an email address");
  }
  const length =
    adminPassword === undefined ? PASSWORD_LENGTH_MIN : Array.from(adminPassword).length;
  if (length < PASSWORD_LENGTH_MIN || length > PASSWORD_LENGTH_MAX) {
    const range = `${PASSWORD_LENGTH_MIN} to ${PASSWORD_LENGTH_MAX}`;
    throw new UsageError(`FRONTROW_ADMIN_PASSWORD must have ${range} characters`);
  }
}

function variablesIn(env: NodeJS.ProcessEnv) {
  const [tenantToken, adminEmail, adminPassword] = BOOTSTRAP_VARIABLES.map((name) => env[name]);
  return { tenantToken, adminEmail, adminPassword };
}
