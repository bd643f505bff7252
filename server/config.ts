/**
 * The options of `frontrow serve`, in one table. Each is a flag and an environment variable; the
 * flag takes precedence.
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import { CELL_MAX } from "../engine/cells.ts";
import { TrustedProxies } from "./http/client-address.ts";
import { LOG_FORMATS, LOG_LEVELS, type LogOptions } from "./observe/log.ts";
import { UsageError } from "./program.ts";

// The option `--cluster`: where the member of etcd is, and the cell.

interface CellAddress {
  /** Host and port of the member of etcd. */
  readonly etcd: string;
  readonly cell: string;
}

const PROTOCOL = "etcd:";
const DEFAULT_PORT = "2379";
const CELL = /^\/([A-Za-z0-9][A-Za-z0-9._-]{0,63})$/;

/** @returns Null for other text, and for port 0, on which nobody listens. */
export function addressIn(text: string): URL | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  return url?.port === "0" ? null : url;
}

/** @returns Null when the text is not `etcd://host[:port]/cell`. */
export function parseCellAddress(text: string): CellAddress | null {
  const url = addressIn(text);
  if (url?.protocol !== PROTOCOL || url.hostname === "") return null;
  const { hostname, port, pathname, search, hash, username } = url;
  const [, cell] = CELL.exec(pathname) ?? [];
  if (cell === undefined || search + hash + username !== "") return null;
  return { etcd: `${hostname}:${port === "" ? DEFAULT_PORT : port}`, cell };
}

export interface ServeOptions extends LogOptions {
  readonly host: string;
  readonly port: number;
  /** Absent when none was chosen: see `dataFolderOf`. */
  readonly data?: string;
  /** The number of the cell: the range of its ids. */
  readonly cell: number;
  readonly demo: boolean;
  /** Whether buyers buy at the demo. */
  readonly demoTraffic: boolean;
  readonly metricsToken?: string;
  readonly badKeysPerMinute: number;
  /** Addresses and networks of proxies; absent when none is trusted. */
  readonly trustedProxy?: readonly string[];
  /** Web origins whose pages may use tickets; absent for none. */
  readonly allowedOrigins?: readonly string[];
  readonly badLoginsPerMinute: number;
  /** Open connections, at most; null for what the limit on open files allows. */
  readonly maxConnections: number | null;
  /** Growth of the log between two snapshots, in MiB. */
  readonly snapshotEvery: number;
  /** Age of the last snapshot after which another is made. */
  readonly snapshotMinutes: number;
  /** Days for which the audit trail is kept; null for no limit. */
  readonly auditDays: number | null;
  /** Memory for stored replies, null for the default, and disk space for their bodies, in MiB. */
  readonly replyMemory: number | null;
  readonly replyDisk: number;
  /** Memory for rows and layouts, and for the seats of events, in MiB; null for the default. */
  readonly catalogMemory: number | null;
  readonly eventMemory: number | null;
  /** A file for a line for each request, or `-` for standard output; absent for no such log. */
  readonly accessLog?: string;
  /** Makes this a host of a cluster; absent for a server on its own. */
  readonly cluster?: CellAddress;
  /** Founds the cell. Without a variable: no later start may do so by itself. */
  readonly clusterFound: boolean;
  /** The name of this host in the cluster; null for that of the machine. */
  readonly clusterHost: string | null;
  /** Where clients reach this host; null for the address that it listens on. */
  readonly clusterAddress: string | null;
  /** Seconds after which another host may lead, when this one has not been heard of. */
  readonly clusterLease: number;
  /** Whether every answer waits for a read of etcd. */
  readonly clusterStrictReads: boolean;
  /** Whether webhooks may go to private addresses, and over plain HTTP. */
  readonly webhookPrivateAddresses: boolean;
  /** A file with the secret that gateways must have; absent for a server without gateways. */
  readonly gatewaySecretFile?: string;
}

const DATA = "./data";
/** The demo leaves `DATA` free for a store of one's own. */
const DEMO_DATA = "./demo-data";

