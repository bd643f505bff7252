/**
 * `npm run bench:recovery`: how long a start takes, from a log alone and from a snapshot. One
 * process fills each data folder and ends; others recover it and must find the same state.
 */
import { folder, inTemporaryFolder, number, numbers, parseOptions } from "./harness/command.ts";
import { type Spread, spreadOf } from "./harness/measure.ts";
import { runModule } from "./harness/processes.ts";
import { print, progress, report, table, verdict, withCommas } from "./harness/results.ts";
import type { StoreReport, StoreRun } from "./in-process/store-run.ts";

/** Seats of the event whose bookings fill the logs. */
const LOG_EVENT_SEATS = 23_200;
/** Bookings before the snapshot, which is made when the store closes. */
const SNAPSHOT_RECORDS = 1_000;
/** For the first number of records. */
const GOAL_SECONDS = 3;

const options = parseOptions(
  "bench:recovery",
  "Measures the seconds until a data folder is open and the engine can take requests.",
  {
    records: numbers([1e6, 1e7], "records of each log without a snapshot"),
    events: number(100, "events in the snapshot"),
    seats: number(50_000, "seats of each of these events"),
    rounds: number(3, "recoveries of each data folder"),
    folder,
  },
);

const { events, seats, rounds } = options;
const cases = options.records.map((records) => ({
  name: `${withCommas(records)} records of the log`,
  fill: { events: 1, seats: LOG_EVENT_SEATS, records },
  closes: false,
}));
cases.push({
  name: `a snapshot of ${events} events of ${withCommas(seats)} seats`,
  fill: { events, seats, records: SNAPSHOT_RECORDS },
  closes: true,
});
const spreads: Spread[] = [];
const rows: string[][] = [];
for (const { name, ...one } of cases) {
  progress(name);
  const spread = spreadOf(await inTemporaryFolder(options.folder, (data) => recover(data, one)));
  spreads.push(spread);
  const { median, low, high } = spread;
  rows.push([name, ...[median, low, high].map((seconds) => seconds.toFixed(2))]);
}
print(table(["recovered from", "median s", "low", "high"], rows));
const first = withCommas(options.records[0] ?? 0);
const figure = `start after a kill, ${first} records since the snapshot, s`;
const verdicts = [verdict(figure, { atMost: GOAL_SECONDS }, spreads[0]!)];
await report("recovery", options.folder, { verdicts, ...options, spreads });

/** @throws Error when a recovery brings back another state, or does not start from a snapshot. */
async function recover(data: string, { fill, closes }: Omit<StoreRun, "folder">) {
  const filled = await runStore({ folder: data, fill: fill!, closes });
  const seconds: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const opened = await runStore({ folder: data, closes: false });
    const isRight = opened.digest === filled.digest && (opened.snapshot !== null) === closes;
    if (!isRight) throw new Error("recovery brought back another state");
    seconds.push(opened.recoverySeconds);
  }
  return seconds;
}

async function runStore(run: StoreRun): Promise<StoreReport> {
  const program = new URL("./in-process/store-run.js", import.meta.url);
  return JSON.parse(await runModule(program, [JSON.stringify(run)])) as StoreReport;
}
