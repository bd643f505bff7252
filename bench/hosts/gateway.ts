/**
 * `npm run bench:gateway`: durable two-seat locks over HTTP, straight to the engine and through a
 * gateway on the same machine, in interleaved rounds. It shows the cost of a request through a
 * gateway for the one thread of the engine, and the remaining throughput when both share the cores.
 * As many locks in flight over one command socket show the cost of decisions and log for that
 * thread: a gateway can add to it, never take from it.
 */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { startServer } from "../contenders/frontrow.ts";
import { createVenue, openEvent } from "../contenders/venue.ts";
import { folder, inTemporaryFolder, isTrial, number, parseOptions } from "../harness/command.ts";
import { interleave, medianOf, quotientOf, spreadOf, waitUntilIdle } from "../harness/measure.ts";
import { startModule } from "../harness/processes.ts";
import { print, progress, report, table, verdict, withCommas } from "../harness/results.ts";
import { type Driven, overHttp, overSocket, withCosts } from "../load/drive.ts";
import { Generator } from "../load/generator-process.ts";
import { targetAt } from "../load/plan.ts";

const GOALS = { engineMicros: 3, share: 0.7 };
const SEATS = isTrial ? 2_000 : 50_000;
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

type Round = Awaited<ReturnType<typeof withCosts<"engine" | "gateway">>>;

const rate = ({ perSecond }: Round) => perSecond;
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
const threadMicros = spreadOf(through.map(({ micros: { engine } }) => engine.thread));
const share = quotientOf(through.map(rate), straight.map(rate));
const thread = "processor time of the engine's thread for a lock through a gateway, µs";
const verdicts = [
  verdict(thread, { atMost: GOALS.engineMicros }, threadMicros),
  verdict("lock through a gateway ÷ without", { atLeast: GOALS.share }, share),
];
const reach = MICROS_PER_SECOND / threadMicros.median;
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
  const event = await openEvent(await createVenue(engine.url, SEATS));
  const generator = new Generator();
  const drive = async (name: string, act: () => Promise<Driven>) => {
    progress(name);
    await waitUntilIdle([engine.pid]);
    return withCosts({ engine: [engine.pid], gateway: [gateway.pid] }, act);
  };
  const { connections } = options;
  const shape = { event, connections, durationMs };
  const http = (url: URL) => overHttp(generator, { ...shape, target: targetAt(url) });
  const piped = { ...shape, target: targetAt(engine.url), connections: 1, inFlight: connections };
  const rounds = await interleave(
    [
      () => drive("straight", () => http(engine.url)),
      () => drive("through a gateway", () => http(gateway.url)),
      () => drive("command socket", () => overSocket(piped)),
    ],
    options.rounds,
  );
  await generator.stop();
  await gateway.stop();
  await engine.stop();
  return rounds;
}

function cellsOf(name: string, rounds: readonly Round[]): string[] {
  const median = (pick: (round: Round) => number) => medianOf(rounds.map(pick));
  const texts = [
    (round: Round) => round.p50Ms,
    (round: Round) => round.p99Ms,
    ({ micros }: Round) => micros.engine.thread,
    ({ micros }: Round) => micros.engine.all,
    ({ micros }: Round) => micros.gateway.all,
  ].map((pick) => median(pick).toFixed(2));
  return [name, withCommas(median(rate)), ...texts];
}
