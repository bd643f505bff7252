/**
 * `npm run bench:overload`: what is left of the throughput when requests come three times as fast
 * as they can be answered. That rate does not depend on the answers. The peak is measured with as
 * many connections and for as long, so that only the rate differs.
 */
import { startServer } from "./contenders/frontrow.ts";
import { createVenue, openEvent } from "./contenders/venue.ts";
import { folder, inTemporaryFolder, number, parseOptions } from "./harness/command.ts";
import { waitUntilIdle } from "./harness/measure.ts";
import { print, progress, report, table, verdict } from "./harness/results.ts";
import { type Driven, overHttp } from "./load/drive.ts";
import { Generator } from "./load/generator-process.ts";
import { targetAt } from "./load/plan.ts";

const CALM_SHARE = 0.8;
const GOALS = { goodShare: 0.9, p99Times: 5 };

const options = parseOptions(
  "bench:overload",
  "Offers more locks and unlocks than the server can answer.",
  {
    times: number(3, "offered load as a multiple of the peak"),
    seconds: number(60, "length of the overload"),
    calm: number(60, "seconds of the measurements of the peak and at 80 % of it"),
    connections: number(1_000, "HTTP connections of all measurements"),
    folder,
  },
);

const rows = await inTemporaryFolder(options.folder, measure);
const { peak, calm, overload } = rows;
print(table(["", "good/s", "429/s", "not sent/s", "p50 ms", "p99 ms", "generator"], cells()));
print(`other answers: ${JSON.stringify(overload.missed.failures)}\n`);
const goodShare = overload.perSecond / peak;
const p99Times = overload.p99Ms / calm.p99Ms;
const verdicts = [
  verdict("good answers under overload ÷ peak", { atLeast: GOALS.goodShare }, goodShare),
  verdict("p99 under overload ÷ p99 at 80 % load", { atMost: GOALS.p99Times }, p99Times),
];
await report("overload", options.folder, { verdicts, ...options, ...rows });

async function measure(data: string) {
  const { times, seconds, connections } = options;
  const server = await startServer(data);
  const event = await openEvent(await createVenue(server.url, 2 * connections));
  const target = targetAt(server.url);
  const open = { target, event, connections };
  progress("peak");
  const generator = new Generator();
  const durationMs = options.calm * 1_000;
  const { perSecond } = await overHttp(generator, { ...open, durationMs });
  await waitUntilIdle([server.pid]);
  progress("80 % of the peak");
  const calmRate = CALM_SHARE * perSecond;
  const rested = await overHttp(generator, { ...open, ratePerSecond: calmRate, durationMs });
  await waitUntilIdle([server.pid]);
  progress(`${times} times the peak`);
  const rate = times * perSecond;
  const pressed = await overHttp(generator, {
    ...open,
    ratePerSecond: rate,
    durationMs: seconds * 1_000,
  });
  await generator.stop();
  await server.stop();
  return { peak: perSecond, calm: rested, overload: pressed };
}

function cells(): string[][] {
  const row = (name: string, measured: Driven, seconds: number) => {
    const { shed, lost } = measured.missed;
    const rates = [measured.perSecond, shed / seconds, lost / seconds];
    const latencies = [measured.p50Ms, measured.p99Ms].map((ms) => ms.toFixed(1));
    const texts = rates.map((rate) => Math.round(rate).toLocaleString("en"));
    return [name, ...texts, ...latencies, measured.generatorShare.toFixed(2)];
  };
  const none = ["-", "-", "-", "-", "-"];
  return [
    ["peak, closed loop", Math.round(peak).toLocaleString("en"), ...none],
    row("80 % of the peak", calm, options.calm),
    row(`${options.times} times the peak`, overload, options.seconds),
  ];
}
