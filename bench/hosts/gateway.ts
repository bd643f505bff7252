/**
 * `npm run bench:gateway`: durable two-seat locks over HTTP, straight to the engine and through a
 * gateway on the same machine, in pairs. It shows what a request that came through a gateway costs
 * the one thread of the engine, and what is left of the throughput when both share the cores.
 */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { startServer, trailCaughtUp } from "../contenders/frontrow.ts";
import { createVenue, openEvent } from "../contenders/venue.ts";
import { folder, inTemporaryFolder, number, parseOptions } from "../harness/command.ts";
import { interleave, medianOf, spreadOf } from "../harness/measure.ts";
import { type Server, startModule } from "../harness/processes.ts";
import { report, verdict } from "../harness/results.ts";
import { print, progress, table, withCommas } from "../harness/table.ts";
import { Generator } from "../load/generator-process.ts";
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

interface Round {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time for a request, in microseconds: of the engine's one thread, of all of it. */
  readonly engineThread: number;
  readonly engine: number;
  readonly gateway: number;
}

const [straight = [], through = []] = await inTemporaryFolder(options.folder, measure);
const head = ["", "requests/s", "p50 ms", "p99 ms", "thread µs", "engine µs", "gateway µs"];
print(table(head, [cellsOf("straight to the engine", straight), cellsOf("through", through)]));
const micros = spreadOf(through.map(({ engineThread }) => engineThread));
const shares = through.map((round, i) => round.requestsPerSecond / straight[i]!.requestsPerSecond);
const thread = "processor time of the engine's thread for a lock through a gateway, µs";
const verdicts = [
  verdict(thread, { atMost: GOALS.engineMicros }, micros),
  verdict("lock through a gateway ÷ without", { atLeast: GOALS.share }, spreadOf(shares)),
];
const reach = MICROS_PER_SECOND / micros.median;
print(`\none engine with enough gateways, by this arithmetic: ${withCommas(reach)} requests/s\n`);
await report("gateway", options.folder, { verdicts, reach, straight, through, ...options });

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
  const drive = async (name: string, url: URL) => {
    progress(name);
    await trailCaughtUp(engine.url);
    return measureOnce(generator, servers, url, event);
  };
  const rounds = await interleave(
    [() => drive("straight", engine.url), () => drive("through a gateway", gateway.url)],
    options.rounds,
  );
  await generator.stop();
  await gateway.stop();
  await engine.stop();
  return rounds;
}

async function measureOnce(
  generator: Generator,
  { engine, gateway }: { readonly engine: Server; readonly gateway: Server },
  url: URL,
  event: EventOnSale,
): Promise<Round> {
  const { connections, seconds } = options;
  const before = [readCpu([engine.pid]), readCpu([gateway.pid])];
  const measured = await generator.drive({
    target: targetAt(url),
    events: [event],
    mix: "lock",
    connections,
    durationMs: seconds * 1_000,
    seed: 1,
  });
  const after = [readCpu([engine.pid]), readCpu([gateway.pid])];
  const perRequest = (i: number, pick: (cpu: NonNullable<(typeof before)[0]>) => number) => {
    const [first, last] = [before[i], after[i]];
    if (first == null || last == null) return 0;
    return ((pick(last) - pick(first)) * MICROS_PER_SECOND) / measured.done;
  };
  return {
    requestsPerSecond: measured.requestsPerSecond,
    p50Ms: measured.latencyMs.p50,
    p99Ms: measured.latencyMs.p99,
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
