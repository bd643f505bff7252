/** Runs a benchmark at toy size, so that none stops working. The figures mean nothing here. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, vi } from "vitest";
import type { Result } from "../../bench/harness/results.ts";

/** Seconds of an idle machine, many times over: a busy one must not fail. */
const TEST_MS_MAX = 120_000;
const DIST = path.resolve(import.meta.dirname, "../../dist/bench");

export const TOY = ["--connections", "4", "--seconds", "0.1", "--rounds", "1"];

export interface Trials {
  /** In the folder of the results. @returns The output of the benchmark. */
  readonly run: (
    file: string,
    args: readonly string[],
    added?: NodeJS.ProcessEnv,
  ) => Promise<string>;
  readonly result: (name: string) => Promise<Result>;
  /** @returns A file that a benchmark wrote. */
  readonly written: (name: string) => Promise<string>;
}

/** The trials of a file of tests write their results to a folder of their own. */
export function trials(): Trials {
  vi.setConfig({ testTimeout: TEST_MS_MAX, hookTimeout: TEST_MS_MAX });
  let results = "";
  beforeAll(async () => {
    results = await mkdtemp(path.join(os.tmpdir(), "frontrow-bench-test-"));
  });
  afterAll(() => rm(results, { recursive: true }));
  const written = (name: string) => readFile(path.join(results, name), "utf8");
  return {
    written,
    run: async (file, args, added = {}) => {
      const env = { ...process.env, BENCH_TRIAL: "1", BENCH_RESULTS: results, ...added };
      const options = { env, cwd: results };
      const done = promisify(execFile)(process.execPath, [path.join(DIST, file), ...args], options);
      const { stdout, stderr } = await done;
      // Progress is for terminals: here it would fill a log.
      expect(stderr).toBe("");
      return stdout;
    },
    result: async (name) => JSON.parse(await written(`${name}.json`)) as Result,
  };
}
