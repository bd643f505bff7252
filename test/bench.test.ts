/** Runs every benchmark at toy size, to show that it still works. The figures mean nothing. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { contenders } from "../bench/contenders/all.ts";
import { programInPath } from "../bench/contenders/programs.ts";
import { MIXES } from "../bench/load/plan.ts";
import {
  FRONTROW,
  IOREDIS_ALWAYS,
  POSTGRES_FUNCTION,
  POSTGRES_TRANSACTION,
  REDIS_ALWAYS,
  SQLITE_FULL,
  verdictsOf,
} from "../bench/rounds/goals.ts";
import { type Result, verdictTable } from "../bench/rounds/results.ts";
import type { Row } from "../bench/rounds/rounds.ts";

/** Enough for a busy machine; each takes seconds on an idle one. */
vi.setConfig({ testTimeout: 120_000 });

const DIST = path.resolve(import.meta.dirname, "../dist/bench");

let results = "";
beforeAll(async () => {
  results = await mkdtemp(path.join(os.tmpdir(), "frontrow-bench-test-"));
});
afterAll(() => rm(results, { recursive: true }));

const run = async (file: string, args: readonly string[]) => {
  const env = { ...process.env, BENCH_TRIAL: "1", BENCH_RESULTS: results };
  const done = promisify(execFile)(process.execPath, [path.join(DIST, file), ...args], { env });
  return (await done).stdout;
};
const kept = async (name: string) =>
  JSON.parse(await readFile(path.join(results, name), "utf8")) as Result;
const TOY = ["--connections", "4", "--seconds", "0.1", "--rounds", "1"];
const isThere = (name: string) => contenders([]).some((one) => one.name === name && !one.missing());

test("the single steps are measured, and leave nothing locked", async () => {
  const printed = await run("micro.js", ["200"]);
  expect(printed.match(/p50 \d+ ns/g)).toHaveLength(10);
  expect(printed).toMatch(/^in process, two-seat lock with record encoded, ns +≤ 250 /m);
});

test("the durable lock is measured next to empty handlers, in every mix", async () => {
  const printed = await run("bench.js", [...TOY, "--only", "Frontrow|uWebSockets"]);
  for (const mix of MIXES) expect(printed).toContain(`${mix}, 4 connections`);
  expect(printed).toMatch(/^lock ÷ POST not parsed, 64 connections .* not measured$/m);
  const { conditions, rows } = await kept("load.json");
  expect(conditions.node).toBe(process.version);
  for (const row of rows as Row[]) expect(row.rounds[0]!.done, row.name).toBeGreaterThan(0);
});

test("goals are judged by the ratios within a round", () => {
  const row = (name: string, rates: readonly number[]) => ({
    name,
    mix: "lock" as const,
    connections: 256,
    rounds: rates.map((requestsPerSecond) => ({
      requestsPerSecond,
      seconds: 1,
      latencyMs: { p50: 1, p99: 1_000 / requestsPerSecond, p999: 9 },
      done: 1,
      refused: 0,
      cpuSeconds: 0,
      cpu: null,
    })),
  });
  const verdicts = verdictsOf([
    row(FRONTROW, [80, 40, 90]),
    row("uWebSockets.js POST, body read, not parsed", [100, 80, 100]),
  ]);
  expect(verdicts[0]).toMatchObject({ value: 0.8, low: 0.5, high: 0.9, atLeast: 0.75 });
  expect(verdicts[2]).toMatchObject({ value: 1.25, atMost: 1.4 });
  const lines = verdictTable(verdicts).split("\n");
  expect(lines[2]).toMatch(/≥ 0\.75 +0\.80 +0\.50-0\.90 +reached$/);
  expect(lines[3]).toMatch(/not measured$/);
  expect(lines[4]).toMatch(/≤ 1\.4 +1\.25 .* reached$/);
});

const STORES = [REDIS_ALWAYS, IOREDIS_ALWAYS, POSTGRES_TRANSACTION, POSTGRES_FUNCTION, SQLITE_FULL];
test.for(STORES)(
  "an alternative sells no seat twice and loses none: %s",
  async (name, { skip }) => {
    skip(!isThere(name), "not installed");
    const pattern = name.replaceAll(/[()+]/g, String.raw`\$&`);
    const printed = await run("bench.js", [...TOY, "--mixes", "lock,hot", "--only", pattern]);
    expect(printed).toContain(`lock, 4 connections`);
    const { rows } = await kept("load.json");
    expect((rows as Row[]).map((row) => [row.name, row.mix])).toEqual([
      [name, "lock"],
      [name, "hot"],
    ]);
  },
);

test("the load generator is compared with another one", async ({ skip }) => {
  skip(programInPath("wrk") === null, "not installed");
  const toy = ["--connections", "4", "--seconds", "1", "--rounds", "1"];
  const printed = await run("generator.js", toy);
  expect(printed.match(/^uWebSockets\.js (GET|POST).* \d+ k +\d+ k-\d+ k$/gm)).toHaveLength(2);
});

test("growth is measured and plotted", async () => {
  const small = ["--seats", "200,400", "--events", "1,2", "--request", "1,2", "--holds", "0,10"];
  const printed = await run("growth.js", [...small, "--records", "100,200", "--rounds", "1"]);
  expect(printed).toMatch(/^throughput at 2 events ÷ at 1 event of 1,000 +≥ 0\.8 /m);
  expect(printed).toMatch(/^throughput at 400 seats ÷ /m);
  for (const name of ["seats", "events", "request", "holds", "log", "recovery"]) {
    const svg = await readFile(path.join(results, `growth-${name}.svg`), "utf8");
    expect(svg).toMatch(/^<svg .*<path /s);
  }
});

test("memory is measured", async () => {
  const printed = await run("memory.js", ["--events", "3", "--seats", "500", "--holds", "500"]);
  expect(printed).toMatch(/^a seat of a further event, beyond the layout: -?\d/m);
  expect(printed).toMatch(/^MiB at most of 50 M seats, one process .* not measured$/m);
});

test("the audit trail is measured", async () => {
  const printed = await run("audit.js", ["100", "1000"]);
  expect(printed).toMatch(/^1100 transitions, \d+ bytes each$/m);
  expect(printed.match(/: [\d.]+ ms, CPU [\d.]+ ms$/gm)).toHaveLength(6);
});

test("pages of the seats listing are measured over HTTP", async () => {
  const printed = await run("listing-http.js", ["200"]);
  expect(printed.match(/^200 seats, .*: first page .* ms, last page .* ms$/gm)).toHaveLength(4);
});

test("recovery is measured, and restores the same state", async () => {
  const toy = ["--records", "1000", "--events", "2", "--seats", "100", "--rounds", "1"];
  const printed = await run("recovery.js", toy);
  expect(printed).toMatch(/^1,000 records of the log: \d+\.\d\d s/m);
  expect(printed).toMatch(/^a snapshot of 2 events of 100 seats: \d+\.\d\d s/m);
});

test("the cost of a snapshot to the engine is measured", async () => {
  const toy = ["--events", "2", "--seats", "100", "--rounds", "2", "--records", "1000"];
  const printed = await run("snapshots.js", toy);
  expect(printed).toMatch(/longest pause: \d+\.\d\d ms in the first snapshot, \d+\.\d\d ms/);
  expect(printed).toMatch(/throughput during a snapshot \/ without: \d+\.\d\d/);
});
