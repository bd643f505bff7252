/**
 * `npm run bench:generator`: shows that the load generator does not limit the measurements. It and
 * `wrk`, a generator in C, drive the empty handlers in interleaved rounds. Where both reach the
 * same rate, the handler sets it.
 */
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { GET_CONSTANT, POST_NOT_PARSED } from "./contenders/empty-handlers.ts";
import { folder, inTemporaryFolder, isTrial, number, parseOptions } from "./harness/command.ts";
import { interleave, spreadOf } from "./harness/measure.ts";
import { isInstalled, run } from "./harness/processes.ts";
import { print, table } from "./harness/table.ts";
import { Generator } from "./load/generator-process.ts";
import { HttpWire } from "./load/http-wire.ts";
import type { EventOnSale, Target } from "./load/plan.ts";

const options = parseOptions(
  "bench:generator",
  "Compares the load generator of these benchmarks with wrk.",
  {
    connections: number(256, "HTTP connections"),
    seconds: number(2, "length of a round, in whole seconds"),
    rounds: number(5, "rounds of each generator, interleaved"),
    folder,
  },
);
const { connections, seconds, rounds } = options;
/** wrk takes whole seconds only, which a trial need not wait for twice. */
const OWN_MS = isTrial ? 100 : seconds * 1_000;

if (!isInstalled("wrk")) {
  print("wrk is not installed: apt-get install wrk\n");
  process.exit(1);
}
const generator = new Generator();
const head = [`${connections} connections`, "own, per second", "range", "wrk", "range"];
print(table(head, await inTemporaryFolder(options.folder, compareAll)));
await generator.stop();

async function compareAll(data: string): Promise<string[][]> {
  const rows: string[][] = [];
  for (const contender of [GET_CONSTANT, POST_NOT_PARSED]) {
    const { target, openEvent, stop } = await contender.start(data);
    const event = await openEvent(connections * 2);
    const rates = await interleave(
      [() => ownRate(target, event), () => wrkRate(data, target, event)],
      rounds,
    );
    await stop();
    rows.push([contender.name, ...rates.flatMap(cellsOf)]);
  }
  return rows;
}

async function ownRate(target: Target, event: EventOnSale): Promise<number> {
  const plan = { target, events: [event], mix: "lock", connections, seed: 1 } as const;
  return (await generator.drive({ ...plan, durationMs: OWN_MS })).requestsPerSecond;
}

/** Repeats the bytes of our own first request. */
async function wrkRate(data: string, target: Target, event: EventOnSale): Promise<number> {
  const { host, port, protocol } = target;
  const request = new HttpWire(event, protocol === "http-get").booking("lock", 0, "bench-0");
  const script = path.join(data, "request.lua");
  await writeFile(script, `function request() return ${JSON.stringify(request.toString())} end\n`);
  const size = ["-t1", `-c${connections}`, `-d${seconds}s`];
  const output = await run("wrk", [...size, "-s", script, `http://${host}:${port}/`]);
  return Number(/Requests\/sec: +([\d.]+)/.exec(output)![1]);
}

function cellsOf(rates: readonly number[]): string[] {
  const { median, low, high } = spreadOf(rates);
  const text = (rate: number) => `${Math.round(rate / 1_000)} k`;
  return [text(median), `${text(low)}-${text(high)}`];
}
