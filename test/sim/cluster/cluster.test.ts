/** A short form of `npm run sim -- --cluster`. */
import { expect, test } from "vitest";
import { Tally } from "../model/invariants.ts";
import { clusterPlanOf } from "./plan.ts";
import { runClusterPlan, runHistory } from "./seed.ts";

const HISTORIES = 60;
/** Seeds that found a bug once. */
const FOUND = [11_636, 16_944, 17_994];
const SUSPENDED = 40;
/** Wide, for a machine that has much else to do. */
const TIMEOUT_MS = 300_000;

test(`${HISTORIES} histories keep every promise`, { timeout: TIMEOUT_MS }, async () => {
  const tally = new Tally();
  for (let seed = 1; seed <= HISTORIES; seed++) {
    const result = await runHistory(seed);
    expect(result.failure).toBeNull();
    tally.add(result.counts);
  }
  // Histories without one of these have not tested it.
  const often = [
    "fault: pause",
    "fault: partition",
    "a call was repeated",
    "an answer was missing",
  ];
  for (const name of often) expect(tally.of(name), name).toBeGreaterThan(5);
});

test.each(FOUND)("seed %i keeps every promise", { timeout: TIMEOUT_MS }, async (seed) => {
  expect((await runHistory(seed)).failure).toBeNull();
});

/** Histories in which hosts are suspended, and find out late that they no longer lead. */
async function failuresWith(strictReads: boolean): Promise<string[]> {
  const failures: string[] = [];
  for (let seed = 1; seed <= SUSPENDED; seed++) {
    const faults = { faults: ["pause"] as const, faultCount: 6, clocksStop: true };
    const plan = { ...clusterPlanOf(seed), ...faults, strictReads };
    const { failure } = await runClusterPlan(plan);
    if (failure !== null) failures.push(failure);
  }
  return failures;
}

test(
  "with strict reads no read is stale after a host was suspended with its clock",
  {
    timeout: TIMEOUT_MS,
  },
  async () => {
    expect(await failuresWith(true)).toEqual([]);
  },
);

test("a seed gives the same history twice", { timeout: TIMEOUT_MS }, async () => {
  for (const seed of [2, 11, 23]) {
    expect(await runClusterPlan(clusterPlanOf(seed), true)).toMatchObject({ failure: null });
  }
});