const OPTIONS: readonly Option[] = [
  new Option("--host <address>", "address to listen on").env("FRONTROW_HOST").default("127.0.0.1"),
  new Option("--port <number>", "port to listen on; 0 for any free port")
    .env("FRONTROW_PORT")
    .default(8080)
    .argParser(parsePort),
  new Option(
    "--data <folder>",
    `data folder; created if it does not exist (default: "${DATA}", with --demo "${DEMO_DATA}")`,
  ).env("FRONTROW_DATA"),
  new Option("--cell <number>", "range of the ids that this server gives out; see /docs/cells")
    .env("FRONTROW_CELL")
    .default(0)
    .argParser(parseCell),
  new Option(
    "--demo",
    "on an empty data folder, create a demo event and print how to try it (env: FRONTROW_DEMO)",
  ).default(isOn(process.env["FRONTROW_DEMO"])),
  new Option(
    "--demo-traffic",
    "with --demo: sell an arena slowly, by itself (env: FRONTROW_DEMO_TRAFFIC)",
  ).default(isOn(process.env["FRONTROW_DEMO_TRAFFIC"])),
  new Option(
    "--metrics-token <token>",
    "bearer token that /metrics requires; without it /metrics is open",
  ).env("FRONTROW_METRICS_TOKEN"),
  new Option(
    "--bad-keys-per-minute <number>",
    "requests without a valid key that one address may send per minute",
  )
    .env("FRONTROW_BAD_KEYS_PER_MINUTE")
    .default(6_000)
    .argParser(parseCount),
  new Option(
    "--trusted-proxy <addresses>",
    "proxies whose X-Forwarded-For names the client: addresses or networks, separated by commas",
  )
    .env("FRONTROW_TRUSTED_PROXY")
    .argParser(parseProxies),
  new Option(
    "--allowed-origins <origins>",
    "web origins whose pages may follow events with tickets, separated by commas",
  )
    .env("FRONTROW_ALLOWED_ORIGINS")
    .argParser(parseOrigins),
  new Option(
    "--bad-logins-per-minute <number>",
    "wrong passwords that one address may send per minute",
  )
    .env("FRONTROW_BAD_LOGINS_PER_MINUTE")
    .default(100)
    .argParser(parseCount),
  new Option("--max-connections <number>", "connections that may be open at the same time")
    .env("FRONTROW_MAX_CONNECTIONS")
    .default(null, "what the limit on open files allows")
    .argParser(parseCount),
  new Option("--snapshot-every <MiB>", "growth of the log between two snapshots")
    .env("FRONTROW_SNAPSHOT_EVERY")
    .default(256)
    .argParser(parsePositive),
  new Option("--snapshot-minutes <number>", "minutes between two snapshots of a log that grows")
    .env("FRONTROW_SNAPSHOT_MINUTES")
    .default(10)
    .argParser(parsePositive),
  new Option("--audit-days <number>", "days for which the audit trail is kept")
    .env("FRONTROW_AUDIT_DAYS")
    .default(null, "no limit")
    .argParser(parseCount),
  new Option("--reply-memory <MiB>", "memory for the replies to requests with an Idempotency-Key")
    .env("FRONTROW_REPLY_MEMORY")
    .default(null, "512 MiB but at most an eighth of the free memory")
    .argParser(parsePositive),
  new Option("--reply-disk <MiB>", "disk space for the longer ones of these replies")
    .env("FRONTROW_REPLY_DISK")
    .default(1_024)
    .argParser(parsePositive),
  new Option("--catalog-memory <MiB>", "memory for layouts, prices and everything else but events")
    .env("FRONTROW_CATALOG_MEMORY")
    .default(null, "half of the JavaScript heap but at most a quarter of the free memory")
    .argParser(parsePositive),
  new Option("--event-memory <MiB>", "memory for the seats of events")
    .env("FRONTROW_EVENT_MEMORY")
    .default(null, "half of the free memory")
    .argParser(parsePositive),
  new Option(
    "--cluster <address>",
    "make this a host of a cluster: etcd://host[:port]/cell, with the member of etcd beside it; " +
      "port 2379 by default",
  )
    .env("FRONTROW_CLUSTER")
    .argParser(parseCluster),
  new Option(
    "--cluster-found",
    "found the cell, which etcd must not have: for the first start of its first host",
  ).default(false),
  new Option("--cluster-host <name>", "name of this host, which no other host of the cell has")
    .env("FRONTROW_CLUSTER_HOST")
    .default(null, "the name of the machine")
    .argParser(parseHostName),
  new Option("--cluster-address <url>", "where clients reach this host")
    .env("FRONTROW_CLUSTER_ADDRESS")
    .default(null, "the address that it listens on")
    .argParser(parseHttpUrl),
  new Option("--cluster-lease <seconds>", "time without a leader after the loss of its host")
    .env("FRONTROW_CLUSTER_LEASE")
    .default(2)
    .argParser(parseCount),
  new Option(
    "--cluster-strict-reads",
    "ask etcd before each answer whether this host still leads " +
      "(env: FRONTROW_CLUSTER_STRICT_READS)",
  ).default(isOn(process.env["FRONTROW_CLUSTER_STRICT_READS"])),
  new Option(
    "--webhook-private-addresses",
    "send webhooks over http and to private addresses too " +
      "(env: FRONTROW_WEBHOOK_PRIVATE_ADDRESSES)",
  ).default(isOn(process.env["FRONTROW_WEBHOOK_PRIVATE_ADDRESSES"])),
  new Option(
    "--gateway-secret-file <file>",
    "file with the secret that an engine and its gateways share, 32 characters or more",
  ).env("FRONTROW_GATEWAY_SECRET_FILE"),
  new Option("--log-level <level>", "least severe level that is logged to standard error")
    .env("FRONTROW_LOG_LEVEL")
    .choices(LOG_LEVELS)
    .default("info"),
  new Option("--log-format <format>", "auto is pretty on a terminal, otherwise JSON lines")
    .env("FRONTROW_LOG_FORMAT")
    .choices(LOG_FORMATS)
    .default("auto"),
  new Option(
    "--access-log <file>",
    "append a JSON line for each request to this file; - for standard output",
  ).env("FRONTROW_ACCESS_LOG"),
];

