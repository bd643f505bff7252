/** The route tables that proxies use, and the options of cells. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../support/programs.ts";
import {
  runCli,
  type ServerProcess,
  sleep,
  temporaryFolder,
} from "../../support/server-process.ts";
import { freePort, isListening, startNginx } from "../ops/nginx.ts";
import { operate, startCell, V2 } from "./cells.ts";

const LONG = { timeout: 120_000 };
const LIST = ["--cell", "0=10.0.0.10:8080", "--cell", "7=10.0.0.17:8080", "--moved", "48=7"];

test("a map for HAProxy has the organizations that have moved, and the cells", async () => {
  const { stdout, code } = await operate("routes", ...LIST);
  expect(code).toBe(0);
  expect(stdout.split("\n").slice(1)).toEqual(["48 cell7", "cell:0 cell0", "cell:7 cell7", ""]);
});

test.each([
  [[], "no cell"],
  [["--cell", "7"], "--cell 7: it must be like 7=10.0.0.7:8080"],
  [["--cell", "7=a:1", "--cell", "7=b:1"], "--cell 7=...: the cell is named twice"],
  [["--cell", "9007=a:1"], "--cell 9007=a:1: the last cell is 9006"],
  [["--cell", "7=a:0"], "--cell 7=a:0: a port is from 1 to 65535"],
  [["--cell", "7=a:99999"], "--cell 7=a:99999: a port is from 1 to 65535"],
  [
    ["--cell", "7=a:1", "--cell", "0=b:1", "--moved", "48=7", "--moved", "48=0"],
    "--moved 48=0: the organization is named twice",
  ],
  [["--cell", "7=a:1", "--moved", "48=8"], "--moved 48=8: there is no such --cell"],
  [["--cell", "7=a:1", "--moved", "x=7"], "--moved x=7: it must be like 48=7"],
])("routes with %j is a usage error", async (flags, message) => {
  const { stderr, code } = await operate("routes", ...flags);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});

test("a data folder keeps the number of its cell", LONG, async () => {
  const cell = await startCell(7);
  await cell.kill("SIGTERM");
  for (const flags of [[], ["--cell", "8"]]) {
    const args = ["serve", "--port", "0", "--data", cell.folder, ...flags];
    const { code, stderr } = await runCli({ args });
    expect(code).toBe(78);
    expect(stderr).toContain(`its store is that of cell 7, not of cell ${flags[1] ?? 0}`);
  }
  expect((await runCli({ args: ["verify", cell.folder] })).code).toBe(0);
  const args = ["serve", "--port", "0", "--cell", "9007"];
  expect(await runCli({ args })).toMatchObject({ code: 2 });
});

test("a store of cell 0 has the same files as one without cells", LONG, async () => {
  const cell = await startCell(0);
  const store = JSON.parse(readFileSync(path.join(cell.folder, "store.json"), "utf8")) as object;
  expect(Object.keys(store)).toEqual(["version", "storeId", "createdAt", "hasLog"]);
});

test("the trail and the stream of a cell begin with its own sequence numbers", LONG, async () => {
  const cell = await startCell(7, { args: ["--demo"] });
  const target = `${V2}/events/${cell.eventId}`;
  const trail = (await (await cell.request("GET", `${target}/audit/?size=1`)).json()) as {
    content: { sequence: number }[];
  };
  expect(trail.content[0]!.sequence).toBeGreaterThan(7_000_000_000_000);
  // No number of another cell is taken for one of this cell.
  const changes = (since: number) => cell.request("GET", `${target}/changes/?since=${since}`);
  const all = (await (await changes(5)).json()) as { changes: object[]; sequence: number };
  expect(all.changes[0]).toMatchObject({ previous: 0 });
  expect((await changes(9_000_000_000_000)).status).toBe(410);
  const since = `${target}/changes/?since=${all.sequence}`;
  expect((await cell.request("GET", since)).status).toBe(200);
  await cell.kill("SIGKILL");
  const again = await startCell(7, { folder: cell.folder });
  expect((await again.request("GET", since, undefined, cell.key)).status).toBe(200);
});

describeWith(["nginx"], "nginx with the maps of two cells", () => {
  test("a key leads to its cell, also when its organization has moved", LONG, async () => {
    const [zero, seven] = await Promise.all([
      startCell(0, { args: ["--demo"] }),
      startCell(7, { args: ["--demo"] }),
    ]);
    const [, page = ""] =
      /```nginx\n([^]*?)```/.exec(readFileSync("server/docs/guide/hosts/cells.md", "utf8")) ?? [];
    const hostOf = ({ url }: { url: string }) => new URL(url).host;
    const cells = ["--cell", `0=${hostOf(zero)}`, "--cell", `7=${hostOf(seven)}`];
    const id = zero.key.split("_")[1]!;
    const list = `${V2}/events/`;
    const firstEvent = async (url: string, headers: Record<string, string>) => {
      const answer = await fetch(url + list, { headers });
      return ((await answer.json()) as { content?: { id: string }[] }).content?.[0]?.id;
    };
    const { stdout: maps } = await operate("routes", "--for", "nginx", ...cells);
    const url = await startNginx(page.replace("include cells.conf;", maps), zero);
    expect(await firstEvent(url, { "X-API-Key": zero.key })).toBe(zero.eventId);
    expect(await firstEvent(url, { "X-API-Key": seven.key })).toBe(seven.eventId);
    expect(await firstEvent(url, { Authorization: `Bearer ${seven.key}` })).toBe(seven.eventId);
    const tenant = { "X-API-Key": seven.generated("tenant token") };
    const named = { ...tenant, "X-Organization-ID": seven.key.split("_")[1]! };
    expect(await firstEvent(url, named)).toBe(seven.eventId);
    await rename(zero);
    await operate("move", id, "--from", zero.url, "--to", seven.url);
    const { stdout: after } = await operate(
      "routes",
      "--for",
      "nginx",
      ...cells,
      "--moved",
      `${id}=7`,
    );
    const moved = await startNginx(page.replace("include cells.conf;", after), zero);
    const answer = await fetch(moved + list, {
      headers: { "X-API-Key": zero.key },
      redirect: "manual",
    });
    expect(answer.status).toBe(200);
  });
});

/** Both demos have an organization of that name, and a tenant has each name once. */
async function rename(cell: ServerProcess): Promise<void> {
  const body = { id: Number(cell.key.split("_")[1]), name: "Moved" };
  const target = "/api/private/management/v2.0/organizations/";
  const token = cell.generated("tenant token");
  expect((await cell.request("PUT", target, body, token)).status).toBe(200);
}

