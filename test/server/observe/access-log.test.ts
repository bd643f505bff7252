/** The access log: a line for each request, bounded in memory, and without secrets. */
import { spawn, spawnSync } from "node:child_process";
import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { AccessLog } from "../../../server/observe/log.ts";
import { answer } from "../../../server/http/answers.ts";
import { Exchange } from "../../../server/http/front.ts";
import { describeWith } from "../../support/programs.ts";
import { ROOT, startServer, temporaryFolder } from "../../support/server-process.ts";
import { V2 } from "../../support/server.ts";
import { Listening } from "../wire/connection.ts";

type Line = Readonly<Record<string, unknown>>;

/** The last line may not have come whole. */
function linesOf(text: string): Line[] {
  const lines = text.slice(0, text.lastIndexOf("\n") + 1).split("\n");
  return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as Line);
}

class Request extends Exchange {
  override method = "get";
  override path = "/healthz";
  readonly address = () => "192.0.2.1";
  respond(): void {}
}

const OK = answer(200, "é");

test("a line has method, path, status, duration, bytes, request id and organization", async () => {
  const file = path.join(temporaryFolder(), "access.log");
  const log = new AccessLog(file);
  const listening = await Listening.start({ onAnswer: log.answered.bind(log) });
  const { a } = listening.server;
  const booking = `${V2}/booking/lock`;
  expect((await listening.lock("A1")).status).toBe(200);
  const refused = await listening.lock("A1");
  const headers = { "X-Request-Id": "r1" };
  await fetch(`${listening.base}${V2}/events/?key=${a.key}`, { headers });
  await fetch(`${listening.base}/${a.key}`);
  await log.written();
  const lines = linesOf(readFileSync(file, "utf8"));
  const common = {
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
    durationMs: expect.any(Number) as number,
    bytes: expect.any(Number) as number,
    requestId: expect.stringMatching(/^[\w-]+$/) as string,
  };
  const lock = { ...common, method: "POST", path: booking, organization: a.id };
  const got = { ...common, method: "GET", organization: null };
  expect(lines).toEqual([
    { ...lock, status: 200, bytes: 4 },
    { ...lock, status: 400, requestId: refused.headers.get("x-request-id") },
    { ...got, path: `${V2}/events/`, status: 403, requestId: "r1" },
    { ...got, path: a.key.replace(/(fro_\d+_).*/, "/$1***"), status: 404 },
  ]);
  expect(Number(lines[0]!["durationMs"])).toBeGreaterThan(0);
  expect(readFileSync(file, "utf8")).not.toContain(a.key);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("a pipe that is not read loses lines, blocks nothing and keeps memory bounded", async () => {
  const pipe = path.join(temporaryFolder(), "pipe");
  expect(spawnSync("sh", ["-c", `mkfifo ${pipe}`]).status).toBe(0);
  expect(() => new AccessLog(pipe)).toThrow("the access log cannot be opened: ENXIO");
  const reader = spawn("sh", ["-c", `exec 3< ${pipe}; kill -STOP $$; cat <&3`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void reader.kill("SIGKILL"));
  let text = "";
  reader.stdout.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  const log = await vi.waitUntil(() => {
    try {
      return new AccessLog(pipe);
    } catch {
      return null;
    }
  });
  const request = new Request();
  const beforeBytes = process.memoryUsage().rss;
  for (let i = 0; i < 200_000; i++) {
    log.answered(request, OK);
    if (i % 1_000 === 0) await new Promise(setImmediate);
  }
  expect(log.lines + log.dropped).toBe(200_000);
  expect(log.dropped).toBeGreaterThan(150_000);
  expect(process.memoryUsage().rss - beforeBytes).toBeLessThan(200 * 1_024 * 1_024);
  reader.kill("SIGCONT");
  await log.written();
  await vi.waitUntil(() => linesOf(text).length === log.lines, { timeout: 10_000 });
});

test("a server writes no such log unless it is asked to, and all lines when it stops", async () => {
  const args = ["--access-log", "-"];
  const server = await startServer({ args });
  for (const target of ["/healthz", "/readyz", "/nothing"]) await fetch(server.url + target);
  await server.kill("SIGTERM");
  const seen = linesOf(server.stdout).map(({ path: target, status }) => [target, status]);
  expect(seen).toEqual([
    ["/healthz", 200],
    ["/readyz", 200],
    ["/nothing", 404],
  ]);
  const silent = await startServer({ folder: server.folder });
  await fetch(`${silent.url}/healthz`);
  await silent.kill("SIGTERM");
  expect(linesOf(silent.stdout)).toEqual([]);
});

/** Waits until the file has as many lines. */
async function linesIn(file: string, count: number): Promise<Line[]> {
  return vi.waitFor(() => {
    const lines = linesOf(readFileSync(file, "utf8"));
    expect(lines.length).toBeGreaterThanOrEqual(count);
    return lines;
  });
}

/** A server whose access log is rotated while requests come. @returns Both files, old and new. */
async function rotated(file: string, rotate: (pid: number) => string): Promise<[Line[], Line[]]> {
  const server = await startServer({ args: ["--access-log", file] });
  const ask = async (name: string) => void (await fetch(`${server.url}/${name}`));
  for (let i = 0; i < 20; i++) await ask(`before-${i}`);
  // An empty log is not rotated.
  await linesIn(file, 1);
  const old = rotate(server.pid);
  await vi.waitFor(() => statSync(file));
  for (let i = 0; i < 20; i++) await ask(`after-${i}`);
  await linesIn(file, 20);
  expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null });
  return [linesOf(readFileSync(old, "utf8")), linesOf(readFileSync(file, "utf8"))];
}

const pathsOf = (...files: readonly Line[][]) => files.flat().map(({ path: asked }) => asked);
const ASKED = ["before", "after"].flatMap((when) =>
  Array.from({ length: 20 }, (_, i) => `/${when}-${i}`),
);

test("SIGHUP after a rename begins a new file, and every line is in one of both", async () => {
  const file = path.join(temporaryFolder(), "access.log");
  const [before, after] = await rotated(file, (pid) => {
    renameSync(file, `${file}.1`);
    process.kill(pid, "SIGHUP");
    return `${file}.1`;
  });
  expect(pathsOf(before, after)).toEqual(ASKED);
  expect(pathsOf(after)).toEqual(expect.arrayContaining(ASKED.slice(20)));
});

test("a log that cannot be opened again goes on in the old file", async () => {
  const folder = temporaryFolder();
  const file = path.join(folder, "access.log");
  const log = new AccessLog(file);
  renameSync(folder, `${folder}-moved`);
  onTestFinished(() => renameSync(`${folder}-moved`, folder));
  const error = vi.fn<() => void>();
  log.reopen({ error } as never);
  expect(error).toHaveBeenCalledOnce();
  log.answered(new Request(), OK);
  await log.written();
  expect(linesOf(readFileSync(path.join(`${folder}-moved`, "access.log"), "utf8"))).toHaveLength(1);
});

describeWith(["logrotate"], "with logrotate", () => {
  test("the printed configuration rotates the log, and every line is in one file", async () => {
    const folder = temporaryFolder();
    const file = path.join(folder, "access.log");
    const [before, after] = await rotated(file, (pid) => {
      const printed = readFileSync(path.join(ROOT, "server/ops/logrotate.conf"), "utf8");
      const config = printed
        .replace("/var/log/frontrow/access.log", file)
        .replace("systemctl kill --signal=HUP frontrow.service", `kill -HUP ${pid}`);
      const place = path.join(folder, "logrotate.conf");
      writeFileSync(place, config, { mode: 0o600 });
      const state = path.join(folder, "state");
      const { status, stderr } = spawnSync("logrotate", ["--force", "--state", state, place], {
        encoding: "utf8",
      });
      expect([status, stderr]).toEqual([0, ""]);
      return `${file}.1`;
    });
    expect(pathsOf(before, after)).toEqual(ASKED);
  });
});
