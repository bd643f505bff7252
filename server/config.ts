/**
 * The options of `frontrow serve`, in one table: each is a flag and an environment variable, and a
 * flag beats the variable.
 */
import { type Command, InvalidArgumentError, Option } from "commander";

export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

export interface ServeOptions {
  readonly host: string;
  readonly port: number;
  readonly data: string;
  readonly demo: boolean;
  readonly metricsToken?: string;
  readonly badKeysPerMinute: number;
  /** MiB. */
  readonly snapshotEvery: number;
  /** Null for ever. */
  readonly auditDays: number | null;
  readonly logLevel: (typeof LOG_LEVELS)[number];
}

const OPTIONS: readonly Option[] = [
  new Option("--host <address>", "address to listen on").env("FRONTROW_HOST").default("127.0.0.1"),
  new Option("--port <number>", "port to listen on; 0 for any free one")
    .env("FRONTROW_PORT")
    .default(8080)
    .argParser(parsePort),
  new Option("--data <folder>", "data folder; made when it is missing")
    .env("FRONTROW_DATA")
    .default("./data"),
  new Option(
    "--demo",
    "on an empty data folder, create a priced event and say how to try it (env: FRONTROW_DEMO)",
  ).default(isOn(process.env["FRONTROW_DEMO"])),
  new Option(
    "--metrics-token <token>",
    "what /metrics wants as its bearer token; open without",
  ).env("FRONTROW_METRICS_TOKEN"),
  new Option(
    "--bad-keys-per-minute <number>",
    "requests without a valid key that one address may make in a minute",
  )
    .env("FRONTROW_BAD_KEYS_PER_MINUTE")
    .default(6_000)
    .argParser(parseCount),
  new Option("--snapshot-every <MiB>", "growth of the log after which a snapshot is made")
    .env("FRONTROW_SNAPSHOT_EVERY")
    .default(256)
    .argParser(parseMebibytes),
  new Option("--audit-days <number>", "days for which the audit trail is kept; for ever without")
    .env("FRONTROW_AUDIT_DAYS")
    .default(null, "for ever")
    .argParser(parseCount),
  new Option("--log-level <level>", "least severe messages that are logged, on standard error")
    .env("FRONTROW_LOG_LEVEL")
    .choices(LOG_LEVELS)
    .default("info"),
];

/** Variables that only a first start on an empty data folder looks at. */
export interface BootstrapVariables {
  readonly tenantToken: string | undefined;
  readonly adminEmail: string | undefined;
  readonly adminPassword: string | undefined;
}

const ENVIRONMENT_HELP = `
Environment on an empty data folder; what is not given is generated and printed once:
  FRONTROW_TENANT_TOKEN    token of the first tenant, at least 16 printable characters
  FRONTROW_ADMIN_EMAIL     account of its super admin
  FRONTROW_ADMIN_PASSWORD  its password, 8 to 128 characters

Environment, at every start:
  FRONTROW_SECRET          master secret of the keys, 64 hexadecimal digits, in place of the one
                           that is kept in the data folder
  FRONTROW_PLATFORM_TOKEN  key of the operator, at least 16 characters; opens /api/admin/tenants/,
                           which is 404 without it

Exit codes: 0 after SIGINT or SIGTERM, 2 for wrong usage, 70 when the log fails, 73 to 78 when the
data folder cannot be used or is damaged.`;

export function addServeOptions(command: Command): Command {
  for (const option of OPTIONS) command.addOption(option);
  return command.addHelpText("after", ENVIRONMENT_HELP);
}

export function bootstrapVariables(env: NodeJS.ProcessEnv): BootstrapVariables {
  return {
    tenantToken: env["FRONTROW_TENANT_TOKEN"],
    adminEmail: env["FRONTROW_ADMIN_EMAIL"],
    adminPassword: env["FRONTROW_ADMIN_PASSWORD"],
  };
}

function parseCount(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number from 1 to 999999.");
}

function parseMebibytes(text: string): number {
  const mebibytes = Number(text);
  if (/^\d{1,7}(\.\d{1,6})?$/.test(text) && mebibytes > 0) return mebibytes;
  throw new InvalidArgumentError("It must be a number above 0, such as 256 or 0.5.");
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("It must be a whole number from 0 to 65535.");
}

/** A flag without a value is on in the environment unless it says otherwise. */
function isOn(text: string | undefined): boolean {
  return text !== undefined && !/^(0|false|no|off|)$/i.test(text);
}
