/** Runs one history; some run twice, to compare both. */
import fs from "node:fs";
import path from "node:path";
import type { SeedResult } from "../seed.ts";
import { ROOT } from "../seed.ts";
import { ClusterRun } from "./cluster-run.ts";
import { type ClusterPlan, clusterPlanOf } from "./plan.ts";
import { Broken } from "./promises.ts";

/** One in this many histories runs twice. */
const TWICE_ONCE = 100;

/** @param root - The folder for the files of runs. */
export async function runHistory(seed: number, root = ROOT): Promise<SeedResult> {
  return runClusterPlan(clusterPlanOf(seed), seed % TWICE_ONCE === 0, root);
}

/** @param isTwice - Whether a second run must equal the first. */
export async function runClusterPlan(
  plan: ClusterPlan,
  isTwice = false,
  root = ROOT,
): Promise<SeedResult> {
  const { seed } = plan;
  const { trace, counts, failure } = await attempt(plan, root);
  const result = { seed, crashes: 0, counts };
  if (failure !== null || !isTwice) return { ...result, failure };
  const second = await attempt(plan, root);
  const isSame = second.failure === null && second.trace === trace;
  return { ...result, failure: isSame ? null : `seed ${seed}: a second run was different` };
}

interface Attempt extends Pick<SeedResult, "counts" | "failure"> {
  readonly trace: number;
}

async function attempt(plan: ClusterPlan, root: string): Promise<Attempt> {
  const folder = fs.mkdtempSync(path.join(root, "frontrow-sim-"));
  const run = new ClusterRun(plan, folder);
  try {
    const trace = await run.run();
    return { trace, counts: [...run.counts.all], failure: null };
  } catch (error) {
    const failure = `seed ${plan.seed}: ${textOf(error)}`;
    return { trace: 0, counts: [...run.counts.all], failure };
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

function textOf(thrown: unknown): string {
  // After an error of an observer, the engine halts with one of its own.
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const error = cause instanceof Broken ? cause : thrown;
  if (error instanceof Broken) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
