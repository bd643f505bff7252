/**
 * `npm run bench:growth`: how the cost grows with seats, events, seats per request, active holds
 * and the length of the log. Writes a chart of each to the results; `README.md` explains them.
 */
import { SEATS_PER_LAYOUT_MAX } from "../engine/constants.ts";
import { type Chart, chartSvg, type Point } from "./growth/chart.ts";
import { commandCost, type Size, sizeByHolds, sizeBySeats } from "./growth/command-cost.ts";
import { type ServedEvents, serveEvents } from "./growth/http-throughput.ts";
import {
  folder,
  inTemporaryFolder,
  isTrial,
  number,
  numbers,
  parseOptions,
} from "./harness/command.ts";
import { interleave, spreadOf } from "./harness/measure.ts";
import { report, verdict, type Verdict, writeResultFile } from "./harness/results.ts";
import { print, table, withCommas } from "./harness/table.ts";
import { measureRecoveries } from "./in-process/store-process.ts";
import { Generator } from "./load/generator-process.ts";

const options = parseOptions(
  "bench:growth",
  "Measures cost against size, and draws a chart for each kind of size.",
  {
    seats: numbers([1e3, 1e4, 5e4, 2e5, 1e6], "seats on sale"),
    events: numbers([1, 10, 100, 1_000, 10_000], "events of 1,000 seats"),
    request: numbers([1, 2, 10, 50, 100, 250, 500], "seats per request"),
    holds: numbers([0, 1e3, 1e4, 1e5, 1e6], "active holds"),
    records: numbers([1e5, 5e5, 1e6, 2e6], "records of the log"),
    rounds: number(9, "rounds of each size, interleaved"),
    folder,
  },
);

/** Seats of each event where another size is varied. */
const SEATS = 1_000;
/** Seats of the event whose bookings fill the logs. */
const LOG_EVENT_SEATS = isTrial ? 200 : 23_200;
const RECOVERIES = isTrial ? 1 : 3;
const THROUGHPUT_RATIO_MIN = 0.8;

const series: Record<string, readonly Point[]> = {};
await commandChart("seats", "Seats on sale", sizeBySeats);
await commandChart("events", `Events of ${withCommas(SEATS)} seats`, (events) => ({
  seats: SEATS,
  events,
}));
await commandChart("request", "Seats per request", (request) => ({ seats: SEATS, request }));
await commandChart("holds", "Active holds", sizeByHolds);
await logCharts();
const verdicts = await throughputVerdicts();
await report("growth", options.folder, { verdicts, series });

async function commandChart(
  name: "seats" | "events" | "request" | "holds",
  xName: string,
  sizeOf: (x: number) => Size,
): Promise<void> {
  const xs = options[name];
  const subjects = xs.map((x) => commandCost(sizeOf(x)));
  const values = await interleave(subjects, options.rounds);
  const points = xs.map((x, i) => ({ x, ...spreadOf(values[i]!) }));
  const title = `${xName}: cost of a lock or unlock`;
  await writeChart(name, { title, xName, yName: "ns per command", points });
}

async function writeChart(name: string, chart: Omit<Chart, "isLogX">): Promise<void> {
  series[name] = chart.points;
  const rows = chart.points.map(({ x, median }) => [withCommas(x), median.toFixed(2)]);
  print(`\n${table([chart.xName, chart.yName], rows)}`);
  // Where the cost grows with the size, a linear axis shows the straight line.
  const isLogX = name !== "request" && name !== "recovery";
  await writeResultFile(`growth-${name}.svg`, chartSvg({ ...chart, isLogX }));
}

/** What a long log costs: the bookings that fill it, and the recovery that reads it. */
async function logCharts(): Promise<void> {
  const bookings: Point[] = [];
  const recoveries: Point[] = [];
  for (const records of options.records) {
    const fill = { events: 1, seats: LOG_EVENT_SEATS, records };
    const run = { fill, closes: false, rounds: RECOVERIES };
    const { bookingSeconds, recoverySeconds } = await measureRecoveries(options.folder, run);
    bookings.push({ x: records, ...spreadOf([(bookingSeconds * 1e9) / records]) });
    recoveries.push({ x: records, ...spreadOf(recoverySeconds) });
  }
  const xName = "Records of the log";
  const durable = "Log length: cost of a durable lock or unlock";
  await writeChart("log", { title: durable, xName, yName: "ns per command", points: bookings });
  const recovery = "Log length: recovery without a snapshot";
  await writeChart("recovery", { title: recovery, xName, yName: "seconds", points: recoveries });
}

/** Over HTTP, compared with a server that has one small event. */
async function throughputVerdicts(): Promise<Verdict[]> {
  const events = Math.max(...options.events);
  const seats = Math.max(...options.seats);
  const large = Math.ceil(seats / SEATS_PER_LAYOUT_MAX);
  const loads = [
    { events: 1, seats: SEATS },
    { events, seats: SEATS },
    { events: large, seats: Math.ceil(seats / large) },
  ];
  return inTemporaryFolder(options.folder, async (parent) => {
    const generator = new Generator();
    const served: ServedEvents[] = [];
    for (const [i, load] of loads.entries()) {
      served.push(await serveEvents(generator, `${parent}/${i}`, load));
    }
    const subjects = served.map(({ measure }) => measure);
    const [alone, ...others] = await interleave(subjects, options.rounds);
    await Promise.all([generator, ...served].map((one) => one.stop()));
    return [`${withCommas(events)} events`, `${withCommas(seats)} seats`].map((name, i) => {
      const ratios = others[i]!.map((rate, round) => rate / alone![round]!);
      const figure = `throughput at ${name} ÷ at one event of 1,000 seats`;
      return verdict(figure, { atLeast: THROUGHPUT_RATIO_MIN }, spreadOf(ratios));
    });
  });
}
