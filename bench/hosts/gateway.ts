/**
 * `npm run bench:gateway`: durable two-seat locks over HTTP, straight to the engine and through a
 * gateway on the same machine, in interleaved rounds. It shows what a request that came through a
 * gateway costs the one thread of the engine, and what is left of the throughput when both share
 * the cores. As many locks in flight over one command socket show what deciding and the log cost
 * that thread: a gateway can add to it, never take from it.
 */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { startServer, trailCaughtUp } from "../contenders/frontrow.ts";
import { createVenue, openEvent } from "../contenders/venue.ts";
import { folder, inTemporaryFolder, number, parseOptions } from "../harness/command.ts";
import { interleave, medianOf, spreadOf } from "../harness/measure.ts";
import { measureIn, type Server, startModule } from "../harness/processes.ts";
import { report, verdict } from "../harness/results.ts";
import { print, progress, table, withCommas } from "../harness/table.ts";
import { Generator } from "../load/generator-process.ts";
import type { PipelinedMeasurement, PipelinedPlan } from "../load/pipelined-wire.ts";
import { type EventOnSale, targetAt } from "../load/plan.ts";
import { readCpu } from "../rounds/cpu.ts";

const GOALS = { engineMicros: 3, share: 0.7 };
const POLL_MS = 50;
const MICROS_PER_SECOND = 1e6;

const options = parseOptions(
  "bench:gateway",
  "Compares locks through a gateway with locks without.",
  {
    rounds: number(5, "pairs, besides the one that warms up"),
    seconds: number(4, "seconds of each measurement"),
    connections: number(256, "HTTP connections"),
    folder,
  },
);

const durationMs = options.seconds * 1_000;

interface Driven {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly done: number;
}

interface Round extends Omit<Driven, "done"> {
  /** Processor time for a request, in microseconds: of the engine's one thread, of all of it. */
  readonly engineThread: number;
  readonly engine: number;
  readonly gateway: number;
}

const measured = await inTemporaryFolder(options.folder, measure);
const [straight = [], through = [], socket = []] = measured;
const head = ["", "requests/s", "p50 ms", "p99 ms", "thread µs", "engine µs", "gateway µs"];
const names = ["straight to the engine", "through", "command socket, one connection"];
print(
  table(
    head,
    names.map((name, i) => cellsOf(name, measured[i]!)),
  ),
);
const micros = spreadOf(through.map(({ engineThread }) => engineThread));
const shares = through.map((round, i) => round.requestsPerSecond / straight[i]!.requestsPerSecond);
const thread = "processor time of the engine's thread for a lock through a gateway, µs";
const verdicts = [
  verdict(thread, { atMost: GOALS.engineMicros }, micros),
  verdict("lock through a gateway ÷ without", { atLeast: GOALS.share }, spreadOf(shares)),
];
const reach = MICROS_PER_SECOND / micros.median;
print(`\none engine with enough gateways, by this arithmetic: ${withCommas(reach)} requests/s\n`);
await report("gateway", options.folder, { verdicts, reach, straight, through, socket, ...options });

async function measure(data: string): Promise<Round[][]> {
  const secretFile = path.join(data, "gateway-secret");
  await writeFile(secretFile, randomBytes(32).toString("hex"));
  const secret = ["--gateway-secret-file", secretFile];
  const engine = await startServer(data, secret);
  const program = new URL("../../server/cli.js", import.meta.url);
  const place = ["--engine", engine.url.href, "--port", "0", "--log-level", "error"];
  const gateway = await startModule(program, ["gateway", ...place, ...secret]);
  while (!(await fetch(new URL("/readyz", gateway.url))).ok) await setTimeout(POLL_MS);
  const event = await openEvent(await createVenue(engine.url, 50_000));
  const generator = new Generator();
  const servers = { engine, gateway };
  const drive = async (name: string, act: () => Promise<Driven>) => {
    progress(name);
    await trailCaughtUp(engine.url);
    return measureOnce(servers, act);
  };
  const rounds = await interleave(
    [
      () => drive("straight", () => overHttp(generator, engine.url, event)),
      () => drive("through a gateway", () => overHttp(generator, gateway.url, event)),
      () => drive("command socket", () => overSocket(engine.url, event)),
    ],
    options.rounds,
  );
  await generator.stop();
  await gateway.stop();
  await engine.stop();
  return rounds;
}

async function overHttp(generator: Generator, url: URL, event: EventOnSale): Promise<Driven> {
  const { requestsPerSecond, latencyMs, done } = await generator.drive({
    target: targetAt(url),
    events: [event],
    mix: "lock",
    connections: options.connections,
    durationMs,
    seed: 1,
  });
  return { requestsPerSecond, p50Ms: latencyMs.p50, p99Ms: latencyMs.p99, done };
}

async function overSocket(url: URL, event: EventOnSale): Promise<Driven> {
  const shape = { connections: 1, inFlight: options.connections };
  const plan: PipelinedPlan = {
    target: targetAt(url),
    protocol: "binary",
    event,
    ...shape,
    durationMs,
  };
  const program = new URL("../load/pipelined.js", import.meta.url);
  const { commandsPerSecond, p50Ms, p99Ms } = await measureIn<PipelinedMeasurement>(program, plan);
  const done = commandsPerSecond * options.seconds;
  return { requestsPerSecond: commandsPerSecond, p50Ms, p99Ms, done };
}

async function measureOnce(
  { engine, gateway }: { readonly engine: Server; readonly gateway: Server },
  act: () => Promise<Driven>,
): Promise<Round> {
  const before = [readCpu([engine.pid]), readCpu([gateway.pid])];
  const { done, ...driven } = await act();
  const after = [readCpu([engine.pid]), readCpu([gateway.pid])];
  const perRequest = (i: number, pick: (cpu: NonNullable<(typeof before)[0]>) => number) => {
    const [first, last] = [before[i], after[i]];
    if (first == null || last == null) return 0;
    return ((pick(last) - pick(first)) * MICROS_PER_SECOND) / done;
  };
  return {
    ...driven,
    engineThread: perRequest(0, ({ threads }) => threads.get(engine.pid) ?? 0),
    engine: perRequest(0, ({ server }) => server),
    gateway: perRequest(1, ({ server }) => server),
  };
}

function cellsOf(name: string, rounds: readonly Round[]): string[] {
  const median = (pick: (round: Round) => number) => medianOf(rounds.map(pick));
  const texts = [
    (round: Round) => round.p50Ms,
    (round: Round) => round.p99Ms,
    (round: Round) => round.engineThread,
    (round: Round) => round.engine,
    (round: Round) => round.gateway,
  ].map((pick) => median(pick).toFixed(2));
  return [name, withCommas(median((round) => round.requestsPerSecond)), ...texts];
}
