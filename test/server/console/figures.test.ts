/**
 * The figures of the map with 80,640 seats, as `npm run bench:console` measures them. Times depend
 * on how fast the machine is just now; their ratios to known work, memory and bytes hardly do.
 */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { Result } from "../../../bench/harness/results.ts";
import { ROOT } from "../../support/server-process.ts";

const TIMES = /^(first full picture|median frame|processor ms)|^the same with changes$/;

test("80,640 seats stay within the goals for time ÷ known work, memory and bytes", async () => {
  const results = await mkdtemp(path.join(os.tmpdir(), "frontrow-console-"));
  try {
    const program = path.join(ROOT, "dist/bench/console/console.js");
    const env = { ...process.env, BENCH_RESULTS: results };
    await promisify(execFile)(process.execPath, [program, "--seconds", "3"], { env, cwd: ROOT });
    const written = await readFile(path.join(results, "console.json"), "utf8");
    const { verdicts } = JSON.parse(written) as Result;
    const judged = verdicts.filter(({ figure }) => !TIMES.test(figure));
    expect(judged.length).toBeGreaterThanOrEqual(7);
    for (const { figure, value, atMost } of judged) {
      expect(value, figure).toBeLessThanOrEqual(atMost!);
    }
  } finally {
    await rm(results, { recursive: true });
  }
}, 180_000);
