/** `npm run demo:onsale` with the compiled program: sells out the sample arena and cleans up. */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Report } from "../../../server/onsale/run.ts";
import { collect, exitOf } from "../../support/server-process.ts";

vi.setConfig({ testTimeout: 240_000 });

/** Starts the demo in a process group of its own, with a folder for its temporary files. */
function startDemo(...flags: string[]) {
  const folder = mkdtempSync(join(tmpdir(), "onsale-demo-"));
  const env = { ...process.env, TMPDIR: folder };
  const args = ["run", "--silent", "demo:onsale", "--", "--seconds", "200", ...flags];
  const child = spawn("npm", args, { env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  let isRunning = true;
  const exited = exitOf(child).finally(() => (isRunning = false));
  /** As a terminal on Ctrl-C: to the whole group. */
  const interrupt = () => process.kill(-child.pid!, "SIGINT");
  onTestFinished(async () => {
    if (isRunning) interrupt();
    await exited;
    rmSync(folder, { recursive: true });
  });
  return { folder, output: collect(child), exited, interrupt };
}

/** The demo's own folders; npm may leave a cache of its own. */
function foldersOf(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.startsWith("frontrow-demo-"));
}

test("the demo sells out the sample arena and removes its server and its data", async () => {
  const { folder, output, exited } = startDemo("--json");
  expect(await exited, output.stderr).toEqual({ code: 0, signal: null });
  const report = JSON.parse(output.stdout) as Report;
  expect(report.headline).toMatch(/^SOLD OUT: 9,088 tickets in \d+\.\d s, 0 sold twice$/);
  expect(report.sold).toEqual({ seats: 7_488, places: 1_600 });
  expect(foldersOf(folder)).toEqual([]);
});

test("Ctrl-C during the sale ends the demo, its server, and its data", async () => {
  const { folder, output, exited, interrupt } = startDemo("--think-ms", "600000");
  await vi.waitUntil(() => /^event /m.test(output.stderr), { timeout: 200_000 });
  const [name] = foldersOf(folder);
  const url = /^frontrow listening on (.+)$/m.exec(
    readFileSync(join(folder, name!, "out"), "utf8"),
  )![1]!;
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  interrupt();
  expect(await exited).not.toEqual({ code: 0, signal: null });
  expect(foldersOf(folder)).toEqual([]);
  await expect(fetch(`${url}/readyz`)).rejects.toThrow("fetch failed");
});
