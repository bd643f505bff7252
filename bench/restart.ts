/**
 * `npm run bench:restart`: how long clients get no good answer when the server is stopped with
 * SIGTERM under load and started again at once.
 */
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { startServer } from "./contenders/frontrow.ts";
import { createVenue, openEvent } from "./contenders/venue.ts";
import { folder, inTemporaryFolder, number, parseOptions } from "./harness/command.ts";
import { spreadOf } from "./harness/measure.ts";
import { forkModule, freePort } from "./harness/processes.ts";
import { report, verdict } from "./harness/results.ts";
import { print, progress, table } from "./harness/table.ts";
import { targetAt } from "./load/plan.ts";
import type { Steadfast, SteadfastPlan } from "./load/steadfast.ts";

const GOAL_MS = 1_000;

const options = parseOptions(
  "bench:restart",
  "Restarts the server under load and measures the time without good answers.",
  {
    events: number(20, "events in the store"),
    seats: number(20_000, "seats of each event"),
    connections: number(64, "HTTP connections that lock and unlock seats"),
    seconds: number(10, "seconds of load before each restart"),
    rounds: number(5, "restarts"),
    folder,
  },
);

const rounds = await inTemporaryFolder(options.folder, measure);
const column = (name: keyof (typeof rounds)[number]) =>
  spreadOf(rounds.map((round) => round[name]));
const rows = (
  [
    ["requests a second before the signal", "perSecond"],
    ["from the signal to the end of the process, ms", "stopMs"],
    ["from the start of the next one to its address, ms", "startMs"],
    ["longest time without a good answer, ms", "gapMs"],
  ] as const
).map(([title, name]) => {
  const { median, low, high } = column(name);
  return [title, ...[median, low, high].map((value) => value.toFixed(0))];
});
print(table(["", "median", "low", "high"], rows));
const verdicts = [verdict("restart, ms without answers", { atMost: GOAL_MS }, column("gapMs"))];
await report("restart", options.folder, { verdicts, ...options, rounds });

async function measure(data: string) {
  const args = ["--port", String(await freePort())];
  let server = await startServer(data, args);
  const venue = await createVenue(server.url, options.seats);
  const event = await openEvent(venue);
  for (let i = 1; i < options.events; i++) await openEvent(venue);
  const buyers = forkModule(new URL("./load/steadfast.js", import.meta.url));
  const ask = async () => {
    const reported = once(buyers, "message");
    buyers.send("report");
    const [answer] = (await reported) as [Steadfast];
    return answer;
  };
  const { connections } = options;
  const target = targetAt(server.url);
  buyers.send({ target, event, connections } satisfies SteadfastPlan);
  const measured: { perSecond: number; stopMs: number; startMs: number; gapMs: number }[] = [];
  for (let round = 0; round < options.rounds; round++) {
    progress(`restart ${round + 1}`);
    await ask();
    await setTimeout(options.seconds * 1_000);
    const before = await ask();
    const signalMs = performance.now();
    await server.stop();
    const stopMs = performance.now() - signalMs;
    server = await startServer(data, args);
    const startMs = performance.now() - signalMs - stopMs;
    await setTimeout(1_000);
    const { longestGapMs } = await ask();
    const perSecond = before.good / before.seconds;
    measured.push({ perSecond, stopMs, startMs, gapMs: longestGapMs });
  }
  buyers.disconnect();
  await server.stop();
  return measured;
}
