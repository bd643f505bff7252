/** The seeded mistakes still fit the sources; a few are found here, all by `npm run mutants`. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { Tree } from "./hunt.ts";
import { findMutants, patchOf } from "./mutants.ts";

/** Those that the first seeds find. */
const QUICK = new Set(["no-sync-of-folder", "answer-on-append"]);
const QUICK_SEEDS = 40;
const MUTANTS_MIN = 20;
/** Wide, for a machine that has much else to do. */
const TIMEOUT_MS = 300_000;

test.each(findMutants())("$name still applies: test/README.md says how to renew it", (mutant) => {
  const { status, stderr } = spawnSync("git", ["apply", "--check", patchOf(mutant)], {
    encoding: "utf8",
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});

test("there are enough of them", () => {
  expect(findMutants().length).toBeGreaterThanOrEqual(MUTANTS_MIN);
});

test("a few of them are found", { timeout: TIMEOUT_MS }, () => {
  const tree = new Tree();
  try {
    for (const mutant of findMutants().filter(({ name }) => QUICK.has(name))) {
      expect(tree.hunt(mutant, QUICK_SEEDS).by, mutant.name).toMatch(/^seed \d+: I/);
    }
  } finally {
    tree.remove();
  }
});
