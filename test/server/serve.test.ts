/** `frontrow serve` as a process: how it starts, what it refuses to start on, how it ends. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openEngine } from "../../persistence/open-engine.ts";
import { type Finished, runCli, startServer, temporaryFolder } from "../support/process.ts";

const V2 = "/api/private/v2.0";
const SECRET = "0123456789abcdef".repeat(4);
const TOKEN = "a-token-of-our-own-choice";
const ADMIN = { FRONTROW_ADMIN_EMAIL: "root@x.example", FRONTROW_ADMIN_PASSWORD: "correct horse" };

/** Everything in a folder, by path, as it is. */
function contents(folder: string): Readonly<Record<string, string>> {
  if (!existsSync(folder)) return {};
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  const files = names.filter((name) => statSync(path.join(folder, name)).isFile());
  return Object.fromEntries(
    files.map((name) => [name, readFileSync(path.join(folder, name)).toString("base64")]),
  );
}

/** A failed start says one line, on standard error, and nothing else. */
function expectOneLine(finished: Finished, ...words: readonly (string | RegExp)[]): void {
  expect(finished.stdout).toBe("");
  expect(finished.stderr.trimEnd().split("\n")).toEqual([expect.any(String)]);
  expect(finished.stderr).not.toMatch(/\n\s+at /);
  for (const word of words) expect(finished.stderr).toMatch(word);
  expect(finished.code).toBeGreaterThan(0);
}

test("the ready line is the first line, alone, and its address answers", async () => {
  const server = await startServer();
  expect(server.stdout).toMatch(/^frontrow listening on http:\/\/127\.0\.0\.1:[1-9]\d*\n$/);
  for (const target of ["/healthz", "/readyz"]) {
    const reply = await fetch(server.url + target);
    expect([target, reply.status, await reply.text()]).toEqual([target, 200, '{"status":"ok"}']);
  }
  expect((await fetch(`${server.url}${V2}/events/`)).status).toBe(403);
});

test("the three curl lines of the demo work when they are pasted, and after a restart", async () => {
  const first = await startServer({ args: ["--demo"] });
  const lines = first.stdout.split("\n").filter((line) => line.startsWith("curl "));
  expect(lines.length).toBe(3);
  const paste = (line: string) => spawnSync("bash", ["-c", line], { encoding: "utf8" }).stdout;
  expect(paste(lines[0]!)).toBe("true");
  expect(paste(lines[1]!)).toBe("true");
  const listed = JSON.parse(paste(lines[2]!)) as { content: { state: string }[] };
  expect(listed.content.map(({ state }) => state)).toEqual(["SOLD", "SOLD"]);
  await first.kill("SIGTERM");
  const second = await startServer({ args: ["--demo"], folder: first.folder });
  expect([second.key, second.eventId]).toEqual([first.key, first.eventId]);
  const again = second.stdout.split("\n").filter((line) => line.startsWith("curl "));
  expect(again.length).toBe(3);
  expect(again[0]).not.toBe(lines[0]);
  expect(paste(again[0]!)).toBe("true");
});

test("SIGTERM and SIGINT end it with 0, and the next start knows of a clean end", async () => {
  const folder = path.join(temporaryFolder(), "data");
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    const server = await startServer({ folder });
    expect(await server.kill(signal)).toEqual({ code: 0, signal: null });
  }
  const { logLines } = await startServer({ folder });
  expect(logLines.find(({ msg }) => msg === "recovered")).toMatchObject({
    cleanShutdown: true,
    tornBytes: 0,
  });
});

test("both signals at once end it once, with 0", async () => {
  const server = await startServer();
  void server.kill("SIGINT");
  expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null });
});

test("what was answered before kill -9 is there after the next start", async () => {
  const first = await startServer({ args: ["--demo"] });
  const seats = async (server: typeof first, query: string) => {
    const target = `${V2}/events/${server.eventId}/seats/?${query}`;
    const reply = await server.request("GET", target);
    return ((await reply.json()) as { content: { seatId: number; state: string }[] }).content;
  };
  const ids = (await seats(first, "size=4")).map(({ seatId }) => seatId);
  const book = async (server: typeof first, call: string, ...chosen: number[]) => {
    const target = `${V2}/booking/${call}?eventId=${server.eventId}`;
    const body = { sessionId: "s", seats: chosen.map((id) => ({ id })) };
    return (await server.request("POST", target, body)).text();
  };
  expect(await book(first, "lock", ids[0]!, ids[1]!)).toBe("true");
  expect(await book(first, "sale", ids[0]!)).toBe("true");
  expect(await first.kill("SIGKILL")).toEqual({ code: null, signal: "SIGKILL" });
  const second = await startServer({ args: ["--demo"], folder: first.folder });
  const states = (await seats(second, "size=4")).map(({ state }) => state);
  expect(states).toEqual(["SOLD", "LOCKED", "ACTIVE", "ACTIVE"]);
  expect(await book(second, "sale", ids[1]!)).toBe("true");
  const { logLines } = second;
  expect(logLines.find(({ msg }) => msg === "recovered")).toMatchObject({ cleanShutdown: false });
});

