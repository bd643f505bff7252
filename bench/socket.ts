/**
 * `npm run bench:socket`: durable two-seat locks over the command socket, beside Redis with the
 * same commands pipelined, Frontrow over HTTP, and both subprotocols.
 */
import { mkdir } from "node:fs/promises";
import type { Contender, RunningContender } from "./contenders/contender.ts";
import { frontrow } from "./contenders/frontrow.ts";
import { redis } from "./contenders/redis.ts";
import {
  describeProcessors,
  emptyCommands,
  measureProcessors,
  writeTimes,
  type WriteTimes,
} from "./floors/floors.ts";
import { folder, inTemporaryFolder, isTrial, number, parseOptions } from "./harness/command.ts";
import {
  interleave,
  quotientOf,
  readCpu,
  sharesBetween,
  type Spread,
  spreadOf,
  waitUntilIdle,
} from "./harness/measure.ts";
import { print, progress, report, table, verdict } from "./harness/results.ts";
import { type Driven, overHttp, overSocket, type Shape } from "./load/drive.ts";
import { Generator } from "./load/generator-process.ts";
import type { EventOnSale, Protocol } from "./load/plan.ts";

const SEATS = isTrial ? 2_000 : 20_000;
const HTTP_CONNECTIONS = isTrial ? 8 : 256;
const BUYERS = isTrial ? 4 : 64;
/** Measurements over HTTP last so many times as long as the others. */
const HTTP_TIMES = isTrial ? 1 : 3;
const SHAPES = isTrial
  ? ([[2, 4]] as const)
  : ([
      [64, 64],
      [8, 64],
      [8, 16],
    ] as const);

const options = parseOptions("bench:socket", "Measures commands over one connection.", {
  rounds: number(3, "rounds, besides the one that warms up"),
  seconds: number(2, "seconds of each measurement"),
  folder,
});
const durationMs = options.seconds * 1_000;

interface Subject {
  readonly name: string;
  readonly protocol: Protocol;
  readonly server: RunningContender;
  readonly event: EventOnSale;
}

/** With the processor seconds per second of the server's busiest thread; null when unknown. */
type Measured = Driven & {
  readonly serverShare: number | null;
  /** Of all threads of the server. */
  readonly threadsShare: number | null;
};

interface Row {
  readonly name: string;
  readonly connections: number;
  readonly inFlight: number;
  readonly measured: readonly Measured[];
}

const { rows, http, beside, disk, processors } = await inTemporaryFolder(options.folder, measure);
const heads = ["connections", "in flight", "commands/s", "p50 ms", "p99 ms"];
const shares = ["server", "generator", "µs each", "all threads µs"];
print(table(["", ...heads, ...shares], rows.map(cellsOf)));
print(`\n${describeProcessors(processors)}`);
print(`\n${table(["disk alone, a batch of", "p50 ms", "p99 ms"], disk.map(diskCells))}`);
const [first, second, third] = SHAPES;
const verdicts = [
  quotient("÷ Redis always", ["socket binary", "Redis always"], first, 4),
  quotient("÷ Redis everysec", ["socket binary", "Redis everysec"], first, 2.5),
  quotient("÷ Redis always", ["socket binary", "Redis always"], second, 2.5),
  quotient("÷ Redis always", ["socket binary", "Redis always"], third, 1),
  quotient("JSON ÷ binary", ["socket JSON", "socket binary"], first, 0.65),
  verdict("÷ HTTP, 256 connections", { atLeast: 7 }, http.quotient),
  verdict("p99 ÷ p50, 8 × 64", { atMost: 4 }, tailOf("socket binary", second)),
  verdict("p99 of HTTP buyers beside a socket ÷ alone", { atMost: 2 }, beside.quotient),
];
const summary = rows.map(({ measured, ...row }) => ({ ...row, measured }));
const measurements = { http, beside, disk, processors, rows: summary };
await report("socket", options.folder, { verdicts, ...measurements, ...options });

async function measure(data: string) {
  const { server, event } = await started(frontrow("Frontrow", []), `${data}/frontrow`);
  const subjects: Subject[] = [
    { name: "socket binary", protocol: "binary", server, event },
    { name: "socket JSON", protocol: "json", server, event },
  ];
  const others = [
    redis("Redis always", "always"),
    redis("Redis everysec", "everysec"),
    emptyCommands("decides nothing", true),
    emptyCommands("decides nothing, without the disk", false),
  ];
  for (const contender of others) {
    const missing = contender.missing();
    if (missing !== null) progress(`${contender.name} is not measured: ${missing}`);
    else {
      const running = await started(contender, `${data}/${contender.name}`);
      const protocol = running.server.target.protocol === "resp" ? "resp" : "binary";
      subjects.push({ name: contender.name, protocol, ...running });
    }
  }
  const measured = await rowsOf(subjects);
  const ofHttp = await measureHttp(server, event);
  for (const one of new Set(subjects.map((subject) => subject.server))) await one.stop();
  const together = await measureProcessors(durationMs);
  return { rows: measured, ...ofHttp, disk: await ofDisk(data), processors: together };
}

/** The log has half of the commands in a batch while it waits for the other half. */
async function ofDisk(data: string): Promise<(WriteTimes & { commands: number })[]> {
  const measured = [];
  for (const [connections, inFlight] of SHAPES) {
    const commands = (connections * inFlight) / 2;
    progress(`disk alone, ${commands} commands`);
    measured.push({ commands, ...(await writeTimes(data, commands, durationMs)) });
  }
  return measured;
}

