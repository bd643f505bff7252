/**
 * The engine against the model: both get random commands, and must agree after each. `SIM_SEED`
 * repeats one seed, and `SIM_STEPS` sets the length of a run.
 */
import { expect, test } from "vitest";
import { RecordType } from "../../../engine/records.ts";
import { checkState, digest } from "../../../engine/verify.ts";
import { replayed } from "../../support/engine.ts";
import { Workload } from "../workload/workload.ts";

const SEEDS = Array.from({ length: 12 }, (_, i) => i + 1);
const seeds = process.env["SIM_SEED"] === undefined ? SEEDS : [Number(process.env["SIM_SEED"])];
const steps = Number(process.env["SIM_STEPS"] ?? 20_000);
/** Wide, for a busy machine. */
const TIMEOUT_MS = Math.max(120_000, steps * 10);

const EXPECTED = [
  "true",
  "false",
  "VALIDATION_FAILED",
  "EVENT_ACCESS_DENIED",
  "ORGANIZATION_DISABLED",
  "SALES_CONTROL_REQUIRED",
  "EVENT_NOT_PUBLISHED",
  "CHANGED",
  "INVENTORY_IN_USE",
  "INVENTORY_NOT_AVAILABLE",
  "NOTHING_SUITABLE",
  "ORPHAN_SEAT",
  "LOCKED",
  "SOLD",
  "BLOCKED",
  "ACTIVE",
  "NO_PRICE",
  "NOT_FOUND",
  "HELD_BY_ANOTHER_SESSION",
  "STALE_FENCE",
  "CHANNEL",
  "INSUFFICIENT_CAPACITY",
  "best in a cart",
];

test.each(seeds)(
  `seed %i: engine and model agree over ${steps} commands`,
  { timeout: TIMEOUT_MS },
  (seed) => {
    const workload = new Workload(seed, { hasGuards: true });
    workload.play(steps);
    const { state } = workload.bench.engine;
    checkState(state);
    expect(digest(replayed(workload.bench.journal))).toBe(digest(state));
    // A run without some answer has not compared it.
    if (steps < 10_000) return;
    const { kept } = workload.bench.journal;
    const carts = kept.filter(({ record }) => record.type === RecordType.CART);
    expect(carts.length).toBeGreaterThan(steps / 400);
    for (const answer of EXPECTED) expect(workload.tally.get(answer), answer).toBeGreaterThan(5);
  },
);
