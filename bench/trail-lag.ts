/**
 * `npm run bench:trail-lag`: whether the audit trail keeps up with ten minutes of locks over HTTP,
 * and what it costs them. The comparison is a server whose trail does not follow the log.
 */
import { metricOf, startServer } from "./contenders/frontrow.ts";
import { createVenue, openEvent } from "./contenders/venue.ts";
import { folder, inTemporaryFolder, number, parseOptions } from "./harness/command.ts";
import { medianOf, spreadOf } from "./harness/measure.ts";
import { report, verdict } from "./harness/results.ts";
import { print, progress, table, withCommas } from "./harness/table.ts";
import { Generator } from "./load/generator-process.ts";
import { type Measurement, targetAt } from "./load/plan.ts";

const WITHOUT_TRAIL = new URL("./trail/without-trail.js", import.meta.url);
const GOALS = { recordsPerSecond: 60_000, lagSeconds: 5, p99Times: 1.3 };

const options = parseOptions(
  "bench:trail-lag",
  "Measures how far the audit trail falls behind under load, and what it costs the requests.",
  {
    connections: number(256, "HTTP connections that lock and unlock seats"),
    slices: number(10, "slices of the load, one after the other"),
    seconds: number(60, "length of a slice"),
    compared: number(2, "slices without a trail, before the load and after it"),
    folder,
  },
);

interface Slice {
  readonly perSecond: number;
  readonly p99Ms: number;
  /** At the end of the slice. */
  readonly lagRecords: number;
}

type Drive = () => Promise<Slice>;

const { slices, compared } = await inTemporaryFolder(options.folder, measure);
const perSecond = spreadOf(slices.map((slice) => slice.perSecond));
const lagSeconds = Math.max(...slices.map((slice) => slice.lagRecords / slice.perSecond));
const p99WithoutMs = medianOf(compared.map(({ p99Ms }) => p99Ms));
const p99Times = spreadOf(slices.map(({ p99Ms }) => p99Ms / p99WithoutMs));
print(table(["", "records/s", "p99 ms", "lag, records"], rows()));
await report("trail-lag", options.folder, {
  verdicts: [
    verdict("records per second over HTTP", { atLeast: GOALS.recordsPerSecond }, perSecond),
    verdict("greatest lag of the trail, s", { atMost: GOALS.lagSeconds }, lagSeconds),
    verdict("p99 ÷ p99 without a trail", { atMost: GOALS.p99Times }, p99Times),
  ],
  slices,
  compared,
});

function rows(): string[][] {
  const named = [
    ...compared.map((slice) => ["without a trail", slice] as const),
    ...slices.map((slice, i) => [`slice ${i + 1}`, slice] as const),
  ];
  return named.map(([name, { perSecond: rate, p99Ms, lagRecords }]) => {
    return [name, withCommas(rate), p99Ms.toFixed(2), withCommas(lagRecords)];
  });
}

async function measure(data: string) {
  const generator = new Generator();
  const before = await without(data, "before", generator);
  const server = await startServer(`${data}/with`);
  const drive = await driveOf(server.url, generator);
  const measured: Slice[] = [];
  for (let i = 1; i <= options.slices; i++) {
    progress(`slice ${i} of ${options.slices}`);
    measured.push(await drive());
  }
  await server.stop();
  const after = await without(data, "after", generator);
  await generator.stop();
  return { slices: measured, compared: [...before, ...after] };
}

/** @returns Half of the slices without a trail. */
async function without(data: string, name: string, generator: Generator): Promise<Slice[]> {
  const server = await startServer(`${data}/${name}`, [], WITHOUT_TRAIL);
  const drive = await driveOf(server.url, generator);
  const measured: Slice[] = [];
  for (let i = 0; i < options.compared / 2; i++) {
    progress(`without a trail, ${name}`);
    measured.push(await drive());
  }
  await server.stop();
  return measured;
}

/** @returns A function that measures one slice. */
async function driveOf(url: URL, generator: Generator): Promise<Drive> {
  const { connections, seconds } = options;
  const events = [await openEvent(await createVenue(url, 2 * connections))];
  const plan = { target: targetAt(url), events, mix: "lock", connections, seed: 1 } as const;
  return async () => {
    const measured: Measurement = await generator.drive({ ...plan, durationMs: seconds * 1_000 });
    return {
      perSecond: measured.requestsPerSecond,
      p99Ms: measured.latencyMs.p99,
      lagRecords: await metricOf(url, "frontrow_audit_lag_records"),
    };
  };
}
