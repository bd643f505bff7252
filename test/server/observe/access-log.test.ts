/** The access log: a line for each request, bounded in memory, and without secrets. */
import { spawn, spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { AccessLog } from "../../../server/observe/log.ts";
import { answer } from "../../../server/http/answers.ts";
import { Exchange } from "../../../server/http/front.ts";
import { startServer, temporaryFolder } from "../../support/server-process.ts";
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
