/**
 * `npm run faults -- [names] [--long] [--seed N]`: runs campaigns of faults against the real
 * program and prints their figures. Exits with 1 on any violation.
 */
import { Command } from "commander";
import type { Campaign, Outcome } from "./campaign.ts";
import {
  CLIENT_CAMPAIGNS,
  CLUSTER_CAMPAIGNS,
  DISK_CAMPAIGNS,
  PROCESS_CAMPAIGNS,
} from "./campaigns.ts";
import { scoped } from "./support/scope.ts";

const CAMPAIGNS = [
  ...PROCESS_CAMPAIGNS,
  ...DISK_CAMPAIGNS,
  ...CLIENT_CAMPAIGNS,
  ...CLUSTER_CAMPAIGNS,
];
const SEED_MAX = 1_000_000;
const SHOWN_MAX = 20;
/** Without a terminal, a progress line is printed this often. */
const TELL_MS = 60_000;

interface Options {
  readonly long: boolean;
  readonly seed: number;
}

const program = new Command("faults")
  .description("Real faults against the real program.")
  .argument(
    "[names...]",
    `of ${CAMPAIGNS.map(({ name }) => name).join(", ")}; all when none is given`,
  )
  .option("--short", "seconds (the default): fewer faults, drawn by the seed")
  .option("--long", "minutes", false)
  .option("--seed <number>", "repeats what was drawn", Number, Math.floor(Date.now() % SEED_MAX))
  .action(main);
await program.parseAsync();

async function main(names: readonly string[], { long, seed }: Options): Promise<void> {
  const unknown = names.filter((name) => !CAMPAIGNS.some((campaign) => campaign.name === name));
  if (unknown.length > 0) program.error(`no campaign is called ${unknown.join(", ")}`);
  const chosen = CAMPAIGNS.filter(({ name }) => names.length === 0 || names.includes(name));
  process.stdout.write(`seed ${seed}, ${long ? "long" : "short"} form\n`);
  let isBroken = false;
  for (const campaign of chosen) {
    const reason =
      campaign.missing() ?? (campaign.isLongOnly === true && !long ? "long only" : null);
    if (reason !== null) {
      process.stdout.write(`\n${campaign.name}: skipped, ${reason}\n`);
      continue;
    }
    const startedMs = performance.now();
    const outcome = await runOne(campaign, { long, seed });
    print(campaign, outcome, (performance.now() - startedMs) / 1_000);
    if (outcome.violations.length > 0) isBroken = true;
  }
  process.exit(isBroken ? 1 : 0);
}

async function runOne(campaign: Campaign, { long, seed }: Options): Promise<Outcome> {
  let toldMs = performance.now();
  const tell = (text: string) => {
    const line = `${campaign.name}: ${text}`;
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${line}`);
    if (process.stderr.isTTY || performance.now() - toldMs < TELL_MS) return;
    toldMs = performance.now();
    process.stderr.write(`${line}\n`);
  };
  const outcome = await scoped((scope) => campaign.run({ isLong: long, seed, scope, tell }));
  if (process.stderr.isTTY) process.stderr.write("\r\u001b[K");
  return outcome;
}

function print(campaign: Campaign, { figures, violations }: Outcome, seconds: number): void {
  const { name, shows, leavesOut } = campaign;
  const verdict = violations.length === 0 ? "ok" : "VIOLATED";
  process.stdout.write(`\n${name}: ${shows}\n`);
  const took = `${seconds.toFixed(1)} s`;
  const leftOut = leavesOut?.() ?? null;
  const gaps = leftOut === null ? {} : { "left out": leftOut };
  const rows: Outcome["figures"] = { ...figures, ...gaps, took, verdict };
  const width = Math.max(...Object.keys(rows).map((label) => label.length));
  for (const [label, value] of Object.entries(rows)) {
    const text = typeof value === "number" ? value.toLocaleString("en") : value;
    process.stdout.write(`  ${label.padEnd(width)}  ${text}\n`);
  }
  for (const line of violations.slice(0, SHOWN_MAX)) process.stdout.write(`  ! ${line}\n`);
}
