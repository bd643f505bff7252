/** The benchmarks run at toy size, so that they cannot rot. Their figures mean nothing here. */
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

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

test("the durable lock is measured beside an empty handler", async () => {
  const toy = ["--connections", "4", "--seconds", "0.2", "--rounds", "1"];
  const printed = await run("lock-http.js", toy);
  expect(printed).toMatch(/durable lock and unlock of two seats .* requests a second/);
  expect(printed).toMatch(/ratio of requests a second: \d+\.\d\d/);
});

test("pages of the seats listing are measured over HTTP", async () => {
  const printed = await run("listing-http.js", ["200"]);
  expect(printed.match(/^200 seats, .*: first page .* ms, last page .* ms$/gm)).toHaveLength(4);
});
