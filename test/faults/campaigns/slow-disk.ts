/**
 * A disk that takes long for each sync: requests that need no disk are answered at once, and
 * changes at the pace of the disk.
 */
import path from "node:path";
import { LedgerFold } from "../../support/ledger-check.ts";
import { sleep } from "../../support/server-process.ts";
import type { Campaign, Outcome, Run } from "../campaign.ts";
import { Crowd } from "../support/crowd.ts";
import { createHouse, startServer } from "../support/serving.ts";
import { missingShim, Shim } from "../support/shim.ts";

const US_PER_MS = 1_000;
const LINES = 64;
const PROBE_MS = 5;
const P99_MS_MAX = 50;
/** The short form runs beside other tests. */
const P99_MS_MAX_BUSY = 500;

export const slowDisk: Campaign = {
  name: "slow-disk",
  shows: "syncs of 50 ms to 2 s: the service stays responsive",
  missing: missingShim,
  run,
};

async function run({ isLong, seed, scope, tell }: Run): Promise<Outcome> {
  const delaysMs = isLong ? [50, 200, 500, 2_000] : [50, 500];
  const folder = path.join(scope.folder(), "data");
  const shim = new Shim(scope, folder);
  const server = await startServer(scope, { folder, env: shim.env });
  const house = await createHouse(server);
  const figures: Record<string, string> = {};
  const violations: string[] = [];
  for (const delayMs of delaysMs) {
    tell(`syncs of ${delayMs} ms`);
    shim.set("delayUs", delayMs * US_PER_MS);
    const fold = new LedgerFold();
    const load = { url: server.url, house, fold, seed: seed + delayMs, lines: LINES };
    const crowd = new Crowd(load);
    const forMs = Math.max(isLong ? 10_000 : 1_500, 3 * delayMs);
    const waitsMs = await probe(`${server.url}/healthz`, forMs);
    shim.set("delayUs", 0);
    await crowd.stop();
    violations.push(...crowd.failures);
    const p99Ms = waitsMs.toSorted((a, b) => a - b)[Math.floor(waitsMs.length * 0.99)]!;
    const { lock, unlock, sale } = fold.acknowledged;
    const rate = Math.round(((lock + unlock + sale) * 1_000) / forMs);
    figures[`syncs of ${delayMs} ms`] =
      `${rate} changes/s on ${LINES} connections, /healthz p99 ${p99Ms.toFixed(1)} ms`;
    const p99MsMax = isLong ? P99_MS_MAX : P99_MS_MAX_BUSY;
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
