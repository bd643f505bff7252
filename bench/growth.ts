/**
 * `npm run bench:growth`: how the cost grows with seats, events, seats of a request, holds alive
 * and the length of the log. Writes a chart of each to the results; `bench/README.md` explains
 * them.
 */
import { Command } from "commander";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { chartSvg } from "./growth/chart.ts";
import { byEvents, byHolds, byRequest, bySeats } from "./growth/in-process.ts";
import { type Served, serveEvents } from "./growth/over-http.ts";
import { measureSizes, type Point, type Size } from "./growth/series.ts";
import { live } from "./in-process/live.ts";
import { Generator } from "./load/generator-process.ts";
import { conditionsNow } from "./rounds/conditions.ts";
import {
  keepFile,
  keepResult,
  print,
  verdict,
  type Verdict,
  verdictTable,
} from "./rounds/results.ts";
import { type Spread, spreadOf } from "./rounds/statistics.ts";
import { isTrial } from "./rounds/trial.ts";

interface Options {
  readonly seats: readonly number[];
  readonly events: readonly number[];
  readonly request: readonly number[];
  readonly holds: readonly number[];
  readonly records: readonly number[];
  readonly rounds: number;
  readonly folder: string;
}

const numbers = (text: string) => text.split(",").map(Number);
const options = new Command("bench:growth")
  .description("Cost against size, with a chart for each kind of size.")
  .option("--seats <list>", "seats on sale", numbers, [1e3, 1e4, 5e4, 2e5, 1e6])
  .option("--events <list>", "events of 1,000 seats", numbers, [1, 10, 100, 1_000, 10_000])
  .option("--request <list>", "seats of a request", numbers, [1, 2, 10, 50, 100, 250, 500])
  .option("--holds <list>", "holds alive", numbers, [0, 1e3, 1e4, 1e5, 1e6])
  .option("--records <list>", "records of the log", numbers, [1e5, 5e5, 1e6, 2e6])
  .option("--rounds <number>", "rounds of each size, interleaved", Number, 9)
  .option("--folder <path>", "where the stores are made, and removed again", os.tmpdir())
  .parse()
  .opts<Options>();

const COMMAND_NS = "ns a command";
const HALL_SEATS = 1_000;
/** Seats of the event whose bookings make up the logs. */
const LOG_SEATS = isTrial ? 200 : 23_200;
const SEATS_PER_EVENT_MAX = 200_000;
const THROUGHPUT_KEPT_MIN = 0.8;
/** Recoveries of a log are long and even. */
const RECOVERIES = isTrial ? 1 : 3;

const folder = await mkdtemp(path.join(options.folder, "frontrow-growth-"));
const generator = new Generator();
const series: Record<string, readonly Point[]> = {};
try {
  await inProcess("seats", "Seats on sale", options.seats.map(bySeats));
  await inProcess(
    "events",
    "Events of 1,000 seats",
    options.events.map((count) => byEvents(count)),
  );
  await inProcess("request", "Seats of a request", options.request.map(byRequest));
  await inProcess("holds", "Holds alive", options.holds.map(byHolds));
  await logLength();
  const verdicts = await throughputKept();
  print(`\n${verdictTable(verdicts)}`);
  await keepResult("growth", { conditions: conditionsNow(folder), verdicts, series });
} finally {
  await generator.stop();
  await rm(folder, { recursive: true });
}

async function inProcess(name: string, title: string, sizes: readonly Size[]): Promise<void> {
  const points = await measureSizes(sizes, options.rounds);
  await keep(name, { title: `${title}: cost of a lock or unlock`, xName: title, points });
}

interface Kept {
  readonly title: string;
  readonly xName: string;
  readonly yName?: string;
  readonly points: readonly Point[];
}

async function keep(name: string, { yName = COMMAND_NS, ...chart }: Kept): Promise<void> {
  series[name] = chart.points;
  for (const { x, median } of chart.points) {
    print(`${chart.xName}, ${x.toLocaleString("en")}: ${median.toFixed(2)} ${yName}\n`);
  }
  // What grows with the size must be seen as a straight line, so its axis is straight as well.
  const isLogX = name !== "request" && name !== "recovery";
  await keepFile(`growth-${name}.svg`, chartSvg({ ...chart, yName, isLogX }));
}

/** What a long log costs: the bookings that make it, and the start that reads it. */
async function logLength(): Promise<void> {
  const bookings: Point[] = [];
  const recoveries: Point[] = [];
  for (const records of options.records) {
    const own = await mkdtemp(path.join(folder, "log-"));
    const fill = { events: 1, seats: LOG_SEATS, records };
    const filled = await live({ folder: own, fill, closes: false });
    bookings.push({ x: records, ...spreadOf([(filled.bookingSeconds * 1e9) / records]) });
    const seconds: number[] = [];
    for (let round = 0; round < RECOVERIES; round++) {
      const opened = await live({ folder: own, closes: false });
      if (opened.digest !== filled.digest) throw new Error("no result: another state came back");
      seconds.push(opened.seconds);
    }
    recoveries.push({ x: records, ...spreadOf(seconds) });
    await rm(own, { recursive: true });
  }
  const xName = "Records of the log";
  const durable = "Log length: cost of a durable lock or unlock";
  await keep("log", { title: durable, xName, points: bookings });
  const recovery = { title: "Log length: recovery without a snapshot", xName, yName: "seconds" };
  await keep("recovery", { ...recovery, points: recoveries });
}

/** Over HTTP, beside a server with one small event. */
async function throughputKept(): Promise<Verdict[]> {
  const events = Math.max(...options.events);
  const seats = Math.max(...options.seats);
  const large = Math.ceil(seats / SEATS_PER_EVENT_MAX);
  const loads = [
    { events: 1, seats: HALL_SEATS },
    { events, seats: HALL_SEATS },
    { events: large, seats: Math.ceil(seats / large) },
  ];
  const served: Served[] = [];
  try {
    for (const load of loads) {
      const own = await mkdtemp(path.join(folder, "served-"));
      served.push(await serveEvents(generator, own, load));
    }
    const ratios: [number[], number[]] = [[], []];
    for (let round = 0; round <= options.rounds; round++) {
      const [alone = 0, many = 0, wide = 0] = await inTurn(served);
      if (round === 0) continue;
      ratios[0].push(many / alone);
      ratios[1].push(wide / alone);
    }
    const kept = (what: string, ratio: Spread) =>
      verdict(
        `throughput at ${what} ÷ at 1 event of 1,000`,
        { atLeast: THROUGHPUT_KEPT_MIN },
        ratio,
      );
    return [
      kept(`${events.toLocaleString("en")} events`, spreadOf(ratios[0])),
      kept(`${seats.toLocaleString("en")} seats`, spreadOf(ratios[1])),
    ];
  } finally {
    await Promise.all(served.map((one) => one.stop()));
  }
}

async function inTurn(served: readonly Served[]): Promise<number[]> {
  const rates: number[] = [];
  for (const { play } of served) rates.push(await play());
  return rates;
}