export function dataFolderOf({ data, demo }: ServeOptions): string {
  return data ?? (demo ? DEMO_DATA : DATA);
}

/** Variables that only the first start on an empty data folder reads. */
export const BOOTSTRAP_VARIABLES = [
  "FRONTROW_TENANT_TOKEN",
  "FRONTROW_ADMIN_EMAIL",
  "FRONTROW_ADMIN_PASSWORD",
] as const;

const ENVIRONMENT_HELP = `
Environment for an empty data folder; missing values are generated, and written to the file
first-credentials in it, never printed:
  FRONTROW_TENANT_TOKEN    token of the first tenant, at least 16 printable characters
  FRONTROW_ADMIN_EMAIL     account of its super admin
  FRONTROW_ADMIN_PASSWORD  password of that account, 8 to 128 characters

Environment for every start:
  FRONTROW_SECRET          master secret of the keys, 64 hexadecimal digits; replaces the secret in
                           the data folder
  FRONTROW_PLATFORM_TOKEN  key of the operator, at least 16 characters; opens /api/admin/tenants/,
                           which answers 404 without it

Free memory is that of the machine or container beyond the 160 MiB of the program. A start with
less than 192 MiB is refused.

An empty variable counts as not given; an empty token or secret is refused.

Signals: SIGINT, SIGTERM and SIGQUIT stop the server; SIGHUP opens the access log again.

Exit codes: 0 after a signal to stop, 2 for a usage error, 70 when the log fails, 76 when another
host of the cluster leads, 73 to 75 and 78 when the data folder cannot be used, is damaged, or
has a format of another version.`;

/** An option of `frontrow serve`, for another command that has it as well. */
export function serveOption(flag: string): Option {
  const option = OPTIONS.find(({ long }) => long === flag)!;
  return Object.assign(new Option(option.flags, option.description), option);
}

export function addServeOptions(command: Command): Command {
  for (const option of OPTIONS) command.addOption(option);
  command.hook("preAction", refuseStrayClusterOptions);
  return command.addHelpText("after", ENVIRONMENT_HELP);
}