async function started(contender: Contender, data: string) {
  await mkdir(data);
  const server = await contender.start(data);
  return { server, event: await server.openEvent(SEATS) };
}

async function rowsOf(subjects: readonly Subject[]): Promise<Row[]> {
  const cases = SHAPES.flatMap(([connections, inFlight]) =>
    subjects.map((subject) => ({ ...subject, connections, inFlight })),
  );
  const values = await interleave(
    cases.map(({ name, server, ...rest }) => () => {
      progress(`${name}, ${rest.connections} × ${rest.inFlight}`);
      const { protocol, event, connections, inFlight } = rest;
      const target = { ...server.target, protocol };
      return driveAndWatch({ target, event, connections, inFlight, durationMs }, server);
    }),
    options.rounds,
  );
  return cases.map(({ name, connections, inFlight }, i) => {
    return { name, connections, inFlight, measured: values[i]! };
  });
}

/**
 * Frontrow over HTTP beside the socket, and its p99 while a socket is at full speed. Each lasts
 * long enough to archive segments of the log meanwhile.
 */
async function measureHttp(server: RunningContender, event: EventOnSale) {
  const { target } = server;
  const generator = new Generator();
  const time = { durationMs: HTTP_TIMES * durationMs };
  const buy = (connections: number) => overHttp(generator, { target, event, ...time, connections });
  const others = await server.openEvent(SEATS);
  const shape = {
    connections: 1,
    inFlight: isTrial ? 4 : 512,
    durationMs: time.durationMs + durationMs,
  };
  const buyBesideSocket = async () => {
    const busy = overSocket({ target, event: others, ...shape });
    const bought = await buy(BUYERS);
    await busy;
    return bought;
  };
  const [connections, inFlight] = SHAPES[0];
  const plan = { target, event, connections, inFlight, ...time };
  const cases = {
    "socket binary, longer": async () => (await overSocket(plan)).perSecond,
    HTTP: async () => (await buy(HTTP_CONNECTIONS)).perSecond,
    "HTTP buyers beside a socket": async () => (await buyBesideSocket()).p99Ms,
    "HTTP buyers alone": async () => (await buy(BUYERS)).p99Ms,
  };
  const [commands, requests, p99Beside, p99Alone] = await interleave(
    Object.entries(cases).map(([name, measureCase]) => async () => {
      progress(name);
      await waitUntilIdle(server.pids);
      return measureCase();
    }),
    options.rounds,
  );
  await generator.stop();
  return {
    http: { commands, requests, quotient: quotientOf(commands!, requests!) },
    beside: { p99Beside, p99Alone, quotient: quotientOf(p99Beside!, p99Alone!) },
  };
}

async function driveAndWatch(
  shape: Shape & { readonly inFlight: number },
  server: RunningContender,
): Promise<Measured> {
  await waitUntilIdle(server.pids);
  const before = readCpu(server.pids);
  const measured = await overSocket(shape);
  const after = readCpu(server.pids);
  if (before === null || after === null) {
    return { ...measured, serverShare: null, threadsShare: null };
  }
  const interval = { seconds: durationMs / 1_000, generator: 0 };
  const { busiestThread, server: threadsShare } = sharesBetween(before, after, interval);
  return { ...measured, serverShare: busiestThread, threadsShare };
}

function find(name: string, shape: readonly [number, number] | undefined): Row | undefined {
  return rows.find(
    (row) => row.name === name && row.connections === shape?.[0] && row.inFlight === shape[1],
  );
}

function tailOf(name: string, shape: readonly [number, number] | undefined): Spread | null {
  const row = find(name, shape);
  return row === undefined ? null : spreadOf(row.measured.map(({ p99Ms, p50Ms }) => p99Ms / p50Ms));
}

function quotient(
  figure: string,
  [name, other]: readonly [string, string],
  shape: readonly [number, number] | undefined,
  atLeast: number,
) {
  const [one, base] = [find(name, shape), find(other, shape)];
  const label = shape === undefined ? "" : `, ${shape.join(" × ")}`;
  if (one === undefined || base === undefined) return verdict(figure + label, { atLeast }, null);
  const rates = (row: Row) => row.measured.map(({ perSecond }) => perSecond);
  return verdict(figure + label, { atLeast }, quotientOf(rates(one), rates(base)));
}

function cellsOf({ name, connections, inFlight, measured }: Row): string[] {
  const median = (pick: (one: Measured) => number) => spreadOf(measured.map(pick)).median;
  const perSecond = median((one) => one.perSecond);
  const [p50, p99] = [median((one) => one.p50Ms), median((one) => one.p99Ms)];
  const server = median((one) => one.serverShare ?? NaN);
  const generator = median((one) => one.generatorShare);
  const rate = Math.round(perSecond).toLocaleString("en");
  const threads = median((one) => one.threadsShare ?? NaN);
  const microseconds = (share: number) => (share / perSecond) * 1e6;
  const each = [microseconds(server), microseconds(threads + generator)];
  const figures = [p50, p99, server, generator, ...each].map((one) => one.toFixed(2));
  return [name, String(connections), String(inFlight), rate, ...figures];
}

function diskCells({ commands, p50Ms, p99Ms }: WriteTimes & { commands: number }): string[] {
  return [`${commands} commands`, p50Ms.toFixed(2), p99Ms.toFixed(2)];
}
