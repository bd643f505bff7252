/**
 * The figures of the map with 80,640 seats, as `npm run bench:console` measures them. Those of the
 * clock depend on what else the machine does; processor time, memory and bytes hardly do.
 */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { Result } from "../../../bench/harness/results.ts";
import { ROOT } from "../../support/server-process.ts";

const OF_THE_CLOCK = /^(first full picture|median frame)/;

test("80,640 seats stay within the goals for processor time, memory and bytes", async () => {
  const results = await mkdtemp(path.join(os.tmpdir(), "frontrow-console-"));
  try {
    const program = path.join(ROOT, "dist/bench/console/console.js");
    const env = { ...process.env, BENCH_RESULTS: results };
    await promisify(execFile)(process.execPath, [program, "--seconds", "3"], { env, cwd: ROOT });
    const written = await readFile(path.join(results, "console.json"), "utf8");
    const { verdicts } = JSON.parse(written) as Result;
    const judged = verdicts.filter(({ figure }) => !OF_THE_CLOCK.test(figure));
    expect(judged.length).toBeGreaterThanOrEqual(7);
    for (const { figure, value, atMost } of judged) {
      expect(value, figure).toBeLessThanOrEqual(atMost!);
    }
  } finally {
    await rm(results, { recursive: true });
  }
}, 180_000);