/** HAProxy with the configuration in server/ops in front of two cells. */
async function startHaproxy(zero: ServerProcess, seven: ServerProcess, map: string) {
  const folder = temporaryFolder();
  const [file, maps] = [path.join(folder, "haproxy.cfg"), path.join(folder, "cells.map")];
  const port = await freePort();
  writeFileSync(maps, map);
  const text = readFileSync("server/ops/haproxy.cfg", "utf8")
    .replaceAll("/etc/haproxy/cells.map", maps)
    .replace("127.0.0.1:8443", `127.0.0.1:${port}`)
    // The first server of cell 0 is down, as a standby is.
    .replace("127.0.0.1:8080", `127.0.0.1:${await freePort()}`)
    .replace("127.0.0.1:8081", new URL(zero.url).host)
    .replace("127.0.0.1:8170", new URL(seven.url).host);
  writeFileSync(file, text);
  const env = { ...process.env, PATH: `${process.env["PATH"]}:/usr/sbin` };
  const check = spawnSync("haproxy", ["-c", "-f", file], { env, encoding: "utf8" });
  expect([check.status, check.stderr]).toEqual([0, expect.not.stringContaining("WARNING")]);
  const haproxy = spawn("haproxy", ["-db", "-f", file], { env, stdio: "ignore" });
  const exited = once(haproxy, "exit");
  onTestFinished(async () => {
    haproxy.kill("SIGTERM");
    await exited;
  });
  while (!(await isListening(port))) await sleep(20);
  return `http://127.0.0.1:${port}`;
}

describeWith(["haproxy"], "HAProxy with the map of two cells", () => {
  test("a key leads to the server of its cell that is ready", LONG, async () => {
    const [zero, seven] = await Promise.all([
      startCell(0, { args: ["--demo"] }),
      startCell(7, { args: ["--demo"] }),
    ]);
    const cells = ["--cell", "0=a.example:1", "--cell", "7=b.example:1"];
    const { stdout: map } = await operate("routes", ...cells);
    const url = await startHaproxy(zero, seven, map);
    const firstEvent = async (headers: Record<string, string>) => {
      const answer = await fetch(`${url}${V2}/events/`, { headers });
      const text = await answer.text();
      return (/"id":"([^"]+)"/.exec(text) ?? [])[1] ?? `${answer.status}`;
    };
    // Until the first check has failed, the server that is down gets requests.
    while ((await firstEvent({ "X-API-Key": zero.key })) === "503") await sleep(100);
    expect(await firstEvent({ "X-API-Key": zero.key })).toBe(zero.eventId);
    expect(await firstEvent({ "X-API-Key": seven.key })).toBe(seven.eventId);
    expect(await firstEvent({ Authorization: `Bearer ${seven.key}` })).toBe(seven.eventId);
    const named = { "X-Organization-ID": seven.key.split("_")[1]! };
    const token = seven.generated("tenant token");
    expect(await firstEvent({ "X-API-Key": token, ...named })).toBe(seven.eventId);
    const moved = `${zero.key.split("_")[1]!} cell7\n${map}`;
    await rename(zero);
    await operate("move", zero.key.split("_")[1]!, "--from", zero.url, "--to", seven.url);
    const after = await startHaproxy(zero, seven, moved);
    const answer = await fetch(`${after}${V2}/events/`, {
      headers: { "X-API-Key": zero.key },
      redirect: "manual",
    });
    expect(answer.status).toBe(200);
  });
});
