/**
 * `npm run bench:stream`: what clients that follow an event cost an on-sale, and how soon they have
 * its changes.
 */
import { startServer } from "./contenders/frontrow.ts";
import { createVenue, openEvent } from "./contenders/venue.ts";
import { folder, inTemporaryFolder, number, parseOptions } from "./harness/command.ts";
import { forkModule, measureIn } from "./harness/processes.ts";
import { report, verdict } from "./harness/results.ts";
import { print, progress, table } from "./harness/table.ts";
import type { Followings } from "./load/followers.ts";
import { Generator } from "./load/generator-process.ts";
import type { OpenMeasurement, OpenPlan } from "./load/open-loop.ts";
import { type EventOnSale, type Target, targetAt } from "./load/plan.ts";

const GOALS = { p99Times: 1.5, delayMs: 10 };
/** Seats that the probes have for themselves. */
const PROBE_SEATS = 20;

const options = parseOptions("bench:stream", "Follows an on-sale with many stream clients.", {
  clients: number(2_000, "clients of the stream"),
  seconds: number(20, "length of each measurement"),
  connections: number(64, "HTTP connections of the on-sale"),
  rate: number(0, "locks and unlocks per second; 0 for as many as are answered"),
  seats: number(20_000, "seats of the event"),
  folder,
});

type Report =
  | { readonly isReady: true }
  | { readonly followed: Followings }
  | { readonly error: string };

const rows = await inTemporaryFolder(options.folder, measure);
const { alone, followed, followings } = rows;
const p99Times = followed.p99Ms / alone.p99Ms;
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
  const { seconds, clients, seats } = options;
  const server = await startServer(data);
  const whole = await openEvent(await createVenue(server.url, seats));
  const target = targetAt(server.url);
  const event = { ...whole, seatIds: whole.seatIds.slice(0, -PROBE_SEATS) };
  const sell = () => onSale(target, event);
  progress("on-sale alone");
  const without = await sell();
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
  child.send({ target, event: whole, clients, durationMs: seconds * 1_000, probeSeats });
  await Promise.race([ready, done]);
  progress("on-sale with clients");
  const measured = await sell();
  const result = await done;
  child.disconnect();
  await server.stop();
  return { alone: without, followed: measured, followings: result };
}

interface Sale {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Locks and unlocks, at the rate of the options or as fast as they are answered. */
async function onSale(target: Target, event: EventOnSale): Promise<Sale> {
  const { connections, rate, seconds } = options;
  const durationMs = seconds * 1_000;
  if (rate > 0) {
    const plan: OpenPlan = { target, event, connections, ratePerSecond: rate, durationMs };
    const program = new URL("./load/open-loop.js", import.meta.url);
    const measured = await measureIn<OpenMeasurement>(program, plan);
    return { ...measured, perSecond: measured.goodPerSecond };
  }
  const generator = new Generator();
  const plan = { target, events: [event], mix: "lock", connections, durationMs, seed: 1 } as const;
  const { requestsPerSecond, latencyMs } = await generator.drive(plan);
  await generator.stop();
  return { perSecond: requestsPerSecond, p50Ms: latencyMs.p50, p99Ms: latencyMs.p99 };
}

function cells({ perSecond, p50Ms, p99Ms }: Sale): string[] {
  return [Math.round(perSecond).toLocaleString("en"), p50Ms.toFixed(1), p99Ms.toFixed(1)];
}
