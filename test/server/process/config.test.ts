/** The options of `frontrow serve`. */
import { Command, CommanderError } from "commander";
import { afterEach, expect, test, vi } from "vitest";
import { checkVariables } from "../../../server/main.ts";
import { dataFolderOf, type ServeOptions } from "../../../server/config.ts";
import { dropEmptyVariables, UsageError } from "../../../server/program.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

/** Parses a command line in this environment. */
async function parse(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ServeOptions> {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  vi.resetModules();
  const { addServeOptions } = await import("../../../server/config.ts");
  const quiet = { writeErr: () => {}, writeOut: () => {} };
  const command = addServeOptions(new Command("serve").exitOverride().configureOutput(quiet));
  // An action, so that the options are checked.
  command.action(() => {});
  return command.parse(args, { from: "user" }).opts<ServeOptions>();
}

const DEFAULTS = {
  host: "127.0.0.1",
  port: 8080,
  cell: 0,
  clusterHost: null,
  clusterFound: false,
  clusterAddress: null,
  clusterLease: 2,
  clusterStrictReads: false,
  demo: false,
  demoTraffic: false,
  badKeysPerMinute: 6_000,
  badLoginsPerMinute: 100,
  maxConnections: null,
  snapshotEvery: 256,
  snapshotMinutes: 10,
  auditDays: null,
  replyMemory: null,
  replyDisk: 1_024,
  catalogMemory: null,
  eventMemory: null,
  webhookPrivateAddresses: false,
  logLevel: "info",
  logFormat: "auto",
};

test("without options the server listens on this machine only", async () => {
  expect(await parse([])).toEqual(DEFAULTS);
});

test("the data folder is ./data, or ./demo-data for a demo, or what is chosen", async () => {
  expect(dataFolderOf(await parse([]))).toBe("./data");
  expect(dataFolderOf(await parse(["--demo"]))).toBe("./demo-data");
  expect(dataFolderOf(await parse(["--demo", "--data", "x"]))).toBe("x");
  expect(dataFolderOf(await parse([], { FRONTROW_DEMO: "1", FRONTROW_DATA: "y" }))).toBe("y");
});

test("each option can be a flag or a variable, and the flag overrides the variable", async () => {
  const env = {
    FRONTROW_HOST: "::1",
    FRONTROW_PORT: "0",
    FRONTROW_DATA: "/srv/a",
    FRONTROW_CELL: "7",
    FRONTROW_CLUSTER: "etcd://10.0.0.1:2379/oslo",
    FRONTROW_CLUSTER_HOST: "a",
    FRONTROW_CLUSTER_ADDRESS: "http://10.0.0.1:8080",
    FRONTROW_CLUSTER_LEASE: "3",
    FRONTROW_CLUSTER_STRICT_READS: "1",
    FRONTROW_DEMO: "true",
    FRONTROW_DEMO_TRAFFIC: "true",
    FRONTROW_LOG_LEVEL: "warn",
    FRONTROW_METRICS_TOKEN: "scrape",
    FRONTROW_BAD_KEYS_PER_MINUTE: "7",
    FRONTROW_BAD_LOGINS_PER_MINUTE: "17",
    FRONTROW_MAX_CONNECTIONS: "500",
    FRONTROW_SNAPSHOT_EVERY: "0.5",
    FRONTROW_SNAPSHOT_MINUTES: "2.5",
    FRONTROW_AUDIT_DAYS: "30",
    FRONTROW_TRUSTED_PROXY: "127.0.0.1",
    FRONTROW_REPLY_MEMORY: "100",
    FRONTROW_REPLY_DISK: "0.5",
    FRONTROW_CATALOG_MEMORY: "300",
    FRONTROW_EVENT_MEMORY: "400",
    FRONTROW_WEBHOOK_PRIVATE_ADDRESSES: "true",
    FRONTROW_LOG_FORMAT: "pretty",
    FRONTROW_ACCESS_LOG: "-",
  };
  const trusted = { trustedProxy: ["127.0.0.1"] };
  const limits = { badKeysPerMinute: 7, badLoginsPerMinute: 17, maxConnections: 500, ...trusted };
  const added = { metricsToken: "scrape", ...limits, snapshotEvery: 0.5, auditDays: 30 };
  const minutes = { snapshotMinutes: 2.5 };
  const fromEnv = {
    ...minutes,
    host: "::1",
    port: 0,
    data: "/srv/a",
    cell: 7,
    demo: true,
    demoTraffic: true,
    webhookPrivateAddresses: true,
    logLevel: "warn",
  };
  const clusterOfEnv = {
    cluster: { etcd: "10.0.0.1:2379", cell: "oslo" },
    clusterHost: "a",
    clusterAddress: "http://10.0.0.1:8080",
    clusterLease: 3,
    clusterStrictReads: true,
    clusterFound: false,
  };
  const repliesOfEnv = { replyMemory: 100, replyDisk: 0.5 };
  const room = { catalogMemory: 300, eventMemory: 400 };
  const logsOfEnv = { logFormat: "pretty", accessLog: "-" };
  const sizesOfEnv = { ...repliesOfEnv, ...room, ...clusterOfEnv };
  expect(await parse([], env)).toEqual({ ...fromEnv, ...added, ...sizesOfEnv, ...logsOfEnv });
  const args = ["--host", "0.0.0.0", "--port", "65535", "--data", "b", "--log-level", "fatal"];
  const more = ["--metrics-token", "other", "--bad-keys-per-minute", "8", "--snapshot-every", "64"];
  more.push("--audit-days", "9", "--max-connections", "501", "--snapshot-minutes", "3");
  more.push("--trusted-proxy", "::1, 10.0.0.0/8", "--reply-memory", "64", "--reply-disk", "128");
  more.push("--cell", "9006");
  const demo = { cell: 9_006, demo: true, demoTraffic: true };
  const fromFlags = { host: "0.0.0.0", port: 65_535, data: "b", ...demo, logLevel: "fatal" };
  const trustedProxy = ["::1", "10.0.0.0/8"];
  more.push("--catalog-memory", "301", "--event-memory", "401");
  more.push("--bad-logins-per-minute", "18", "--log-format", "json", "--access-log", "a.log");
  const counts = { badKeysPerMinute: 8, badLoginsPerMinute: 18, maxConnections: 501 };
  const otherLimits = { ...counts, trustedProxy };
  const others = {
    snapshotMinutes: 3,
    metricsToken: "other",
    ...otherLimits,
    snapshotEvery: 64,
    auditDays: 9,
  };
  const replies = { replyMemory: 64, replyDisk: 128 };
  const logs = { logFormat: "json", accessLog: "a.log" };
  more.push("--demo", "--webhook-private-addresses");
  more.push("--cluster", "etcd://10.0.0.2:2379/bergen", "--cluster-host", "b");
  more.push("--cluster-address", "http://10.0.0.2:8080", "--cluster-lease", "4");
  more.push("--cluster-strict-reads", "--cluster-found");
  const cluster = { etcd: "10.0.0.2:2379", cell: "bergen" };
  expect(await parse([...args, ...more], env)).toEqual({
    ...fromFlags,
    ...others,
    ...replies,
    catalogMemory: 301,
    eventMemory: 401,
    webhookPrivateAddresses: true,
    cluster,
    clusterHost: "b",
    clusterAddress: "http://10.0.0.2:8080",
    clusterLease: 4,
    clusterStrictReads: true,
    clusterFound: true,
    ...logs,
  });
});

test.each([
  ["FRONTROW_DEMO", "demo"],
  ["FRONTROW_WEBHOOK_PRIVATE_ADDRESSES", "webhookPrivateAddresses"],
] as const)("the variable %s turns its option on with 1, true, yes or on", async (name, option) => {
  const read = async (text: string) => (await parse([], { [name]: text }))[option];
  for (const text of ["", "0", "false", "No", "OFF"]) {
    expect([text, await read(text)]).toEqual([text, false]);
  }
  for (const text of ["1", "true", "YES", "on"]) {
    expect([text, await read(text)]).toEqual([text, true]);
  }
});

test("the origins of web pages are a list, as a flag or a variable", async () => {
  const origins = ["https://tickets.example.com", "http://localhost:5173"];
  const text = origins.join(", ");
  expect(await parse(["--allowed-origins", text], {})).toMatchObject({ allowedOrigins: origins });
  const env = { FRONTROW_ALLOWED_ORIGINS: text };
  expect(await parse([], env)).toMatchObject({ allowedOrigins: origins });
});

const WRONG: readonly (readonly [readonly string[], Readonly<Record<string, string>>])[] = [
  [["--allowed-origins", "tickets.example.com"], {}],
  [["--allowed-origins", "https://tickets.example.com/"], {}],
  [["--trusted-proxy", ""], {}],
  [["--trusted-proxy", "proxy.example"], {}],
  [["--trusted-proxy", "10.0.0.0/33"], {}],
  [["--trusted-proxy", "10.0.0.0/8/8"], {}],
  [["--trusted-proxy", "10.0.0.0/x"], {}],
  [[], { FRONTROW_TRUSTED_PROXY: "127.0.0.1," }],
  [["--port", "-1"], {}],
  [["--port", "65536"], {}],
  [["--port", "80.5"], {}],
  [["--port", "0x50"], {}],
  [["--port", ""], {}],
  [["--port", "1e3"], {}],
  [["--port"], {}],
  [["--audit-days", "0"], {}],
  [["--log-level", "INFO"], {}],
  [["--bad-keys-per-minute", "0"], {}],
  [["--max-connections", "0"], {}],
  [["--cluster", "etcd://a/main", "--cluster-host", "a b/c"], {}],
  [["--cluster", "etcd://a/main", "--cluster-host", ""], {}],
  [["--cluster", "etcd://a/main", "--cluster-address", "foo"], {}],
  [["--cluster", "etcd://a/main", "--cluster-address", "10.0.0.1:8080"], {}],
  [["--cluster", "etcd://a/main", "--cluster-address", "http://10.0.0.1:0"], {}],
  [["--cluster", "etcd://a/main", "--cluster-address", "http://10.0.0.1:65536"], {}],
  [["--cluster", "etcd://a/main"], { FRONTROW_CLUSTER_HOST: "a/b" }],
  [["--nothing"], {}],
  [["more"], {}],
  [[], { FRONTROW_PORT: "eighty" }],
  [[], { FRONTROW_LOG_LEVEL: "all" }],
];

test.each(WRONG)("the command line %j with the variables %j is refused", async (args, env) => {
  await expect(parse(args, env)).rejects.toThrow(CommanderError);
});

test("an option of a cluster without --cluster is refused by name", async () => {
  const stray: readonly (readonly [readonly string[], Readonly<Record<string, string>>, string])[] =
    [
      [["--cluster-host", "a"], {}, "--cluster-host"],
      [["--cluster-strict-reads"], {}, "--cluster-strict-reads"],
      [["--cluster-lease", "2"], {}, "--cluster-lease"],
      [[], { FRONTROW_CLUSTER_STRICT_READS: "1" }, "--cluster-strict-reads"],
      [[], { FRONTROW_CLUSTER_ADDRESS: "http://10.0.0.1:8080" }, "--cluster-address"],
    ];
  for (const [args, env, option] of stray) {
    await expect(parse(args, env)).rejects.toThrow(`${option} needs --cluster`);
  }
});

test("bootstrap variables with unusable values are refused by name", () => {
  const wrong = [
    ["FRONTROW_TENANT_TOKEN", ""],
    ["FRONTROW_TENANT_TOKEN", "fifteen letters"],
    ["FRONTROW_TENANT_TOKEN", "with a blank in it"],
    ["FRONTROW_TENANT_TOKEN", "with-an-é-in-it-it-is"],
    ["FRONTROW_ADMIN_EMAIL", ""],
    ["FRONTROW_ADMIN_EMAIL", "nobody"],
    ["FRONTROW_ADMIN_PASSWORD", ""],
    ["FRONTROW_ADMIN_PASSWORD", "x".repeat(129)],
  ] as const;
  for (const [name, value] of wrong) {
    expect(() => checkVariables({ [name]: value })).toThrow(new RegExp(name));
    expect(() => checkVariables({ [name]: value })).toThrow(UsageError);
  }
});

test("bootstrap variables may be missing, or as short or long as the rules allow", () => {
  const env = {
    FRONTROW_TENANT_TOKEN: "x".repeat(16),
    FRONTROW_ADMIN_EMAIL: "a@b",
    FRONTROW_ADMIN_PASSWORD: "x".repeat(128),
  };
  expect(() => checkVariables({})).not.toThrow();
  expect(() => checkVariables(env)).not.toThrow();
});

test("empty variables count as not given", async () => {
  const options = (await import("../../../server/config.ts")).addServeOptions(new Command());
  const names = options.options.map(({ envVar, long }) => envVar ?? variableOf(long!));
  const env: NodeJS.ProcessEnv = Object.fromEntries(names.map((name) => [name, ""]));
  delete env["FRONTROW_METRICS_TOKEN"];
  expect(Object.keys(env).length).toBeGreaterThan(20);
  dropEmptyVariables(Object.assign(env, { FRONTROW_ADMIN_PASSWORD: "", OTHER: "" }));
  expect(env).toEqual({ OTHER: "" });
});

const variableOf = (flag: string) => `FRONTROW_${flag.slice(2).toUpperCase().replaceAll("-", "_")}`;

test.each([
  "FRONTROW_SECRET",
  "FRONTROW_TENANT_TOKEN",
  "FRONTROW_PLATFORM_TOKEN",
  "FRONTROW_METRICS_TOKEN",
])("an empty %s is refused", (name) => {
  expect(() => dropEmptyVariables({ [name]: "" })).toThrow(UsageError);
  expect(() => dropEmptyVariables({ [name]: "" })).toThrow(`${name} is empty`);
});
