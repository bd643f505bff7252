/** A short form of `npm run sim -- --cluster`. */
import { expect, test } from "vitest";
import { Tally } from "../model/invariants.ts";
import { clusterPlanOf } from "./plan.ts";
import { runClusterPlan, runHistory } from "./seed.ts";

const HISTORIES = 60;
const STRICT_HISTORIES = 40;
/** Seeds of former bugs. */
const FOUND = [11_636, 16_944, 17_994, 37_195, 48_097];
/** Seeds with a host losing its lease before it had founded the cell. */
const FOUNDED_LATE = [17, 287];
/** Seeds with reads from the past when the clock of a host stops. */
const STALE = [485, 2_319, 2_745];
/** Wide, for a busy machine. */
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

test.each(FOUNDED_LATE)(
  "seed %i keeps every promise on an etcd that often is slow",
  { timeout: TIMEOUT_MS },
  async (seed) => {
    const load = { clients: 4, calls: 25, thinkMsMax: 1_200, leaseMs: 2_000, slowOnce: 5 };
    const faults = { faults: ["kill", "pause"] as const, faultCount: 12, faultMsMax: 1_500 };
    const plan = { ...clusterPlanOf(seed), ...load, ...faults };
    expect((await runClusterPlan(plan)).failure).toBeNull();
  },
);

/** Hosts are suspended together with their clocks, and find out late about their lost lead. */
async function failureOf(seed: number, strictReads: boolean): Promise<string | null> {
  const load = { clients: 5, calls: 17, seats: 1, thinkMsMax: 1_200, leaseMs: 2_000 };
  const faults = { faults: ["pause"] as const, faultCount: 6, faultMsMax: 3_400, clocksStop: true };
  const plan = { ...clusterPlanOf(seed), ...load, ...faults, strictReads };
  return (await runClusterPlan(plan)).failure;
}

test.each(STALE)(
  "seed %i: a suspended host answers from the past, unless reads are strict",
  { timeout: TIMEOUT_MS },
  async (seed) => {
    expect(await failureOf(seed, false)).toMatch(/^seed \d+: answers /);
    expect(await failureOf(seed, true)).toBeNull();
  },
);

test(
  `${STRICT_HISTORIES} histories of suspended hosts with strict reads keep every promise`,
  { timeout: TIMEOUT_MS },
  async () => {
    for (let seed = 1; seed <= STRICT_HISTORIES; seed++) {
      expect(await failureOf(seed, true)).toBeNull();
    }
  },
);

test("a seed gives the same history twice", { timeout: TIMEOUT_MS }, async () => {
  for (const seed of [2, 11, 23]) {
    expect(await runClusterPlan(clusterPlanOf(seed), true)).toMatchObject({ failure: null });
  }
});
