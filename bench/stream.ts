/**
 * `npm run bench:stream`: what clients that follow an event cost an on-sale, and how soon they have
 * its changes.
 */
import { startServer } from "./contenders/frontrow.ts";
import { createVenue, openEvent } from "./contenders/venue.ts";
import { folder, inTemporaryFolder, number, parseOptions } from "./harness/command.ts";
import { forkModule } from "./harness/processes.ts";
import { report, verdict } from "./harness/results.ts";
import { print, progress, table } from "./harness/table.ts";
import type { Followings } from "./load/followers.ts";
import { Generator } from "./load/generator-process.ts";
import { targetAt } from "./load/plan.ts";

const GOALS = { p99Times: 1.5, delayMs: 10 };
/** Seats that the probes have for themselves. */
const PROBE_SEATS = 20;

const options = parseOptions("bench:stream", "Follows an on-sale with many stream clients.", {
  clients: number(2_000, "clients of the stream"),
  seconds: number(20, "length of each measurement"),
  connections: number(64, "HTTP connections of the on-sale"),
  seats: number(20_000, "seats of the event"),
  folder,
});

type Report =
  | { readonly isReady: true }
  | { readonly followed: Followings }
  | { readonly error: string };

const rows = await inTemporaryFolder(options.folder, measure);
const { alone, followed, followings } = rows;
const p99Times = followed.latencyMs.p99 / alone.latencyMs.p99;
print(
  table(
    ["", "locks/s", "p50 ms", "p99 ms"],
    [
      ["alone", ...cells(alone)],
      [`with ${options.clients} clients`, ...cells(followed)],
    ],
  ),
);
print(`${JSON.stringify(followings)}\n`);
const verdicts = [
  verdict("p99 of locks with clients ÷ without", { atMost: GOALS.p99Times }, p99Times),
  verdict("lock answered to change, p99 in ms", { atMost: GOALS.delayMs }, followings.delaysMs.p99),
  verdict("clients with the states of the map", { atLeast: options.clients }, followings.equal),
];
await report("stream", options.folder, { verdicts, ...options, ...rows });

async function measure(data: string) {
  const { seconds, connections, clients, seats } = options;
  const server = await startServer(data);
  const whole = await openEvent(await createVenue(server.url, seats));
  const target = targetAt(server.url);
  const event = { ...whole, seatIds: whole.seatIds.slice(0, -PROBE_SEATS) };
  const generator = new Generator();
  const durationMs = seconds * 1_000;
  const plan = { target, events: [event], mix: "lock", connections, durationMs, seed: 1 } as const;
  progress("on-sale alone");
  const without = await generator.drive(plan);
  progress(`${clients} clients connect`);
  const child = forkModule(new URL("./load/followers.js", import.meta.url));
  const probeSeats = whole.seatIds.slice(-PROBE_SEATS);
  const ready = new Promise<void>((resolve) => {
    child.on("message", (message: Report) => {
      if ("isReady" in message) resolve();
    });
  });
  const done = new Promise<Followings>((resolve, reject) => {
    child.on("message", (message: Report) => {
      if ("followed" in message) resolve(message.followed);
      if ("error" in message) reject(new Error(message.error));
    });
    child.once("exit", () => reject(new Error("the clients have ended before the sale")));
  });
  child.send({ target, event: whole, clients, durationMs, probeSeats });
  await Promise.race([ready, done]);
  progress("on-sale with clients");
  const measured = await generator.drive({ ...plan, seed: 2 });
  const result = await done;
  child.disconnect();
  await generator.stop();
  await server.stop();
  return { alone: without, followed: measured, followings: result };
}

function cells({ requestsPerSecond, latencyMs }: typeof alone): string[] {
  const rate = Math.round(requestsPerSecond).toLocaleString("en");
  return [rate, latencyMs.p50.toFixed(1), latencyMs.p99.toFixed(1)];
}
