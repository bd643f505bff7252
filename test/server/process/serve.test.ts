/** `frontrow serve` as a process: how it starts, when it refuses to start, and how it ends. */
import { spawn, spawnSync } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openEngine } from "../../../persistence/store/open-engine.ts";
import {
  CLI,
  type Finished,
  runCli,
  type ServerProcess,
  sleep,
  startServer,
  temporaryFolder,
  V2,
} from "../../support/server-process.ts";

const SECRET = "0123456789abcdef".repeat(4);
const TOKEN = "a-token-of-our-own-choice";
const ADMIN = { FRONTROW_ADMIN_EMAIL: "root@x.example", FRONTROW_ADMIN_PASSWORD: "correct horse" };

/** The hashes of all files in a folder, by path. */
function contents(folder: string): Readonly<Record<string, string>> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  const files = names.filter((name) => statSync(path.join(folder, name)).isFile());
  const hashOf = (name: string) => hash("sha1", readFileSync(path.join(folder, name)));
  return Object.fromEntries(files.map((name) => [name, hashOf(name)]));
}

/** Starts the server on a folder that it must refuse. */
const refused = (data: string) => runCli({ args: ["serve", "--port", "0", "--data", data] });

/** A failed start prints one line on standard error, and nothing else. */
function expectOneLine(finished: Finished, ...words: readonly (string | RegExp)[]): void {
  expect(finished.stdout).toBe("");
  expect(finished.stderr.trimEnd().split("\n")).toEqual([expect.any(String)]);
  expect(finished.stderr).not.toMatch(/\n\s+at /);
  for (const word of words) expect(finished.stderr).toMatch(word);
  expect(finished.code).toBeGreaterThan(0);
}

const ORGANIZATIONS = "/api/private/management/v2.0/organizations/";

async function statusOf(server: ServerProcess, token: string): Promise<number> {
  return (await server.request("GET", ORGANIZATIONS, undefined, token)).status;
}

test("a first start prints its address, and writes what it generated to a file once", async () => {
  const server = await startServer();
  expect(server.stdout).toMatch(/^frontrow listening on http:\/\/127\.0\.0\.1:[1-9]\d*\n$/);
  for (const target of ["/healthz", "/readyz"]) {
    const reply = await fetch(server.url + target);
    expect([target, reply.status, await reply.text()]).toEqual([target, 200, '{"status":"ok"}']);
  }
  expect(statSync(path.join(server.folder, "secret")).mode & 0o777).toBe(0o600);
  const file = path.join(server.folder, "first-credentials");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(server.stderr).toContain(file);
  const token = server.generated("tenant token");
  for (const line of readFileSync(file, "utf8").trim().split("\n")) {
    expect(server.stderr).not.toContain(line.split(": ")[1]);
  }
  expect(token).toMatch(/^frt_\d+_[\w-]{43}$/);
  expect(await statusOf(server, token)).toBe(200);
  const credentials = {
    username: server.generated("admin email"),
    password: server.generated("admin password"),
  };
  const login = await server.request("POST", "/api/auth/login", credentials, "");
  expect(await login.json()).toMatchObject({ success: true, tenantToken: token });

  const finished = await refused(server.folder);
  expectOneLine(finished, server.folder, /another process/);
  expect(await statusOf(server, token)).toBe(200);

  expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null });
  rmSync(file);
  const second = await startServer({ folder: server.folder });
  expect(existsSync(file)).toBe(false);
  expect(second.stderr).not.toMatch(/tenant token|admin password|WARN|"level":40/);
  expect(second.stderr).not.toContain(token);
  const recovered = second.logLines.find(({ msg }) => msg === "recovered");
  expect(recovered).toMatchObject({ cleanShutdown: true, tornBytes: 0 });
  expect(await second.kill("SIGINT")).toEqual({ code: 0, signal: null });
});

test.each(["SIGHUP", "SIGUSR1", "SIGUSR2"] as const)(
  "%s neither ends the server nor opens a debugger",
  async (signal) => {
    const server = await startServer();
    process.kill(server.pid, signal);
    await sleep(200);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    expect(server.stderr).not.toMatch(/[Dd]ebugger/);
    expect(await server.kill("SIGQUIT")).toEqual({ code: 0, signal: null });
  },
);

test("a first start whose standard error nobody reads serves all the same", async () => {
  const folder = temporaryFolder();
  const args = [CLI, "serve", "--port", "0", "--data", path.join(folder, "data")];
  const child = spawn("bash", ["-c", 'exec "$0" "$@" 2> >(exec true)', process.execPath, ...args]);
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const url = line.toString().trim().replace("frontrow listening on ", "");
  for (let i = 0; i < 3; i++) expect((await fetch(`${url}/readyz`)).status).toBe(200);
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([0, null]);
});

