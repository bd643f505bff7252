/**
 * `npm run mutants`: makes each of the seeded mistakes in a copy of the tree and lets the
 * simulation, or a test, find it. The exit code is 1 when one is not found.
 */
import { Command } from "commander";
import { SEEDS_FOR_ALL } from "../sim/branches.ts";
import { Tree } from "./hunt.ts";
import { findMutants, type Mutant } from "./mutants.ts";

/** Seeds without any mistake, so that what is found is the mistake. */
const CONTROL_SEEDS = 40;
const NAME_COLUMNS = 36;

interface Options {
  readonly seeds: number;
  readonly only: string | undefined;
}

const options = new Command("mutants")
  .description("Makes seeded mistakes in a copy of the tree, one at a time, and has them found.")
  .option("--seeds <number>", "seeds of the simulation for each, at most", Number, SEEDS_FOR_ALL)
  .option("--only <text>", "only mistakes whose name has this text")
  .parse()
  .opts<Options>();

const mutants = findMutants().filter(({ name }) => name.includes(options.only ?? ""));
const tree = new Tree();
try {
  const control = tree.simulate(CONTROL_SEEDS);
  if (control.by !== null) throw new Error(`without any mistake: ${control.by}`);
  print(`${"(no mistake)".padEnd(NAME_COLUMNS)} nothing in ${CONTROL_SEEDS} seeds`);
  const found = mutants.filter(hunt).length;
  print(`mutants found: ${found} of ${mutants.length}`);
  process.exitCode = found === mutants.length ? 0 : 1;
} finally {
  tree.remove();
}

function hunt(mutant: Mutant): boolean {
  const startedMs = performance.now();
  const { by } = tree.hunt(mutant, options.seeds);
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  print(`${mutant.name.padEnd(NAME_COLUMNS)} ${by ?? "NOT FOUND"} (${seconds} s)`);
  return by !== null;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