test("an unfinished first start is finished by the next one", async () => {
  const folder = path.join(temporaryFolder(), "data");
  const store = await openEngine({ folder });
  await store.close();
  const server = await startServer({ folder, env: { FRONTROW_TENANT_TOKEN: TOKEN } });
  const target = "/api/private/management/v2.0/organizations/";
  expect((await server.request("GET", target, undefined, TOKEN)).status).toBe(200);
});

test("what a first start generates is said once, on standard error", async () => {
  const server = await startServer();
  const token = server.generated("tenant token");
  expect(token).toMatch(/^frt_\d+_[\w-]{43}$/);
  const credentials = {
    username: server.generated("admin email"),
    password: server.generated("admin password"),
  };
  const login = await server.request("POST", "/api/auth/login", credentials, "");
  expect(await login.json()).toMatchObject({ success: true, tenantToken: token });
  await server.kill("SIGTERM");
  const { stderr } = await startServer({ folder: server.folder });
  expect(stderr).not.toMatch(/tenant token|admin password/);
  expect(stderr).not.toContain(token);
});

test("given token and account are used as given, are said nowhere, and kept only as hashes", async () => {
  const env = { FRONTROW_TENANT_TOKEN: TOKEN, ...ADMIN };
  const server = await startServer({ env });
  expect(server.stderr).not.toMatch(/tenant token|admin email|admin password/);
  const target = "/api/private/management/v2.0/organizations/";
  expect((await server.request("GET", target, undefined, TOKEN)).status).toBe(200);
  expect((await server.request("GET", target, undefined, `${TOKEN}!`)).status).toBe(403);
  const credentials = { username: "Root@x.example", password: "correct horse" };
  const login = await server.request("POST", "/api/auth/login", credentials, "");
  const body = (await login.json()) as Record<string, unknown>;
  expect(body["success"]).toBe(true);
  expect(body).not.toHaveProperty("tenantToken");
  await server.kill("SIGTERM");
  const disk = spawnSync("grep", ["-rla", TOKEN, server.folder], { encoding: "utf8" });
  expect(disk.stdout).toBe("");
  expect(server.stderr + server.stdout).not.toContain(TOKEN);
});

test("on a folder that is not empty the bootstrap variables are ignored, with a warning", async () => {
  const first = await startServer({ env: { FRONTROW_TENANT_TOKEN: TOKEN } });
  await first.kill("SIGTERM");
  const other = "another-token-of-ours";
  const env = { FRONTROW_TENANT_TOKEN: other, ...ADMIN };
  const second = await startServer({ folder: first.folder, env });
  const warnings = second.logLines.filter(({ level }) => level === 40);
  expect(warnings.length).toBeGreaterThan(0);
  for (const name of ["TENANT_TOKEN", "ADMIN_EMAIL", "ADMIN_PASSWORD"]) {
    expect(JSON.stringify(warnings)).toContain(`FRONTROW_${name}`);
  }
  expect(second.stderr).not.toContain(other);
  const target = "/api/private/management/v2.0/organizations/";
  expect((await second.request("GET", target, undefined, other)).status).toBe(403);
  expect((await second.request("GET", target, undefined, TOKEN)).status).toBe(200);
});

test("a secret from outside gives the same keys, and is not in the folder", async () => {
  const env = { FRONTROW_SECRET: SECRET };
  const first = await startServer({ args: ["--demo"], env });
  expect(existsSync(path.join(first.folder, "secret"))).toBe(false);
  await first.kill("SIGTERM");
  const upper = { FRONTROW_SECRET: SECRET.toUpperCase() };
  const second = await startServer({ args: ["--demo"], env: upper, folder: first.folder });
  expect(second.key).toBe(first.key);
  await second.kill("SIGTERM");
  const args = ["serve", "--port", "0", "--data", first.folder];
  expectOneLine(await runCli({ args }), /secret/);
});

test("the folder's own secret can be read by its owner alone", async () => {
  const server = await startServer();
  expect(statSync(path.join(server.folder, "secret")).mode & 0o777).toBe(0o600);
});

test("each flag is a variable too, and the flag beats it", async () => {
  const [folder, other] = [temporaryFolder(), temporaryFolder()];
  const env = {
    FRONTROW_DATA: path.join(folder, "data"),
    FRONTROW_LOG_LEVEL: "silent",
    FRONTROW_DEMO: "1",
    FRONTROW_HOST: "localhost",
  };
  const args = ["--data", path.join(other, "data"), "--log-level", "info", "--host", "127.0.0.1"];
  const flagged = await startServer({ folder: path.join(other, "data"), env, args });
  expect(existsSync(path.join(folder, "data"))).toBe(false);
  expect(flagged.logLines.length).toBeGreaterThan(0);
  expect(flagged.url).toMatch(/127\.0\.0\.1/);
  expect(flagged.key).toMatch(/^fro_/);
  const silent = await startServer({ env: { FRONTROW_LOG_LEVEL: "silent" } });
  expect(silent.logLines).toEqual([]);
});

