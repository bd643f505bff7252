/**
 * `npm run bench`: the durable two-seat lock over HTTP beside empty handlers and beside what else
 * one would build it on, in interleaved rounds on one machine. Prints medians, spreads and ratios,
 * and writes them with their conditions to `bench/results/`.
 */
import { Command, Option } from "commander";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { contenders } from "./contenders/all.ts";
import { Generator } from "./load/generator-process.ts";
import { type Mix, MIXES } from "./load/plan.ts";
import { conditionsNow } from "./rounds/conditions.ts";
import { verdictsOf } from "./rounds/goals.ts";
import {
  keepResult,
  keptResult,
  print,
  verdict,
  type Verdict,
  verdictTable,
} from "./rounds/results.ts";
import { type Playing, Rounds, type Row } from "./rounds/rounds.ts";
import { disturbance, markdownLine, settingTable } from "./rounds/tables.ts";

interface Options {
  readonly connections: readonly number[];
  readonly mixes: readonly Mix[];
  readonly seconds: number;
  readonly rounds: number;
  readonly only?: RegExp;
  readonly serve: readonly string[];
  readonly folder: string;
}

const options = new Command("bench")
  .description("Measures the durable two-seat lock over HTTP beside every alternative.")
  .option("--connections <numbers>", "HTTP connections, with commas", numbers, [64, 256])
  .addOption(
    new Option("--mixes <names>", `with commas, of: ${MIXES.join(", ")}`)
      .argParser((text) => text.split(",").map(mixNamed))
      .default([...MIXES]),
  )
  .option("--seconds <number>", "length of a round", Number, 2)
  .option("--rounds <number>", "rounds of each, interleaved", Number, 5)
  .option("--only <pattern>", "contenders whose name matches", (text) => new RegExp(text, "i"))
  .option("--serve <arguments>", "for frontrow serve, with blanks", words, [])
  .option("--folder <path>", "where the servers keep their data", os.tmpdir())
  .parse()
  .opts<Options>();

/** Commands whose results are shown beside, as long as they are there. */
const OTHERS = [
  { name: "micro", command: "bench:micro" },
  { name: "growth", command: "bench:growth" },
  { name: "memory", command: "bench:memory" },
];

const folder = await mkdtemp(path.join(options.folder, "frontrow-bench-"));
// PostgreSQL runs as a user of its own and must come through to its folder.
await chmod(folder, 0o755);
const conditions = conditionsNow(folder);
const generator = new Generator();
const playing: Playing[] = [];
try {
  await startAll();
  const rows = await playAll();
  const result = { conditions, verdicts: verdictsOf(rows) };
  print(`\n${verdictTable([...result.verdicts, ...otherVerdicts()])}`);
  print(`\n${disturbance(rows)}${markdownLine(rows, result)}`);
  const { seconds, rounds } = options;
  await keepResult("load", { ...result, seconds, rounds, rows });
} finally {
  await Promise.all([generator.stop(), ...playing.map(({ running }) => running.stop())]);
  await rm(folder, { recursive: true });
}

async function startAll(): Promise<void> {
  for (const contender of contenders(options.serve)) {
    if (options.only?.test(contender.name) === false) continue;
    const missing = contender.missing();
    if (missing !== null) {
      print(`left out: ${contender.name}: ${missing}\n`);
      continue;
    }
    const own = await mkdtemp(path.join(folder, "contender-"));
    playing.push({ contender, running: await contender.start(own) });
  }
}

async function playAll(): Promise<Row[]> {
  const rounds = new Rounds(generator, options, (text) => process.stderr.write(`${text}\n`));
  const rows: Row[] = [];
  for (const mix of options.mixes) {
    for (const connections of options.connections) {
      const setting = { mix, connections };
      rows.push(...(await rounds.play(playing, setting)));
      print(`\n${settingTable(setting, rows)}`);
    }
  }
  return rows;
}

function otherVerdicts(): Verdict[] {
  return OTHERS.flatMap(({ name, command }) => {
    const result = keptResult(name);
    if (result === null) return [verdict(`npm run ${command}`, { atLeast: 1 }, null)];
    const { commit, date } = result.conditions;
    return result.verdicts.map((one) => ({ ...one, figure: `${one.figure} (${commit}, ${date})` }));
  });
}

function numbers(text: string): number[] {
  return text.split(",").map(Number);
}

function words(text: string): string[] {
  return text.split(" ").filter((word) => word !== "");
}

function mixNamed(name: string): Mix {
  const mix = MIXES.find((known) => known === name);
  if (mix === undefined) throw new Error(`there is no mix ${name}`);
  return mix;
}
