/** The benchmarks run at toy size, so that they cannot rot. Their figures mean nothing here. */
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { MIXES } from "../bench/load/plan.ts";

const DIST = path.resolve(import.meta.dirname, "../dist/bench");

const run = async (file: string, args: readonly string[]) => {
  const env = { ...process.env, BENCH_TRIAL: "1" };
  const done = promisify(execFile)(process.execPath, [path.join(DIST, file), ...args], { env });
  return (await done).stdout;
};

test("the single steps are measured, and leave nothing locked", async () => {
  const printed = await run("micro.js", ["100"]);
  expect(printed.match(/p50 \d+ ns/g)).toHaveLength(4);
});

test("the durable lock is measured beside an empty handler, in every mix", async () => {
  const results = await mkdtemp(path.join(os.tmpdir(), "frontrow-bench-test-"));
  const toy = ["--connections", "4", "--seconds", "0.1", "--rounds", "1"];
  const printed = await run("bench.js", [...toy, "--only", "Frontrow|uWeb", "--results", results]);
  for (const mix of MIXES) expect(printed).toContain(`${mix}, 4 connections`);
  expect(printed).toMatch(/lock ÷ POST not parsed, 64 connections .* not measured/);
  const [file] = await readdir(results);
  const kept = JSON.parse(await readFile(path.join(results, file!), "utf8"));
  expect(kept.rows[0].rounds[0].done).toBeGreaterThan(0);
  expect(kept.conditions.node).toBe(process.version);
  await rm(results, { recursive: true });
});

test("pages of the seats listing are measured over HTTP", async () => {
  const printed = await run("listing-http.js", ["200"]);
  expect(printed.match(/^200 seats, .*: first page .* ms, last page .* ms$/gm)).toHaveLength(4);
});

test("recovery is measured, and brings back the same state", async () => {
  const toy = ["--records", "1000", "--events", "2", "--seats", "100", "--rounds", "1"];
  const printed = await run("recovery.js", toy);
  expect(printed).toMatch(/^1,000 records of the log: \d+\.\d\d s/m);
  expect(printed).toMatch(/^a snapshot of 2 events of 100 seats: \d+\.\d\d s/m);
});

test("what a snapshot costs the engine is measured", async () => {
  const toy = ["--events", "2", "--seats", "100", "--rounds", "2", "--records", "1000"];
  const printed = await run("snapshots.js", toy);
  expect(printed).toMatch(/longest pause: \d+\.\d\d ms in the first snapshot, \d+\.\d\d ms/);
  expect(printed).toMatch(/throughput during a snapshot \/ without: \d+\.\d\d/);
});
