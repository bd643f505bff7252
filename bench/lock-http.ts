/**
 * `npm run bench`: the durable two-seat lock over HTTP beside an empty handler, in one run on one
 * machine. Rounds are interleaved; medians and the ratio are printed. A round whose answers are not
 * all 200, or that leaves a seat locked, is no result.
 */
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { type Child, start } from "./child.ts";
import { type Load, type Measured, post, run } from "./load.ts";
import { createOnSale, type OnSale, seatStates } from "./on-sale.ts";

const SERVER = fileURLToPath(new URL("../server/cli.js", import.meta.url));
const EMPTY = fileURLToPath(new URL("./empty-server.js", import.meta.url));

const SEATS_MIN = 1_000;

interface Options {
  readonly connections: number;
  readonly seconds: number;
  readonly rounds: number;
}

const options = new Command("bench")
  .description("Measures the durable two-seat lock over HTTP beside an empty handler.")
  .option("--connections <number>", "HTTP connections", Number, 64)
  .option("--seconds <number>", "length of a round", Number, 5)
  .option("--rounds <number>", "rounds of each, interleaved", Number, 3)
  .parse()
  .opts<Options>();

const folder = await mkdtemp(path.join(os.tmpdir(), "frontrow-bench-"));
const token = "bench-tenant-token";
const server = await start([SERVER, "serve", "--port", "0", "--data", folder], {
  ...process.env,
  FRONTROW_TENANT_TOKEN: token,
  FRONTROW_ADMIN_PASSWORD: "bench-password",
  FRONTROW_LOG_LEVEL: "error",
});
const empty = await start([EMPTY], process.env);
try {
  const seatCount = Math.max(SEATS_MIN, options.connections * 2);
  await measureAll(await createOnSale(server.url, token, seatCount));
} finally {
  await Promise.all([server.stop(), empty.stop()]);
  await rm(folder, { recursive: true });
}

async function measureAll(onSale: OnSale): Promise<void> {
  const load: Load = {
    connections: options.connections,
    durationMs: options.seconds * 1_000,
    requestsOf: (connection) => turnOf(onSale, connection),
  };
  const locks: Measured[] = [];
  const empties: Measured[] = [];
  for (let round = 0; round < options.rounds; round++) {
    empties.push(await measure(empty, load));
    locks.push(await measure(server, load));
    const states = await seatStates(onSale);
    if (states.size !== 1 || !states.has("ACTIVE")) throw new Error("a seat was left locked");
  }
  print("POST handler that reads and parses", empties);
  print("durable lock and unlock of two seats", locks);
  const ratio = medianOf(locks, rate) / medianOf(empties, rate);
  process.stdout.write(`ratio of requests a second: ${ratio.toFixed(2)}\n`);
}

/** Locks two seats of the connection's own and unlocks them. */
function turnOf({ eventId, key, seatIds }: OnSale, connection: number): Buffer[] {
  const seats = seatIds.slice(connection * 2, connection * 2 + 2).map((id) => ({ id }));
  const body = { sessionId: `bench-${connection}`, seats };
  const api = `/api/private/v2.0/booking`;
  return ["lock", "unlock"].map((call) => post(`${api}/${call}?eventId=${eventId}`, key, body));
}

async function measure(child: Child, load: Load): Promise<Measured> {
  const target = { host: child.url.hostname, port: Number(child.url.port) };
  const measured = await run(target, load);
  const statuses = Object.keys(measured.statuses);
  if (statuses.length !== 1 || statuses[0] !== "200") {
    throw new Error(`not all answers were 200: ${JSON.stringify(measured.statuses)}`);
  }
  return measured;
}

function rate({ requestsPerSecond }: Measured): number {
  return requestsPerSecond;
}

function medianOf(rounds: readonly Measured[], of: (round: Measured) => number): number {
  const sorted = rounds.map(of).sort((a, b) => a - b);
  return sorted[sorted.length >> 1]!;
}

function print(name: string, rounds: readonly Measured[]): void {
  const atMs = (percentile: number) =>
    medianOf(rounds, ({ latency }) => latency.getValueAtPercentile(percentile) / 1_000).toFixed(2);
  const figures = [
    `${Math.round(medianOf(rounds, rate)).toLocaleString("en")} requests a second`,
    `p50 ${atMs(50)} ms`,
    `p99 ${atMs(99)} ms`,
    `p99.9 ${atMs(99.9)} ms`,
  ];
  const conditions = `${options.connections} connections, median of ${options.rounds} rounds`;
  process.stdout.write(`${name} (${conditions}): ${figures.join(", ")}\n`);
}
