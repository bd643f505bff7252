/**
 * `npm run bench`: the durable two-seat lock over HTTP compared with empty handlers and with the
 * alternatives, in interleaved rounds on one machine. Prints medians, ranges and ratios, and writes
 * them with their conditions to `bench/results/`.
 */
import { InvalidArgumentError } from "commander";
import { chmod, mkdir } from "node:fs/promises";
import path from "node:path";
import { contenders } from "./contenders/all.ts";
import {
  folder,
  inTemporaryFolder,
  number,
  numbers,
  parseOptions,
  wordsOf,
} from "./harness/command.ts";
import { print, report } from "./harness/results.ts";
import { Generator } from "./load/generator-process.ts";
import { type Mix, MIXES } from "./load/plan.ts";
import { disturbanceWarning, settingTable, verdictsOf } from "./rounds/tables.ts";
import { compare, type Comparison, type Participant, type Row } from "./rounds/rounds.ts";

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
    folder,
  },
);

await inTemporaryFolder(options.folder, async (data) => {
  // PostgreSQL runs as a user of its own and needs access to its folder.
  await chmod(data, 0o755);
  const generator = new Generator();
  const participants: Participant[] = [];
  try {
    await startAll(data, participants);
    const rows = await compareAll({ generator, participants, ...options });
    const { seconds, rounds } = options;
    await report("load", data, { verdicts: verdictsOf(rows), seconds, rounds, rows });
    print(disturbanceWarning(rows));
  } finally {
    await Promise.all([generator.stop(), ...participants.map((one) => one.stop())]);
  }
});

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
      print(`\n${settingTable(setting, rows)}`);
    }
  }
  return rows;
}

function mixNamed(name: string): Mix {
  const mix = MIXES.find((known) => known === name);
  if (mix === undefined) throw new InvalidArgumentError(`There is no mix ${name}.`);
  return mix;
}