/** A host whose operator forgot `--cluster` would sell on its own. @throws UsageError. */
function refuseStrayClusterOptions(command: Command): void {
  if (command.getOptionValue("cluster") !== undefined) return;
  for (const option of OPTIONS) {
    if (!option.long!.startsWith("--cluster-")) continue;
    const name = option.attributeName();
    const isGiven = command.getOptionValueSource(name) !== "default";
    // The variable of a flag is its default.
    if (!isGiven && command.getOptionValue(name) !== true) continue;
    throw new UsageError(`${option.long} needs --cluster`);
  }
}

function parseCount(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be an integer from 1 to 999999.");
}

export function parseCell(text: string): number {
  const cell = Number(text);
  if (/^\d{1,4}$/.test(text) && cell <= CELL_MAX) return cell;
  throw new InvalidArgumentError(`It must be an integer from 0 to ${CELL_MAX}.`);
}

function parseProxies(text: string): readonly string[] {
  const proxies = text.split(",").map((proxy) => proxy.trim());
  try {
    return new TrustedProxies(proxies).names;
  } catch {
    throw new InvalidArgumentError("It must be addresses or networks, such as 10.0.0.0/8,::1.");
  }
}

function parseCluster(text: string): CellAddress {
  const address = parseCellAddress(text);
  if (address !== null) return address;
  throw new InvalidArgumentError(
    "It must be etcd://host[:port]/cell with a port from 1 to 65535, such as etcd://[::1]:2379/a.",
  );
}

/** It is a part of a key in etcd. */
function parseHostName(text: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/.test(text)) return text;
  throw new InvalidArgumentError("It must be letters, digits, dots, hyphens and underscores.");
}

function parseHttpUrl(text: string): string {
  if (/^https?:\/\/\S+$/.test(text) && addressIn(text) !== null) return text;
  throw new InvalidArgumentError(
    "It must be a URL with a port from 1 to 65535, such as http://10.0.0.1:8080.",
  );
}

function parseOrigins(text: string): readonly string[] {
  const origins = text.split(",").map((origin) => origin.trim());
  if (origins.every((origin) => URL.canParse(origin) && new URL(origin).origin === origin)) {
    return origins;
  }
  throw new InvalidArgumentError("It must be origins, such as https://tickets.example.com.");
}

function parsePositive(text: string): number {
  const number = Number(text);
  if (/^\d{1,7}(\.\d{1,6})?$/.test(text) && number > 0) return number;
  throw new InvalidArgumentError("It must be a number greater than 0, such as 256 or 0.5.");
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("It must be an integer from 0 to 65535.");
}

/** A boolean variable is on unless it is empty, 0, false, no or off. */
function isOn(text: string | undefined): boolean {
  return text !== undefined && !/^(0|false|no|off|)$/i.test(text);
}

// How many connections may be open: each takes a file descriptor, and the log needs some.

/** File descriptors that connections leave free: the server itself uses about half of them. */
const RESERVED_FILES = 128;
/** Below this limit on open files, half of them are reserved. */
const SCARCE_FILES = 2 * RESERVED_FILES;

/**
 * @param chosen - The option, or null.
 * @throws UsageError when the process may not open that many files.
 */
export function connectionsMaxOf(chosen: number | null, openFiles: number): number {
  const reserved = openFiles < SCARCE_FILES ? Math.ceil(openFiles / 2) : RESERVED_FILES;
  const possible = openFiles - reserved;
  if (chosen !== null && chosen > possible) {
    throw new UsageError(
      `--max-connections ${chosen} needs ${chosen + RESERVED_FILES} open files, and the process ` +
        `may open ${openFiles}; raise the limit (ulimit -n, LimitNOFILE) or lower the number`,
    );
  }
  return chosen ?? possible;
}

/** The limit on open files of this process, as Node has set it at its start. */
export function openFilesMax(): number {
  const { userLimits } = process.report.getReport() as {
    readonly userLimits: { readonly open_files: { readonly soft: number | "unlimited" } };
  };
  const { soft } = userLimits.open_files;
  return soft === "unlimited" ? Infinity : soft;
}