test("an empty host is that of the default, and an empty token ends the start", async () => {
  const server = await startServer({ env: { FRONTROW_HOST: "" } });
  expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:/);
  const open = { FRONTROW_METRICS_TOKEN: "" };
  const data = path.join(temporaryFolder(), "data");
  const args = ["serve", "--port", "0", "--data", data];
  const finished = await runCli({ args, env: open });
  expectOneLine(finished, "FRONTROW_METRICS_TOKEN is empty");
  expect([finished.code, existsSync(data)]).toEqual([2, false]);
});

test.each(["--host", "--metrics-token", "--access-log", "--port", "--data"])(
  "an empty %s ends the start with 2",
  async (flag) => {
    const data = path.join(temporaryFolder(), "data");
    const args = ["serve", "--port", "0", "--data", data, flag, ""];
    const finished = await runCli({ args, cwd: temporaryFolder() });
    expectOneLine(finished, flag);
    expect([finished.code, existsSync(data)]).toEqual([2, false]);
  },
);

test("two signals at once end the server with 0", async () => {
  const server = await startServer();
  void server.kill("SIGINT");
  expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null });
});

interface Seats {
  readonly content: readonly { readonly seatId: number; readonly state: string }[];
}

function curlLines({ stdout }: ServerProcess): string[] {
  return stdout.split("\n").filter((line) => line.startsWith("curl "));
}

function paste(line: string): string {
  return spawnSync("bash", ["-c", line], { encoding: "utf8" }).stdout;
}

test("the commands of the demo work, and SIGKILL loses nothing that they did", async () => {
  const first = await startServer({ args: ["--demo"] });
  const lines = curlLines(first);
  expect(lines.length).toBe(3);
  expect(lines.slice(0, 2).map(paste)).toEqual(["true", "true"]);
  const changed = (JSON.parse(paste(lines[2]!)) as Seats).content;
  expect(changed.map(({ state }) => state)).toEqual(["SOLD", "SOLD"]);
  const seats = async (server: ServerProcess, query: string) => {
    const target = `${V2}/events/${server.eventId}/seats/?${query}`;
    return ((await (await server.request("GET", target)).json()) as Seats).content;
  };
  const [free] = await seats(first, "sort=state&size=1");
  const lock = `${V2}/booking/lock?eventId=${first.eventId}`;
  const held = await first.request("POST", lock, { seats: [{ id: free!.seatId }] });
  expect(await held.text()).toBe("true");
  const latest = await seats(first, "sort=updatedAt,desc&size=3");
  expect(latest.map(({ state }) => state)).toEqual(["LOCKED", "SOLD", "SOLD"]);
  expect(await first.kill("SIGKILL")).toEqual({ code: null, signal: "SIGKILL" });

  const second = await startServer({ args: ["--demo"], folder: first.folder });
  expect([second.key, second.eventId]).toEqual([first.key, first.eventId]);
  expect(await seats(second, "sort=updatedAt,desc&size=3")).toEqual(latest);
  const recovered = second.logLines.find(({ msg }) => msg === "recovered");
  expect(recovered).toMatchObject({ cleanShutdown: false });
  const again = curlLines(second);
  expect(again.slice(0, 2)).not.toEqual(lines.slice(0, 2));
  expect(again.slice(0, 2).map(paste)).toEqual(["true", "true"]);
});

test("the demo starts again with single seats left → its commands sell these", async () => {
  const first = await startServer({ args: ["--demo"] });
  expect(curlLines(first).slice(0, 2).map(paste)).toEqual(["true", "true"]);
  const list = `${V2}/events/${first.eventId}/seats/?sort=state&size=100`;
  const sell = `${V2}/booking/directsale?eventId=${first.eventId}`;
  const left: number[] = [];
  for (;;) {
    const { content } = (await (await first.request("GET", list)).json()) as Seats;
    const free = content.filter(({ state }) => state === "ACTIVE").map(({ seatId }) => seatId);
    const ids = free.filter((id) => !left.includes(id));
    if (left.length < 2) left.push(ids.shift()!);
    if (ids.length === 0) break;
    const seats = ids.map((id) => ({ id }));
    expect(await (await first.request("POST", sell, { seats })).text()).toBe("true");
  }
  await first.kill("SIGTERM");

  const second = await startServer({ args: ["--demo"], folder: first.folder });
  const lines = curlLines(second);
  expect(lines.slice(0, 2).map(paste)).toEqual(["true", "true"]);
  const changed = (JSON.parse(paste(lines[2]!)) as Seats).content;
  expect(changed.map(({ seatId }) => seatId).toSorted((a, b) => a - b)).toEqual(left);
  expect(changed.map(({ state }) => state)).toEqual(["SOLD", "SOLD"]);
});