const USAGE: readonly (readonly [readonly string[], Readonly<Record<string, string>>, RegExp])[] = [
  [["--colour"], {}, /--colour/],
  [["--port", "abc"], {}, /port/],
  [["--port", "65536"], {}, /port/],
  [["--port", "-1"], {}, /port/],
  [["--log-level", "loud"], {}, /log-level/],
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

test.each(USAGE)(
  "serve %j with %j is wrong usage: one line, 2, no folder",
  async (args, env, word) => {
    const folder = temporaryFolder();
    const data = path.join(folder, "data");
    const common = args.includes("--port") || "FRONTROW_PORT" in env ? [] : ["--port", "0"];
    const finished = await runCli({ args: ["serve", "--data", data, ...common, ...args], env });
    expectOneLine(finished, word);
    expect(finished.code).toBe(2);
    // Neither the secret nor the password that was given is repeated.
    for (const value of ["abc\n", "short\n"]) expect(finished.stderr).not.toContain(value);
    expect(readdirSync(folder)).toEqual([]);
  },
);

test("a port in use: one line that says so and what to do, and no folder", async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => void taken.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void taken.close());
  const { port } = taken.address() as AddressInfo;
  const folder = temporaryFolder();
  const args = ["serve", "--data", path.join(folder, "data"), "--port", String(port)];
  expectOneLine(await runCli({ args }), new RegExp(String(port)), /in use/, /--port/);
  expect(readdirSync(folder)).toEqual([]);
});

test("a folder with other things in it is left alone", async () => {
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, "thesis.txt"), "years of work");
  const before = contents(folder);
  const finished = await runCli({ args: ["serve", "--port", "0", "--data", folder] });
  expectOneLine(finished, folder, /other files/, /choose/);
  expect(contents(folder)).toEqual(before);
});

test("a file in place of the folder is refused", async () => {
  const file = path.join(temporaryFolder(), "file");
  writeFileSync(file, "text");
  const finished = await runCli({ args: ["serve", "--port", "0", "--data", file] });
  expectOneLine(finished, file);
  expect(readFileSync(file, "utf8")).toBe("text");
});

test("a second process on a folder is turned away, and the first goes on", async () => {
  const server = await startServer({ args: ["--demo"] });
  const wal = path.join(server.folder, "wal");
  const before = contents(wal);
  const finished = await runCli({ args: ["serve", "--port", "0", "--data", server.folder] });
  expectOneLine(finished, server.folder, /another process/);
  expect(contents(wal)).toEqual(before);
  expect((await server.request("GET", `${V2}/events/`)).status).toBe(200);
});

test("a folder that cannot be written is refused", async () => {
  const folder = temporaryFolder();
  // Not even the administrator, as whom tests may run, can make a folder there.
  const places = ["/proc/frontrow-data"];
  if (process.getuid?.() !== 0) {
    const locked = path.join(folder, "locked");
    mkdirSync(locked);
    chmodSync(locked, 0o500);
    places.push(path.join(locked, "data"));
  }
  for (const place of places) {
    const finished = await runCli({ args: ["serve", "--port", "0", "--data", place] });
    expectOneLine(finished, place);
  }
});

test("a damaged log stops the start, names the place, and stays as it is", async () => {
  const server = await startServer({ args: ["--demo"] });
  await server.kill("SIGTERM");
  const [name] = readdirSync(path.join(server.folder, "wal"));
  const segment = path.join(server.folder, "wal", name!);
  const bytes = readFileSync(segment);
  bytes[2_000] = bytes[2_000]! ^ 1;
  writeFileSync(segment, bytes);
  const before = contents(server.folder);
  const finished = await runCli({ args: ["serve", "--port", "0", "--data", server.folder] });
  expectOneLine(finished, name!, /damaged/, /at byte \d+/, /copy/);
  expect(finished.code).toBe(78);
  expect(contents(server.folder)).toEqual(before);
});

test("--help names every flag and variable, --version the version", async () => {
  const help = await runCli({ args: ["serve", "--help"] });
  expect([help.code, help.stderr]).toEqual([0, ""]);
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  expect((await runCli({ args: ["--version"] })).stdout).toBe(`${version}\n`);
  for (const word of [
    "--host",
    "--port",
    "--data",
    "--demo",
    "--log-level",
    "FRONTROW_HOST",
    "FRONTROW_PORT",
    "FRONTROW_DATA",
    "FRONTROW_DEMO",
    "FRONTROW_LOG_LEVEL",
    "FRONTROW_SECRET",
    "FRONTROW_TENANT_TOKEN",
    "FRONTROW_ADMIN_EMAIL",
    "FRONTROW_ADMIN_PASSWORD",
  ]) {
    expect(help.stdout).toContain(word);
  }
});
