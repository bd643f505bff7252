/**
 * `npm run bench:stream`: the cost of an event's followers for an on-sale, and their delay, beside
 * a server that only publishes; and the memory of idle WebSockets.
 */
import { syntheticEvent } from "./contenders/contender.ts";
import { startServer } from "./contenders/frontrow.ts";
import { createVenue, openEvent } from "./contenders/venue.ts";
import { folder, inTemporaryFolder, number, numbers, parseOptions } from "./harness/command.ts";
import { memoryOf, resetPeak, type Spread, spreadOf } from "./harness/measure.ts";
import { type Server, startModule } from "./harness/processes.ts";
import { print, progress, report, table, verdict, withCommas } from "./harness/results.ts";
import { type EventOnSale, targetAt } from "./load/plan.ts";
import {
  type AllFollowings,
  memoryOfIdle,
  onSale,
  type Sale,
  startFollowing,
} from "./streams/following.ts";

const GOALS = { p99Times: 1.5, delayMs: 10, peakMiB: 512, idleMiB: 60 };
/** Seats that the probes have for themselves. */
const PROBE_SEATS = 20;

const options = parseOptions("bench:stream", "Follows an on-sale with many stream clients.", {
  clients: number(2_000, "clients of the stream"),
  fewer: numbers([], "the same with fewer clients, to see how many have the changes in time"),
  rounds: number(1, "sales alone and with clients, in turn"),
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
}

interface Round {
  readonly alone: Sale;
  readonly followed: Sale;
  readonly followings: AllFollowings;
}

interface Row {
  readonly name: string;
  readonly rounds: readonly Round[];
  /** Rise of the server's peak memory through the clients; null when unknown. */
  readonly peakMiB: number | null;
  /** Delays with fewer clients. */
  readonly fewer: readonly { readonly clients: number; readonly followings: AllFollowings }[];
}

const { rows, idle } = await inTemporaryFolder(options.folder, measure);
print(
  table(
    ["bookings", "per second", "seconds", "p50 ms", "p99 ms", "server", "generator", "crowd"],
    rows.flatMap(({ name, rounds }) =>
      rounds.flatMap(({ alone, followed, followings: { crowdShare } }) => [
        [`${name}, alone`, ...saleCells(alone), ""],
        [`${name}, ${options.clients} clients`, ...saleCells(followed), crowdShare.toFixed(2)],
      ]),
    ),
  ),
);
print(
  `\n${table(
    [
      "changes",
      "clients",
      "frames/s",
      "MB/s",
      "p50 ms",
      "p99 ms",
      "sent p99",
      "equal",
      "after ms",
      "returns",
    ],
    rows.flatMap(({ name, rounds, fewer }) => [
      ...rounds.map(({ followings }) => [name, ...clientCells(options.clients, followings)]),
      ...fewer.map(({ clients, followings }) => [name, ...clientCells(clients, followings)]),
    ]),
  )}`,
);
const [own, reference] = rows as [Row, Row];
const ownTimes = spread(own, p99Times);
const verdicts = [
  verdict("p99 of locks with clients ÷ without", { atMost: GOALS.p99Times }, ownTimes),
  verdict(
    "the same ÷ that of a server that publishes",
    { atMost: 1 },
    ratio(ownTimes.median, spread(reference, p99Times).median),
  ),
  verdict("lock answered to change, p99 in ms", { atMost: GOALS.delayMs }, spread(own, delayOf)),
  verdict(
    "lock sent to change, p99 ÷ that of a server that publishes",
    { atMost: 1 },
    ratio(spread(own, delaySinceSent).median, spread(reference, delaySinceSent).median),
  ),
  verdict(
    "clients with the states of the map",
    { atLeast: options.clients },
    Math.min(...own.rounds.map(({ followings }) => followings.equal)),
  ),
  verdict("MiB of the server with clients, above alone", { atMost: GOALS.peakMiB }, own.peakMiB),
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
  const rowOfFrontrow = await follow({ name: "Frontrow", server, open });
  const invented = syntheticEvent(seats);
  const module = new URL("./streams/publisher.js", import.meta.url);
  const publisher = await startModule(module, [String(seats), String(invented.seatIds[0])]);
  const subject = { server: publisher, open: () => Promise.resolve(invented) };
  const rowOfPublisher = await follow({ name: "only publishes", ...subject });
  const measured = [];
  for (const what of ["streams", "command sockets"] as const) {
    if (options.idle === 0) break;
    progress(`${options.idle} idle ${what}`);
    measured.push({ what, mibAbove: await memoryOfIdle(what, options.idle, `${data}/${what}`) });
  }
  return { rows: [rowOfFrontrow, rowOfPublisher], idle: measured };
}

/** Sales alone and with clients, in turn. Stops the server. */
async function follow(subject: Subject): Promise<Row> {
  const { server, name } = subject;
  progress(`${name}: sale alone`);
  // The first one makes the server's code fast.
  await sell(subject, await subject.open());
  resetPeak(server.pid);
  const rounds: Round[] = [];
  let peakAlone: number | null = null;
  for (let i = 0; i < options.rounds; i++) {
    const alone = await sell(subject, await subject.open());
    peakAlone ??= memoryOf(server.pid, "VmHWM");
    rounds.push({ alone, ...(await sellFollowed(subject, options.clients, alone.seconds)) });
  }
  const peak = memoryOf(server.pid, "VmHWM");
  const fewer = [];
  for (const clients of options.fewer) {
    const { seconds } = rounds[0]!.alone;
    fewer.push({ clients, ...(await sellFollowed(subject, clients, seconds)) });
  }
  await server.stop();
  const peakMiB = peak === null || peakAlone === null ? null : peak - peakAlone;
  return { name, rounds, peakMiB, fewer };
}

async function sellFollowed(subject: Subject, clients: number, seconds: number) {
  const { name, server, open } = subject;
  progress(`${name}: ${clients} clients connect`);
  const event = await open();
  const following = await startFollowing({
    target: targetAt(server.url),
    event,
    clients,
    durationMs: seconds * 1_000,
    probeSeats: event.seatIds.slice(-PROBE_SEATS),
  });
  progress(`${name}: sale with clients`);
  const followed = await sell(subject, event);
  return { followed, followings: await following.end() };
}

function sell({ server }: Subject, event: EventOnSale): Promise<Sale> {
  const seatIds = event.seatIds.slice(0, -PROBE_SEATS);
  const target = targetAt(server.url);
  return onSale(server, { target, event: { ...event, seatIds }, ...options });
}

function spread({ rounds }: Row, value: (round: Round) => number): Spread {
  return spreadOf(rounds.map(value));
}

function p99Times({ alone, followed }: Round): number {
  return followed.p99Ms / alone.p99Ms;
}

function delayOf({ followings: { delaysMs } }: Round): number {
  return delaysMs.p99;
}

function delaySinceSent({ followings: { delaysMs } }: Round): number {
  return delaysMs.sinceSentP99;
}

function ratio(a: number, b: number): number | null {
  return b > 0 ? a / b : null;
}

function saleCells({ perSecond, seconds, p50Ms, p99Ms, ...used }: Sale): string[] {
  const { serverShare, generatorShare } = used;
  const shares = [serverShare, generatorShare].map((share) => share?.toFixed(2) ?? "");
  return [withCommas(perSecond), seconds.toFixed(1), p50Ms.toFixed(1), p99Ms.toFixed(1), ...shares];
}

function clientCells(clients: number, { delaysMs, ...counts }: AllFollowings): string[] {
  const { framesPerSecond, megabytesPerSecond, equal, equalAfterMs, returns, reconnects } = counts;
  return [
    String(clients),
    withCommas(framesPerSecond),
    megabytesPerSecond.toFixed(1),
    delaysMs.p50.toFixed(1),
    delaysMs.p99.toFixed(1),
    delaysMs.sinceSentP99.toFixed(1),
    String(equal),
    equalAfterMs.toFixed(0),
    `${reconnects} + ${returns}`,
  ];
}
