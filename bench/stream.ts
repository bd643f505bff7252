/**
 * `npm run bench:stream`: what clients that follow an event cost an on-sale, and how soon they have
 * its changes, beside a server that only publishes; and the memory of idle WebSockets.
 */
import { syntheticEvent } from "./contenders/contender.ts";
import { startServer } from "./contenders/frontrow.ts";
import { createVenue, openEvent } from "./contenders/venue.ts";
import { folder, inTemporaryFolder, number, parseOptions } from "./harness/command.ts";
import { memoryOf, resetPeak } from "./harness/memory.ts";
import { forkModule, type Server, startModule } from "./harness/processes.ts";
import { report, verdict } from "./harness/results.ts";
import { print, progress, table, withCommas } from "./harness/table.ts";
import { type EventOnSale, targetAt } from "./load/plan.ts";
import type { Followings, FollowPlan } from "./streams/followers.ts";
import { memoryOfIdle } from "./streams/idle-memory.ts";
import { onSale, type Sale } from "./streams/on-sale.ts";

const GOALS = { p99Times: 1.5, delayMs: 10, peakMiB: 512, idleMiB: 60 };
/** Seats that the probes have for themselves. */
const PROBE_SEATS = 20;

const options = parseOptions("bench:stream", "Follows an on-sale with many stream clients.", {
  clients: number(2_000, "clients of the stream"),
  seconds: number(15, "length of a measurement at a rate"),
  connections: number(64, "HTTP connections of the on-sale"),
  rate: number(0, "locks and unlocks per second; 0 for an on-sale flat out, until it is sold out"),
  seats: number(23_200, "seats of the event"),
  idle: number(18_000, "idle WebSockets"),
  folder,
});

interface Subject {
  readonly name: string;
  readonly server: Server;
  /** An event with every seat free. */
  readonly open: () => Promise<EventOnSale>;
  /** Whether no client comes back or reads slowly. */
  readonly areSteady: boolean;
}

interface Row {
  readonly name: string;
  readonly alone: Sale;
  readonly followed: Sale;
  readonly followings: Followings;
  /** How much higher the peak of the server's memory is with clients; null when unknown. */
  readonly peakMiB: number | null;
}

const { rows, idle } = await inTemporaryFolder(options.folder, measure);
print(
  table(
    ["bookings", "per second", "seconds", "p50 ms", "p99 ms", "server", "generator", "clients"],
    rows.flatMap(({ name, alone, followed, followings: { processorShare } }) => [
      [`${name}, alone`, ...saleCells(alone), ""],
      [`${name}, ${options.clients} clients`, ...saleCells(followed), processorShare.toFixed(2)],
    ]),
  ),
);
print(
  `\n${table(
    ["to clients", "frames/s", "MB/s", "p50 ms", "p99 ms", "equal", "after ms", "returns", "MiB"],
    rows.map((row) => [row.name, ...clientCells(row.followings), mib(row.peakMiB)]),
  )}`,
);
const [own, reference] = rows.map((row) => ({ ...row, p99Times: p99TimesOf(row) }));
const ownClients = own!.followings;
const verdicts = [
  verdict("p99 of locks with clients ÷ without", { atMost: GOALS.p99Times }, own!.p99Times),
  verdict(
    "the same ÷ that of a server that publishes",
    { atMost: 1 },
    ratio(own!.p99Times, reference!.p99Times),
  ),
  verdict("lock answered to change, p99 in ms", { atMost: GOALS.delayMs }, ownClients.delaysMs.p99),
  verdict(
    "the same ÷ that of a server that publishes",
    { atMost: 1 },
    ratio(ownClients.delaysMs.p99, reference!.followings.delaysMs.p99),
  ),
  verdict("clients with the states of the map", { atLeast: options.clients }, ownClients.equal),
  verdict("MiB of the server with clients, above alone", { atMost: GOALS.peakMiB }, own!.peakMiB),
  ...idle.map(({ what, mibAbove }) =>
    verdict(`MiB of ${withCommas(options.idle)} idle ${what}`, { atMost: GOALS.idleMiB }, mibAbove),
  ),
];
await report("stream", options.folder, { verdicts, ...options, rows, idle });

