/**
 * `npm run bench:trail-lag`: whether the audit trail keeps up with ten minutes of locks over HTTP,
 * and what it costs them. The comparison is a server whose trail does not follow the log.
 */
import { metricOf, startServer, trailCaughtUp } from "./contenders/frontrow.ts";
import { createVenue, openEvent } from "./contenders/venue.ts";
import { folder, inTemporaryFolder, number, parseOptions } from "./harness/command.ts";
import { quotientOf, spreadOf } from "./harness/measure.ts";
import { print, progress, report, table, verdict, withCommas } from "./harness/results.ts";
import { overHttp } from "./load/drive.ts";
import { Generator } from "./load/generator-process.ts";
import { targetAt } from "./load/plan.ts";

const WITHOUT_TRAIL = new URL("./floors/without-trail.js", import.meta.url);
const GOALS = { recordsPerSecond: 60_000, lagSeconds: 5, p99Times: 1.3 };

const options = parseOptions(
  "bench:trail-lag",
  "Measures how far the audit trail falls behind under load, and what it costs the requests.",
  {
    connections: number(256, "HTTP connections that lock and unlock seats"),
    slices: number(10, "slices of the load, one after the other"),
    seconds: number(60, "length of a slice"),
    pairs: number(9, "pairs of short slices, with and without a trail"),
    short: number(8, "length of a slice of a pair"),
    folder,
  },
);

interface Slice {
  readonly perSecond: number;
  readonly p99Ms: number;
  /** At the end of the slice. */
  readonly lagRecords: number;
}

type Drive = (seconds: number) => Promise<Slice>;

const { slices, pairs } = await inTemporaryFolder(options.folder, measure);
const perSecond = spreadOf(slices.map((slice) => slice.perSecond));
const lagSeconds = Math.max(...slices.map((slice) => slice.lagRecords / slice.perSecond));
const p99Times = quotientOf(
  pairs.map((pair) => pair.with.p99Ms),
  pairs.map((pair) => pair.without.p99Ms),
);
print(table(["", "records/s", "p99 ms", "lag, records"], rows()));
await report("trail-lag", options.folder, {
  verdicts: [
    verdict("records per second over HTTP", { atLeast: GOALS.recordsPerSecond }, perSecond),
    verdict("greatest lag of the trail, s", { atMost: GOALS.lagSeconds }, lagSeconds),
    verdict("p99 ÷ p99 without a trail", { atMost: GOALS.p99Times }, p99Times),
  ],
  slices,
  pairs,
});

function rows(): string[][] {
  const named = [
    ...slices.map((slice, i) => [`slice ${i + 1}`, slice] as const),
    ...pairs.flatMap((pair, i) => [
      [`pair ${i + 1}, with a trail`, pair.with] as const,
      [`pair ${i + 1}, without`, pair.without] as const,
    ]),
  ];
  return named.map(([name, { perSecond: rate, p99Ms, lagRecords }]) => {
    return [name, withCommas(rate), p99Ms.toFixed(2), withCommas(lagRecords)];
  });
}

async function measure(data: string) {
  const generator = new Generator();
  const server = await startServer(`${data}/with`);
  const drive = await driveOf(server.url, generator);
  const measured: Slice[] = [];
  for (let i = 1; i <= options.slices; i++) {
    progress(`slice ${i} of ${options.slices}`);
    measured.push(await drive(options.seconds));
  }
  await trailCaughtUp(server.url);
  const other = await startServer(`${data}/without`, [], WITHOUT_TRAIL);
  const driveOther = await driveOf(other.url, generator);
  const compared = [];
  // The machine changes from minute to minute, so only neighbours are compared, in turned order.
  for (let i = 1; i <= options.pairs; i++) {
    progress(`pair ${i} of ${options.pairs}`);
    const first = i % 2 === 0 ? null : await driveOther(options.short);
    const following = await drive(options.short);
    await trailCaughtUp(server.url);
    const without = first ?? (await driveOther(options.short));
    compared.push({ with: following, without });
  }
  await other.stop();
  await server.stop();
  await generator.stop();
  return { slices: measured, pairs: compared };
}

/** @returns A function that measures one slice. */
async function driveOf(url: URL, generator: Generator): Promise<Drive> {
  const { connections } = options;
  const event = await openEvent(await createVenue(url, 2 * connections));
  const shape = { target: targetAt(url), event, connections };
  return async (seconds) => {
    const driven = await overHttp(generator, { ...shape, durationMs: seconds * 1_000 });
    return {
      perSecond: driven.perSecond,
      p99Ms: driven.p99Ms,
      lagRecords: await metricOf(url, "frontrow_audit_lag_records"),
    };
  };
}
