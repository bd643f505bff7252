/**
 * `npm run bench:generator`: shows that the load generator is not what is measured. It and `wrk`, a
 * generator in C, drive the emptiest handlers in interleaved rounds: where both come to the same
 * rate, it is the handler's.
 */
import { Command } from "commander";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { GET_CONSTANT, POST_NOT_PARSED } from "./contenders/empties.ts";
import { programInPath } from "./contenders/programs.ts";
import { Generator } from "./load/generator-process.ts";
import { HttpWire } from "./load/http-wire.ts";
import type { Hall, Target } from "./load/plan.ts";
import { print } from "./rounds/results.ts";
import { spreadOf } from "./rounds/statistics.ts";
import { table } from "./rounds/table.ts";

interface Options {
  readonly connections: number;
  readonly seconds: number;
  readonly rounds: number;
}

const options = new Command("bench:generator")
  .description("The load generator of these benchmarks beside wrk, from Debian's package.")
  .option("--connections <number>", "HTTP connections", Number, 256)
  .option("--seconds <number>", "length of a round, in whole seconds", Number, 2)
  .option("--rounds <number>", "rounds of each, interleaved", Number, 5)
  .parse()
  .opts<Options>();

if (programInPath("wrk") === null) {
  print("there is no wrk to compare with: apt-get install wrk\n");
  process.exit(1);
}
const folder = await mkdtemp(path.join(os.tmpdir(), "frontrow-generator-"));
const generator = new Generator();
try {
  const rows: string[][] = [];
  for (const contender of [GET_CONSTANT, POST_NOT_PARSED]) {
    const running = await contender.start(folder);
    const { target } = running;
    const hall = await running.openHall(options.connections * 2);
    const own: number[] = [];
    const wrk: number[] = [];
    for (let round = 0; round < options.rounds; round++) {
      own.push(await ownRate(target, hall));
      wrk.push(await wrkRate(target, hall));
    }
    await running.stop();
    rows.push([contender.name, ...cellsOf(own), ...cellsOf(wrk)]);
  }
  const head = [`${options.connections} connections`, "own, a second", "rounds", "wrk", "rounds"];
  print(table(head, rows));
} finally {
  await generator.stop();
  await rm(folder, { recursive: true });
}

async function ownRate(target: Target, hall: Hall): Promise<number> {
  const { connections, seconds } = options;
  const plan = { target, halls: [hall], mix: "lock", connections, seed: 1 } as const;
  return (await generator.drive({ ...plan, durationMs: seconds * 1_000 })).requestsPerSecond;
}

/** Sends the bytes of our own first request again and again. */
async function wrkRate({ host, port, protocol }: Target, hall: Hall): Promise<number> {
  const { connections, seconds } = options;
  const bytes = new HttpWire(hall, protocol === "http-get").request("lock", 0, "bench-0");
  const script = path.join(folder, "request.lua");
  await writeFile(script, `function request() return ${JSON.stringify(bytes.toString())} end\n`);
  const size = ["-t1", `-c${connections}`, `-d${seconds}s`];
  const run = promisify(execFile)("wrk", [...size, "-s", script, `http://${host}:${port}/`]);
  return Number(/Requests\/sec: +([\d.]+)/.exec((await run).stdout)![1]);
}

function cellsOf(rates: readonly number[]): string[] {
  const { median, low, high } = spreadOf(rates);
  const text = (rate: number) => `${Math.round(rate / 1_000)} k`;
  return [text(median), `${text(low)}-${text(high)}`];
}