async function measure(data: string) {
  const { seats } = options;
  const server = await startServer(data);
  const venue = await createVenue(server.url, seats);
  const open = () => openEvent(venue);
  const rowOfFrontrow = await follow({ name: "Frontrow", server, open, areSteady: false });
  const invented = syntheticEvent(seats);
  const module = new URL("./streams/publisher.js", import.meta.url);
  const publisher = await startModule(module, [String(seats), String(invented.seatIds[0])]);
  const subject = { server: publisher, open: () => Promise.resolve(invented), areSteady: true };
  const rowOfPublisher = await follow({ name: "only publishes", ...subject });
  const measured = [];
  for (const what of ["streams", "command sockets"] as const) {
    progress(`${options.idle} idle ${what}`);
    measured.push({ what, mibAbove: await memoryOfIdle(what, options.idle, `${data}/${what}`) });
  }
  return { rows: [rowOfFrontrow, rowOfPublisher], idle: measured };
}

/** A sale alone, and then one with clients. Stops the server. */
async function follow({ name, server, open, areSteady }: Subject): Promise<Row> {
  const { clients } = options;
  const target = targetAt(server.url);
  const sell = (event: EventOnSale) => {
    const seatIds = event.seatIds.slice(0, -PROBE_SEATS);
    return onSale(server, { target, event: { ...event, seatIds }, ...options });
  };
  progress(`${name}: sale alone`);
  // The first one makes the server's code fast.
  await sell(await open());
  resetPeak(server.pid);
  const alone = await sell(await open());
  const peakAlone = memoryOf(server.pid, "VmHWM");
  progress(`${name}: ${clients} clients connect`);
  resetPeak(server.pid);
  const event = await open();
  const probeSeats = event.seatIds.slice(-PROBE_SEATS);
  const durationMs = alone.seconds * 1_000;
  const following = startFollowing({
    target,
    event,
    clients,
    durationMs,
    probeSeats,
    areSteady,
  });
  await following.ready;
  progress(`${name}: sale with clients`);
  const followed = await sell(event);
  following.end();
  const followings = await following.done;
  const peak = memoryOf(server.pid, "VmHWM");
  await server.stop();
  const peakMiB = peak === null || peakAlone === null ? null : peak - peakAlone;
  return { name, alone, followed, followings, peakMiB };
}

type Report =
  | { readonly isReady: true }
  | { readonly measured: Followings }
  | { readonly error: string };

/** Starts the clients. `ready` settles when each has a snapshot. */
function startFollowing(plan: FollowPlan) {
  const child = forkModule(new URL("./streams/followers.js", import.meta.url));
  let begin: () => void;
  const began = new Promise<void>((resolve) => (begin = resolve));
  const done = new Promise<Followings>((resolve, reject) => {
    child.on("message", (message: Report) => {
      if ("isReady" in message) begin();
      else if ("measured" in message) resolve(message.measured);
      else reject(new Error(message.error));
    });
    child.once("exit", () => reject(new Error("the clients have ended before the sale")));
  });
  child.send(plan);
  void done.then(() => child.disconnect());
  const end = () => void child.send("over");
  return { ready: Promise.race([began, done]), end, done };
}

function p99TimesOf({ alone, followed }: Row): number {
  return followed.p99Ms / alone.p99Ms;
}

function ratio(a: number, b: number): number | null {
  return b > 0 ? a / b : null;
}

function saleCells({ perSecond, seconds, p50Ms, p99Ms, ...used }: Sale): string[] {
  const { serverShare, generatorShare } = used;
  const shares = [serverShare, generatorShare].map((share) => share?.toFixed(2) ?? "");
  return [withCommas(perSecond), seconds.toFixed(1), p50Ms.toFixed(1), p99Ms.toFixed(1), ...shares];
}

function clientCells({ delaysMs, ...counts }: Followings): string[] {
  const { framesPerSecond, megabytesPerSecond, equal, equalAfterMs, returns, reconnects } = counts;
  return [
    withCommas(framesPerSecond),
    megabytesPerSecond.toFixed(1),
    delaysMs.p50.toFixed(1),
    delaysMs.p99.toFixed(1),
    String(equal),
    equalAfterMs.toFixed(0),
    `${reconnects} + ${returns}`,
  ];
}

function mib(value: number | null): string {
  return value === null ? "" : value.toFixed(0);
}