test("a first start that was interrupted is completed by the next one", async () => {
  const folder = path.join(temporaryFolder(), "data");
  const store = await openEngine({ folder });
  await store.close();
  const server = await startServer({ folder, env: { FRONTROW_TENANT_TOKEN: TOKEN } });
  expect(await statusOf(server, TOKEN)).toBe(200);
});

test("a given token and account are used and never printed; later ones are ignored", async () => {
  const env = { FRONTROW_TENANT_TOKEN: TOKEN, ...ADMIN };
  const first = await startServer({ env });
  expect(first.stderr).not.toMatch(/tenant token|admin email|admin password/);
  expect(await statusOf(first, TOKEN)).toBe(200);
  expect(await statusOf(first, `${TOKEN}!`)).toBe(403);
  const credentials = { username: "Root@x.example", password: "correct horse" };
  const login = await first.request("POST", "/api/auth/login", credentials, "");
  const body = (await login.json()) as Record<string, unknown>;
  expect(body["success"]).toBe(true);
  expect(body).not.toHaveProperty("tenantToken");
  await first.kill("SIGTERM");
  const disk = spawnSync("grep", ["-rla", TOKEN, first.folder], { encoding: "utf8" });
  expect(disk.stdout).toBe("");
  expect(first.stderr + first.stdout).not.toContain(TOKEN);

  const other = "another-token-of-ours";
  const ignored = { FRONTROW_TENANT_TOKEN: other, ...ADMIN };
  const second = await startServer({ folder: first.folder, env: ignored });
  expect(await statusOf(second, other)).toBe(403);
  expect(await statusOf(second, TOKEN)).toBe(200);
  const warnings = JSON.stringify(second.logLines.filter(({ level }) => level === 40));
  for (const name of Object.keys(ignored)) expect(warnings).toContain(name);
  for (const value of Object.values(ignored)) expect(second.stderr).not.toContain(value);
});

test("a secret from the environment gives the same keys, and is not stored", async () => {
  const env = { FRONTROW_SECRET: SECRET, FRONTROW_DEMO: "1" };
  const first = await startServer({ env });
  expect(existsSync(path.join(first.folder, "secret"))).toBe(false);
  expect(first.logLines.length).toBeGreaterThan(0);
  await first.kill("SIGTERM");
  const upper = { FRONTROW_SECRET: SECRET.toUpperCase(), FRONTROW_LOG_LEVEL: "silent" };
  const second = await startServer({ args: ["--demo"], env: upper, folder: first.folder });
  expect(second.key).toBe(first.key);
  expect(second.logLines).toEqual([]);
  await second.kill("SIGTERM");
  expectOneLine(await refused(first.folder), /secret/);
});

test("a flag overrides its variable", async () => {
  const [folder, other] = [temporaryFolder(), path.join(temporaryFolder(), "data")];
  const env = {
    FRONTROW_DATA: path.join(folder, "data"),
    FRONTROW_LOG_LEVEL: "silent",
    FRONTROW_HOST: "192.0.2.1",
    FRONTROW_PORT: "1",
    FRONTROW_DEMO: "0",
  };
  const args = ["--log-level", "info", "--host", "127.0.0.1", "--demo"];
  const server = await startServer({ folder: other, env, args });
  expect(readdirSync(folder)).toEqual([]);
  expect(server.logLines.length).toBeGreaterThan(0);
  expect(server.url).toMatch(/127\.0\.0\.1:\d{2,}/);
  expect(server.key).toMatch(/^fro_/);
});

const USAGE: readonly (readonly [readonly string[], Readonly<Record<string, string>>, RegExp])[] = [
  [["--colour"], {}, /--colour/],
  [["--port", "abc"], {}, /port/],
  [["--port", "65536"], {}, /port/],
  [["--port", "-1"], {}, /port/],
  [["--log-level", "loud"], {}, /log-level/],
  [["--snapshot-every", "0"], {}, /snapshot-every/],
  [["--snapshot-every", "1e9"], {}, /snapshot-every/],
  [["--snapshot-minutes", "0"], {}, /snapshot-minutes/],
  [["extra"], {}, /argument/],
  [[], { FRONTROW_PORT: "http" }, /FRONTROW_PORT/],
  [[], { FRONTROW_LOG_LEVEL: "loud" }, /FRONTROW_LOG_LEVEL/],
  [[], { FRONTROW_SECRET: "abc" }, /FRONTROW_SECRET must have 64 hexadecimal digits/],
  [[], { FRONTROW_SECRET: `${SECRET}0` }, /FRONTROW_SECRET/],
  [[], { FRONTROW_SECRET: "g".repeat(64) }, /FRONTROW_SECRET/],
  [[], { FRONTROW_TENANT_TOKEN: "short" }, /FRONTROW_TENANT_TOKEN/],
  [[], { FRONTROW_ADMIN_EMAIL: "nobody" }, /FRONTROW_ADMIN_EMAIL/],
  [[], { FRONTROW_ADMIN_PASSWORD: "short" }, /FRONTROW_ADMIN_PASSWORD/],
];

