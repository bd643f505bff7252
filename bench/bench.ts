/**
 * `npm run bench`: the durable two-seat lock over HTTP compared with empty handlers and with the
 * alternatives, in interleaved rounds on one machine. Prints them as tables and charts. A complete
 * run also stores them with their conditions, and the charts of the README, in `bench/results/`.
 */
import { InvalidArgumentError } from "commander";
import { chmod, mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import { paintFor } from "../server/onsale/terminal.ts";
import { contenders } from "./contenders/all.ts";
import {
  folder,
  inTemporaryFolder,
  isTrial,
  number,
  numbers,
  parseOptions,
  wordsOf,
} from "./harness/command.ts";
import {
  print,
  report,
  type Result,
  RESULTS,
  verdictTable,
  writeFileIn,
} from "./harness/results.ts";
import { Generator } from "./load/generator-process.ts";
import { type Mix, MIXES } from "./load/plan.ts";
import { latencyChart, throughputChart } from "./rounds/charts.ts";
import { detailTable, disturbanceWarning, settingTable, verdictsOf } from "./rounds/tables.ts";
import { compare, type Comparison, type Participant, type Row } from "./rounds/rounds.ts";

/** The charts of the README need all of them, and every mix and contender in three rounds. */
const COMPLETE = { connections: [1, 16, 64, 256, 1_024], rounds: 3, seconds: 2 };

const options = parseOptions(
  "bench",
  "Measures the durable two-seat lock over HTTP and compares it with the alternatives.",
  {
    connections: numbers([64, 256], "HTTP connections"),
    mixes: {
      placeholder: "names",
      initial: MIXES,
      help: `some of ${MIXES.join(",")}`,
      parse: (text) => wordsOf(text, ",").map(mixNamed),
    },
    seconds: number(2, "length of a round"),
    rounds: number(5, "rounds of each contender, interleaved"),
    only: {
      placeholder: "pattern",
      initial: /./,
      shown: "all",
      help: "contenders whose name matches",
      parse: (text) => new RegExp(text, "i"),
    },
    serve: {
      placeholder: "arguments",
      initial: [] as readonly string[],
      shown: "none",
      help: "further arguments of frontrow serve, separated by spaces",
      parse: (text) => wordsOf(text, " "),
    },
    from: {
      placeholder: "file",
      initial: "",
      shown: "none",
      help: "print the results of this file again, and measure nothing",
      parse: (text) => text,
    },
    charts: {
      placeholder: "folder",
      initial: "",
      shown: `${RESULTS} after a complete run, otherwise none`,
      help: "where to write the charts of the README",
      parse: (text) => text,
    },
    folder,
  },
);
const paint = paintFor(process.stdout);

await (options.from === "" ? inTemporaryFolder(options.folder, measure) : drawAgain(options.from));

async function measure(data: string): Promise<void> {
  // PostgreSQL runs as a user of its own and needs access to its folder.
  await chmod(data, 0o755);
  const generator = new Generator();
  const participants: Participant[] = [];
  try {
    await startAll(data, participants);
    const rows = await compareAll({ generator, participants, ...options });
    print(`\n${detailTable(rows)}${disturbanceWarning(rows)}\n`);
    const { seconds, rounds } = options;
    const findings = { verdicts: verdictsOf(rows), seconds, rounds, rows };
    const isWhole = isComplete(participants.length);
    const { conditions } = await report("load", data, findings, isWhole);
    await writeCharts(conditions, rows, options.charts || (isWhole ? RESULTS : ""));
  } finally {
    await Promise.all([generator.stop(), ...participants.map((one) => one.stop())]);
  }
}

/** Stored results must not be replaced by those of fewer mixes, contenders or connections. */
function isComplete(participants: number): boolean {
  const { mixes, connections, rounds, seconds } = options;
  return (
    !isTrial &&
    participants === contenders([]).length &&
    options.serve.length === 0 &&
    MIXES.every((mix) => mixes.includes(mix)) &&
    COMPLETE.connections.every((count) => connections.includes(count)) &&
    rounds >= COMPLETE.rounds &&
    seconds >= COMPLETE.seconds
  );
}

/** Prints stored results: the committed ones, or those of another machine. */
async function drawAgain(file: string): Promise<void> {
  const { conditions, rows, verdicts } = JSON.parse(await readFile(file, "utf8")) as Result & {
    readonly rows: readonly Row[];
  };
  const settings = new Map(rows.map((row) => [`${row.mix} ${row.connections}`, row]));
  for (const setting of settings.values()) print(`\n${settingTable(setting, rows, paint)}`);
  print(`\n${detailTable(rows)}${disturbanceWarning(rows)}\n${verdictTable(verdicts)}`);
  await writeCharts(conditions, rows, options.charts);
}

/** @param chartFolder - Empty to write none. A chart without its mix or contenders is left out. */
async function writeCharts(
  conditions: Result["conditions"],
  rows: readonly Row[],
  chartFolder: string,
): Promise<void> {
  if (chartFolder === "") return;
  const charts = {
    throughput: throughputChart(conditions, rows),
    latency: latencyChart(conditions, rows),
  };
  for (const [name, chart] of Object.entries(charts)) {
    // oxlint-disable-next-line no-await-in-loop -- two small files
    if (chart !== null) await writeFileIn(chartFolder, `${name}.svg`, chart);
  }
}

async function startAll(data: string, participants: Participant[]): Promise<void> {
  const chosen = contenders(options.serve).filter(({ name }) => options.only.test(name));
  for (const [i, { name, mixes, missing, start }] of chosen.entries()) {
    const command = missing();
    if (command === null) {
      const own = path.join(data, String(i));
      await mkdir(own);
      participants.push({ name, mixes, ...(await start(own)) });
    } else {
      print(`left out: ${name}: ${command}\n`);
    }
  }
}

async function compareAll(comparison: Comparison): Promise<Row[]> {
  const rows: Row[] = [];
  for (const mix of options.mixes) {
    for (const connections of options.connections) {
      const setting = { mix, connections };
      rows.push(...(await compare(comparison, setting)));
      print(`\n${settingTable(setting, rows, paint)}`);
    }
  }
  return rows;
}

function mixNamed(name: string): Mix {
  const mix = MIXES.find((known) => known === name);
  if (mix === undefined) throw new InvalidArgumentError(`There is no mix ${name}.`);
  return mix;
}
