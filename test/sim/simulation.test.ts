/** A short form of `npm run sim`, and a run for every bug found by it. */
import { expect, test } from "vitest";
import { Tally } from "./model/invariants.ts";
import { findRegressions, regressionFrom, regressionText } from "./regressions.ts";
import { runPlan, runSeed } from "./seed.ts";
import { planOf } from "./workload/plan.ts";

const CRASHES = 3_000;
/** Wide, for a busy machine. */
const TIMEOUT_MS = 300_000;

test(`${CRASHES} crashes violate no invariant`, { timeout: TIMEOUT_MS }, async () => {
  const tally = new Tally();
  let crashes = 0;
  for (let seed = 1; crashes < CRASHES; seed++) {
    const result = await runSeed(seed);
    expect(result.failure).toBeNull();
    crashes += result.crashes;
    tally.add(result.counts);
  }
  // A run without one of these has not tested it.
  const often = ["a torn end was cut off", "crash: power", "a snapshot was used", "EIO: sync"];
  often.push("a command came over the socket");
  for (const name of often) expect(tally.of(name), name).toBeGreaterThan(5);
});

test("a seed gives the same run twice", { timeout: TIMEOUT_MS }, async () => {
  for (const seed of [3, 1_003, 1_288]) {
    expect(await runPlan(planOf(seed), true)).toMatchObject({ failure: null });
  }
});

test("a plan is the same from its file", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const regression = { found: "nothing", plan: planOf(seed) };
    expect(regressionFrom(regressionText(regression))).toEqual(regression);
  }
});

test("bugs that were found once do not occur again", { timeout: TIMEOUT_MS }, async () => {
  for (const { name, regression } of findRegressions()) {
    expect((await runPlan(regression.plan)).failure, name).toBeNull();
  }
});