test("wrong usage prints one line, ends with 2 and creates no folder", async () => {
  const folder = temporaryFolder();
  const data = path.join(folder, "data");
  const refuse = async ([args, env, word]: (typeof USAGE)[number]) => {
    const isPort = args.includes("--port") || "FRONTROW_PORT" in env;
    const port = isPort ? [] : ["--port", "0"];
    const finished = await runCli({ args: ["serve", "--data", data, ...port, ...args], env });
    expect([args, env, finished.code]).toEqual([args, env, 2]);
    expectOneLine(finished, word);
    // A secret is not repeated in the message.
    for (const value of Object.values(env)) {
      if (/SECRET|TOKEN|PASSWORD/.test(Object.keys(env)[0]!)) {
        expect(finished.stderr).not.toContain(value);
      }
    }
  };
  for (let i = 0; i < USAGE.length; i += 2) await Promise.all(USAGE.slice(i, i + 2).map(refuse));
  expect(readdirSync(folder)).toEqual([]);
});

test("a port in use is refused with what to do, and no folder is created", async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => void taken.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void taken.close());
  const { port } = taken.address() as AddressInfo;
  const folder = temporaryFolder();
  const args = ["serve", "--data", path.join(folder, "data"), "--port", String(port)];
  expectOneLine(await runCli({ args }), new RegExp(String(port)), /in use/, /--port/);
  expect(readdirSync(folder)).toEqual([]);
});

test("a folder with other files is refused and not changed", async () => {
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, "thesis.txt"), "years of work");
  const before = contents(folder);
  const finished = await refused(folder);
  expectOneLine(finished, folder, /other files/, /choose/);
  expect(contents(folder)).toEqual(before);
});

test("a file instead of a folder is refused and not changed", async () => {
  const file = path.join(temporaryFolder(), "file");
  writeFileSync(file, "text");
  const finished = await refused(file);
  expectOneLine(finished, file);
  expect(readFileSync(file, "utf8")).toBe("text");
});

test("a folder that cannot be written is refused", async () => {
  const folder = temporaryFolder();
  // Not even root, who may run the tests, can create a folder there.
  const places = ["/proc/frontrow-data"];
  if (process.getuid?.() !== 0) {
    const locked = path.join(folder, "locked");
    mkdirSync(locked);
    chmodSync(locked, 0o500);
    places.push(path.join(locked, "data"));
  }
  for (const place of places) {
    const finished = await refused(place);
    expectOneLine(finished, place);
  }
});

test("a damaged log is refused with the place of the damage, and not changed", async () => {
  const server = await startServer({ args: ["--demo"] });
  await server.kill("SIGTERM");
  const [name] = readdirSync(path.join(server.folder, "wal"));
  const segment = path.join(server.folder, "wal", name!);
  const bytes = readFileSync(segment);
  bytes[2_000] = bytes[2_000]! ^ 1;
  writeFileSync(segment, bytes);
  const before = contents(server.folder);
  const finished = await refused(server.folder);
  expectOneLine(finished, name!, /damaged/, /at byte \d+/, /copy/, /frontrow (verify|repair)/);
  expect(finished.code).toBe(78);
  expect(contents(server.folder)).toEqual(before);
});

test("a store without its log is refused, not started as an empty one", async () => {
  const server = await startServer({ args: ["--demo"] });
  await server.kill("SIGTERM");
  rmSync(path.join(server.folder, "wal"), { recursive: true });
  const before = contents(server.folder);
  const finished = await refused(server.folder);
  expectOneLine(finished, /damaged/, /segments of the log, found none/);
  expect(finished.code).toBe(78);
  expect(contents(server.folder)).toEqual(before);
});

test("--help prints every flag and variable, and --version the version", async () => {
  const help = await runCli({ args: ["serve", "--help"] });
  expect([help.code, help.stderr]).toEqual([0, ""]);
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  expect((await runCli({ args: ["--version"] })).stdout).toBe(`${version}\n`);
  const flags = ["--host", "--port", "--data", "--demo", "--log-level"];
  const options = ["HOST", "PORT", "DATA", "DEMO", "LOG_LEVEL"];
  const secrets = ["SECRET", "TENANT_TOKEN", "ADMIN_EMAIL", "ADMIN_PASSWORD"];
  const variables = [...options, ...secrets].map((name) => `FRONTROW_${name}`);
  for (const word of [...flags, ...variables]) expect(help.stdout).toContain(word);
});
