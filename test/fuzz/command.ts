/**
 * `npm run fuzz:http`: sends requests that nobody would write to servers in processes of their own.
 * The exit code is 1 when one was answered with 500, not at all, or with a change that it must not
 * make, and when a process ended.
 */
import { SingleBar } from "cli-progress";
import { Command, InvalidArgumentError } from "commander";
import { type ChildProcess, fork } from "node:child_process";
import os from "node:os";
import { fileURLToPath } from "node:url";
import { keepCase, keptCases } from "./found.ts";
import type { Message, Share } from "./lane.ts";
import { GATEWAY_MIB_MAX } from "./gateway/fuzzed-gateway.ts";
import { type Found, GATEWAY_CROWD, GATEWAY_ROUND_REQUESTS, ROUND_REQUESTS } from "./round.ts";
import { smallest } from "./smallest.ts";

const LANE = fileURLToPath(new URL("./lane.js", import.meta.url));
/** A process that says nothing for so long hangs. */
const SILENT_MS_MAX = 120_000;

interface Options {
  readonly requests: number;
  readonly seed: number;
  readonly jobs: number;
  readonly keep: string | undefined;
  readonly gateway?: boolean;
  readonly disturbEvery: number;
}

const options = new Command("fuzz:http")
  .description(
    "Sends valid, nearly valid, odd and hostile requests and raw bytes to servers and gateways\n" +
      "in processes of their own, from clients that may leave at any moment. Plays the cases that\n" +
      "were found before first. The same seed sends the same.",
  )
  .option("--requests <number>", "how many requests", wholeNumber, 100_000)
  .option("--seed <number>", "seed of the first round of requests", wholeNumber, 1)
  .option("--jobs <number>", "processes at once", wholeNumber, os.availableParallelism())
  .option("--gateway", `send all through gateways, from ${GATEWAY_CROWD} clients each`)
  .option(
    "--disturb-every <number>",
    "with --gateway: its engine fails as often",
    wholeNumber,
    1_000,
  )
  .option("--keep <text>", "keep what is found as a case for the tests; the text says what it is")
  .parse()
  .opts<Options>();

function wholeNumber(text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new InvalidArgumentError("It must be a whole number above zero.");
}

const counts = new Map<string, number>();
const children: ChildProcess[] = [];
let done = 0;
let gatewayMiB = 0;
let failure: { readonly name: string; readonly seed: number; readonly found: Found } | null = null;

const bar = process.stderr.isTTY ? startBar() : null;
await work({ cases: true });
await Promise.all(sharesOf(options).map(work));
bar?.stop();
await report();

function startBar(): SingleBar {
  const format = "{bar} {percentage}% | {value}/{total} requests | ETA {eta_formatted}";
  const started = new SingleBar({ format, stream: process.stderr, gracefulExit: true });
  started.start(options.requests, 0);
  return started;
}

/** Rounds in turn to each process. */
function sharesOf({ requests, seed, jobs, gateway = false, disturbEvery }: Options): Share[] {
  const size = gateway ? GATEWAY_ROUND_REQUESTS : ROUND_REQUESTS;
  const count = Math.ceil(requests / size);
  const rounds = Array.from({ length: count }, (_, i) => ({
    seed: seed + i,
    count: Math.min(size, requests - i * size),
  }));
  return Array.from({ length: Math.min(jobs, count) }, (_, lane) => ({
    rounds: rounds.filter((_round, i) => i % jobs === lane),
    disturbEvery: gateway ? disturbEvery : null,
  }));
}

/** Settles when the share is done, and when any has failed. */
function work(share: Share): Promise<void> {
  if (failure !== null) return Promise.resolve();
  const child = fork(LANE, { stdio: ["ignore", "ignore", "pipe", "ipc"] });
  children.push(child);
  let said = "";
  child.stderr!.setEncoding("utf8").on("data", (text: string) => (said += text));
  let heardMs = Date.now();
  let played = 0;
  const watch = setInterval(() => {
    if (Date.now() - heardMs > SILENT_MS_MAX) child.kill("SIGKILL");
  }, 1_000);
  child.on("message", (message: Message) => {
    heardMs = Date.now();
    if (message.kind === "played") played += 1;
    hear(message);
  });
  child.send(share);
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => {
      clearInterval(watch);
      const due = "cases" in share ? keptCases().length : share.rounds.length;
      if ((code !== 0 || played < due) && failure === null) {
        fail("a process", 0, {
          faults: [`ended with ${code ?? signal} after ${played} rounds: ${said}`],
          recipes: [],
        });
      }
      resolve();
    });
  });
}

function hear(message: Message): void {
  if (message.kind === "going") {
    done += message.done;
    bar?.update(Math.min(done, options.requests));
    return;
  }
  const { played, name, seed } = message;
  gatewayMiB = Math.max(gatewayMiB, played.gatewayMiB);
  for (const [label, count] of Object.entries(played.counts)) {
    counts.set(label, (counts.get(label) ?? 0) + count);
  }
  if (played.found !== null) fail(name, seed, played.found);
}

function fail(name: string, seed: number, found: Found): void {
  failure ??= { name, seed, found };
  for (const child of children) child.kill("SIGKILL");
}

async function report(): Promise<void> {
  const rows = [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const [label, count] of rows) print(`${count.toLocaleString("en").padStart(12)}  ${label}`);
  print(`largest memory of a gateway: ${gatewayMiB} MiB, at most ${GATEWAY_MIB_MAX}`);
  if (failure === null) {
    const requests = options.requests.toLocaleString("en");
    print(`${keptCases().length} cases and ${requests} requests: nothing found`);
    return;
  }
  process.exitCode = 1;
  const { name, seed, found } = failure;
  print(`FOUND at ${name}, request ${found.recipes.length}:`);
  for (const fault of found.faults) print(`  ${fault}`);
  if (found.recipes.length === 0) return;
  const { gateway = false, disturbEvery, keep } = options;
  const crowd = gateway ? GATEWAY_CROWD : 1;
  const recipes = await smallest(found.recipes, crowd);
  print(`${recipes.length} of the requests show it; the last is ${JSON.stringify(recipes.at(-1))}`);
  const mode = gateway ? ` --gateway --disturb-every ${disturbEvery}` : "";
  const again = `--seed ${seed} --requests ${found.recipes.length}${mode}`;
  print(`to see it again: npm run fuzz:http -- ${again}`);
  if (keep !== undefined) print(`kept: ${keepCase({ found: keep, recipes, crowd }, seed)}`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
