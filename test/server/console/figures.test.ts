/**
 * The figures of the map with 80,640 seats, as `npm run bench:console` measures them. A slow
 * machine misses goals in milliseconds. On a fast one the known work gains more than the map does.
 * So the processor time of a frame must reach one of both: its goal, or its share of known work.
 */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { Result, Verdict } from "../../../bench/harness/results.ts";
import { ROOT } from "../../support/server-process.ts";

const TIMES = /^(first full picture|median frame|processor ms)/;
const SHARE = / ÷ plain drawing$/;

/** Other processes disturb a measurement: the best of so many counts. */
const MEASUREMENTS_MAX = 3;

test("80,640 seats stay within the goals for time ÷ known work, memory and bytes", async () => {
  let missed = await missedGoals();
  for (let i = 1; i < MEASUREMENTS_MAX && missed.length > 0; i++) {
    const again = new Set(await missedGoals());
    missed = missed.filter((figure) => again.has(figure));
  }
  expect(missed).toEqual([]);
}, 240_000);

/** @returns Figures that miss their goal in one measurement. */
async function missedGoals(): Promise<string[]> {
  const results = await mkdtemp(path.join(os.tmpdir(), "frontrow-console-"));
  try {
    const program = path.join(ROOT, "dist/bench/console/console.js");
    const env = { ...process.env, BENCH_RESULTS: results };
    await promisify(execFile)(process.execPath, [program, "--seconds", "3"], { env, cwd: ROOT });
    const written = await readFile(path.join(results, "console.json"), "utf8");
    const { verdicts } = JSON.parse(written) as Result;
    const frames = verdicts.filter(({ figure }) => SHARE.test(figure));
    expect(frames).toHaveLength(3);
    const slow = frames.filter((share) => {
      const view = share.figure.replace(SHARE, "");
      const time = verdicts.find(({ figure }) => figure === `processor ms a frame, ${view}`)!;
      return !isReached(share) && !isReached(time);
    });
    const others = verdicts.filter(({ figure }) => !TIMES.test(figure) && !SHARE.test(figure));
    expect(others.length).toBeGreaterThanOrEqual(4);
    const large = others.filter((verdict) => !isReached(verdict));
    return [...slow, ...large].map(({ figure }) => figure);
  } finally {
    await rm(results, { recursive: true });
  }
}

function isReached({ value, atMost }: Verdict): boolean {
  return value !== null && value <= atMost!;
}
