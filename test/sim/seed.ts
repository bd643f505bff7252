/** Runs one seed; some seeds run twice, to compare both runs. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Violation } from "./model/invariants.ts";
import { Run, type RunResult } from "./run.ts";
import { type Plan, planOf } from "./workload/plan.ts";

/** In memory where possible: the virtual disk decides what survives a crash. */
export const ROOT = fs.existsSync("/dev/shm") ? "/dev/shm" : os.tmpdir();
/** One in this many seeds runs twice. */
const TWICE_ONCE = 100;

export interface SeedResult {
  readonly seed: number;
  readonly crashes: number;
  /** The counts of the tally. */
  readonly counts: readonly (readonly [string, number])[];
  /** The violation; null for none. */
  readonly failure: string | null;
}

/** @param root - The folder for the files of runs. */
export async function runSeed(seed: number, root = ROOT): Promise<SeedResult> {
  return runPlan(planOf(seed), seed % TWICE_ONCE === 0, root);
}

/** @param isTwice - Whether a second run must equal the first. */
export async function runPlan(plan: Plan, isTwice = false, root = ROOT): Promise<SeedResult> {
  const { seed } = plan;
  const first = await attempt(plan, root);
  if (first.failure !== null || !isTwice) return { seed, ...first };
  const second = await attempt(plan, root);
  const isSame = second.failure === null && second.trace === first.trace;
  const failure = isSame ? null : `seed ${seed}: a second run was different`;
  return { seed, crashes: first.crashes + second.crashes, counts: first.counts, failure };
}

type Attempt = Omit<SeedResult, "seed"> & Pick<RunResult, "trace">;

async function attempt(plan: Plan, root: string): Promise<Attempt> {
  const folder = fs.mkdtempSync(path.join(root, "frontrow-sim-"));
  const run = new Run(plan, folder);
  try {
    const { trace, crashes, tally } = await run.run();
    return { trace, crashes, counts: [...tally.counts], failure: null };
  } catch (error) {
    const counts = [...run.tally.counts];
    return { trace: 0, crashes: 0, counts, failure: describe(plan.seed, error) };
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

function describe(seed: number, thrown: unknown): string {
  // After an error of the journal, the engine halts with one of its own.
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const error = cause instanceof Violation ? cause : thrown;
  if (error instanceof Violation) return `seed ${seed}: ${error.message}`;
  return `seed ${seed}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}
