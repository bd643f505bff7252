/**
 * A disk that takes long for each sync: whoever needs no disk is answered at once, changes are
 * answered at the pace of the disk, and beyond a bound they are refused, not queued.
 */
import path from "node:path";
import { LedgerFold } from "../../support/ledger-check.ts";
import { collect, exitOf, ROOT, sleep, spawnNode } from "../../support/server-process.ts";
import type { Campaign, Outcome, Run } from "../campaign.ts";
import type { Flooded } from "../flood.ts";
import { Crowd } from "../support/crowd.ts";
import { type Scope, scoped } from "../support/scope.ts";
import { createHouse, startServer } from "../support/serving.ts";
import { missingShim, Shim } from "../support/shim.ts";

const US_PER_MS = 1_000;
const LINES = 64;
const PROBE_MS = 5;
const P99_MS_MAX = 50;
/** The short form runs beside other tests. */
const P99_MS_MAX_BUSY = 500;
const FLOOD = 130_000;
const FLOOD_DELAY_MS = 2_000;
const GROWN_MIB_MAX = 512;

export const slowDisk: Campaign = {
  name: "slow-disk",
  shows: "syncs of 50 ms to 2 s: the service stays responsive, the queue stays bounded",
  missing: missingShim,
  run,
};

async function run({ isLong, seed, scope, tell }: Run): Promise<Outcome> {
  const plan = isLong
    ? { delaysMs: [50, 200, 500, 2_000], forMs: 10_000 }
    : { delaysMs: [50, 500], forMs: 1_500 };
  const served = await serveSlowly(scope, { ...plan, seed, isLong, tell });
  tell("a flood");
  const flooded = await scoped(flood);
  return {
    figures: { ...served.figures, ...flooded.figures },
    violations: [...served.violations, ...flooded.violations],
  };
}

interface Plan extends Pick<Run, "seed" | "isLong" | "tell"> {
  readonly delaysMs: readonly number[];
  readonly forMs: number;
}

async function serveSlowly(scope: Scope, plan: Plan): Promise<Outcome> {
  const folder = path.join(scope.folder(), "data");
  const shim = new Shim(scope, folder);
  const server = await startServer(scope, { folder, env: shim.env });
  const house = await createHouse(server);
  const figures: Record<string, string> = {};
  const violations: string[] = [];
  for (const delayMs of plan.delaysMs) {
    plan.tell(`syncs of ${delayMs} ms`);
    shim.set("delayUs", delayMs * US_PER_MS);
    const fold = new LedgerFold();
    const seed = plan.seed + delayMs;
    const crowd = new Crowd({ url: server.url, house, fold, seed, lines: LINES });
    const forMs = Math.max(plan.forMs, 3 * delayMs);
    const waitsMs = await probe(`${server.url}/healthz`, forMs);
    shim.set("delayUs", 0);
    await crowd.stop();
    violations.push(...crowd.failures);
    const p99Ms = waitsMs.toSorted((a, b) => a - b)[Math.floor(waitsMs.length * 0.99)]!;
    const { lock, unlock, sale } = fold.acknowledged;
    const rate = Math.round(((lock + unlock + sale) * 1_000) / forMs);
    figures[`syncs of ${delayMs} ms`] =
      `${rate} changes/s on ${LINES} connections, /healthz p99 ${p99Ms.toFixed(1)} ms`;
    const p99MsMax = plan.isLong ? P99_MS_MAX : P99_MS_MAX_BUSY;
    if (p99Ms > p99MsMax) violations.push(`syncs of ${delayMs} ms: /healthz took ${p99Ms} ms`);
    if (lock + unlock + sale === 0) violations.push(`syncs of ${delayMs} ms: nothing was done`);
  }
  const { code } = await server.kill("SIGTERM");
  if (code !== 0) violations.push(`an orderly end exits with ${code}`);
  return { figures, violations };
}

/** Sends requests one after the other. @returns The time of each answer in milliseconds. */
async function probe(url: string, forMs: number): Promise<number[]> {
  const waitsMs: number[] = [];
  const endMs = performance.now() + forMs;
  while (performance.now() < endMs) {
    const askedMs = performance.now();
    await (await fetch(url)).arrayBuffer();
    waitsMs.push(performance.now() - askedMs);
    await sleep(PROBE_MS);
  }
  return waitsMs;
}

/** More changes at once than may wait: the library in a process of its own. */
async function flood(scope: Scope): Promise<Outcome> {
  const folder = path.join(scope.folder(), "data");
  const shim = new Shim(scope, folder).set("delayUs", FLOOD_DELAY_MS * US_PER_MS);
  const program = path.join(ROOT, "dist/test/faults/flood.js");
  const child = spawnNode(program, { args: [folder, String(FLOOD)], env: shim.env });
  scope.defer(() => void child.kill("SIGKILL"));
  const output = collect(child);
  const { code } = await exitOf(child);
  if (code !== 0)
    return { figures: {}, violations: [`the flood exits with ${code}: ${output.stderr}`] };
  const { done, refused, other, grownMiB, kept } = JSON.parse(output.stdout) as Flooded;
  const violations: string[] = [];
  if (refused === 0) violations.push("nothing was refused: the queue has no bound");
  if (other > 0) violations.push(`${other} were refused for another reason`);
  if (kept !== done) violations.push(`${done} were acknowledged, ${kept} are kept`);
  if (grownMiB > GROWN_MIB_MAX) violations.push(`memory grew by ${grownMiB} MiB`);
  return {
    figures: {
      "changes at once, syncs of 2 s": FLOOD,
      "  acknowledged": done,
      "  refused as too many": refused,
      "  memory grew by": `${grownMiB} MiB`,
    },
    violations,
  };
}
