/**
 * The engine against the model: random commands to both, equal at each step. `SIM_SEED` repeats one
 * seed, `SIM_STEPS` lengthens each run.
 */
import { expect, test } from "vitest";
import { checkState } from "../../../engine/verify/check.ts";
import { digest } from "../../../engine/verify/digest.ts";
import { replayed } from "../../support/engine.ts";
import { Workload } from "../workload/workload.ts";

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];
const seeds = process.env["SIM_SEED"] === undefined ? SEEDS : [Number(process.env["SIM_SEED"])];
const steps = Number(process.env["SIM_STEPS"] ?? 12_500);
/** Wide, for a machine that has much else to do. */
const TIMEOUT_MS = Math.max(120_000, steps * 10);
/** The invariants cost O(everything): every so many steps. */
const CHECK_STEPS = 500;

const EXPECTED = [
  "true",
  "false",
  "VALIDATION_FAILED",
  "EVENT_ACCESS_DENIED",
  "ORGANIZATION_DISABLED",
  "SALES_CONTROL_REQUIRED",
  "EVENT_NOT_PUBLISHED",
  "INVENTORY_IN_USE",
  "INVENTORY_NOT_AVAILABLE",
  "ORPHAN_SEAT",
  "LOCKED",
  "SOLD",
  "BLOCKED",
  "ACTIVE",
  "NO_PRICE",
  "NOT_FOUND",
  "HELD_BY_ANOTHER_SESSION",
  "INSUFFICIENT_CAPACITY",
];

test.each(seeds)(
  `seed %i: engine and model agree over ${steps} commands`,
  { timeout: TIMEOUT_MS },
  (seed) => {
    const workload = new Workload(seed);
    for (let step = 0; step < steps; step++) {
      try {
        workload.step();
      } catch (cause) {
        throw new Error(`step ${step} of seed ${seed} (SIM_SEED=${seed}): ${String(cause)}`, {
          cause,
        });
      }
      if (step % CHECK_STEPS === 0) checkState(workload.bench.engine.state);
    }
    workload.sweep();
    const { state } = workload.bench.engine;
    checkState(state);
    expect(digest(replayed(workload.bench.journal))).toBe(digest(state));
    // A run in which an answer never came has compared nothing about it.
    if (steps < 10_000) return;
    for (const answer of EXPECTED) expect(workload.tally.get(answer), answer).toBeGreaterThan(5);
  },
);
