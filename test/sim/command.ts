/**
 * `npm run sim`: runs seeds in several processes and prints what happened. The exit code is 1 on a
 * violation, and when a long run did not cover every branch.
 */
import { SingleBar } from "cli-progress";
import { Command } from "commander";
import { type ChildProcess, fork } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { neverSeen, SEEDS_FOR_ALL } from "./branches.ts";
import { HISTORIES_FOR_ALL, neverInHistories } from "./cluster/branches.ts";
import { INVARIANTS, Tally } from "./model/invariants.ts";
import { keepRegression } from "./regressions.ts";
import { ROOT, type SeedResult } from "./seed.ts";
import type { Share } from "./worker.ts";
import { planOf } from "./workload/plan.ts";

const WORKER = fileURLToPath(new URL("./worker.js", import.meta.url));
/** Nearly all garbage is young, and the other processors run other processes. */
const WORKER_FLAGS = ["--single-threaded-gc", "--max-semi-space-size=32"];

interface Options {
  readonly seeds: number;
  readonly seed: number;
  readonly jobs: number;
  readonly cluster: boolean;
  readonly quiet: boolean;
  readonly keep: string | undefined;
}

const options = new Command("sim")
  .description(
    "Runs the store on a virtual disk and clock, with crashes, faults and damage, and checks it\n" +
      "after each start. One seed is one run, the same every time.",
  )
  .option("--seeds <number>", "how many seeds", wholeNumber, SEEDS_FOR_ALL)
  .option("--seed <number>", "the first seed", wholeNumber, 1)
  .option("--jobs <number>", "processes at once", wholeNumber, os.availableParallelism())
  .option("--cluster", "histories of three hosts beside a model of etcd", false)
  .option("--quiet", "print no table of what happened", false)
  .option("--keep <text>", "keep the first seed as a regression; the text says what it found")
  .parse()
  .opts<Options>();

function wholeNumber(text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new Error(`not a whole number above zero: ${text}`);
}

if (options.keep !== undefined && options.cluster) throw new Error("--keep is not for --cluster");
if (options.keep !== undefined) {
  const file = keepRegression({ found: options.keep, plan: planOf(options.seed) });
  print(`kept: ${file}`);
}
const startedMs = performance.now();
const tally = new Tally();
let seedCount = 0;
let crashes = 0;
let failure: string | null = null;

// For all runs, because a killed process does not remove its files.
const root = fs.mkdtempSync(path.join(ROOT, "frontrow-sim-"));
process.once("exit", () => fs.rmSync(root, { recursive: true, force: true }));
const children: ChildProcess[] = [];
const bar = process.stderr.isTTY ? startBar() : null;
await Promise.all(sharesOf(options).map(work));
bar?.stop();
report();

function startBar(): SingleBar {
  const format = "{bar} {percentage}% | {value}/{total} seeds | {crashes} crashes";
  const started = new SingleBar({ format, stream: process.stderr, gracefulExit: true });
  started.start(options.seeds, 0, { crashes: 0 });
  return started;
}

function sharesOf({ seeds, seed, jobs, cluster: isCluster }: Options): Share[] {
  return Array.from({ length: Math.min(jobs, seeds) }, (_, i) => {
    const count = Math.ceil((seeds - i) / jobs);
    return { first: seed + i, count, stride: jobs, isCluster, root };
  });
}

/** Settles when the share is done or a seed has failed. */
function work(share: Share): Promise<void> {
  const child = fork(WORKER, { execArgv: WORKER_FLAGS });
  children.push(child);
  child.send(share);
  return new Promise((resolve, reject) => {
    child.on("message", take);
    child.once("exit", (code) => {
      if (code === 0 || failure !== null) resolve();
      else reject(new Error(`a process of the simulation ended with ${code}`));
    });
  });
}

function take(result: SeedResult): void {
  if (failure !== null) return;
  seedCount += 1;
  crashes += result.crashes;
  tally.add(result.counts);
  bar?.update(seedCount, { crashes });
  if (result.failure === null) return;
  failure = result.failure;
  // All of them, because the fault may keep one of them in a loop.
  for (const child of children) child.kill("SIGKILL");
}

function report(): void {
  const seconds = (performance.now() - startedMs) / 1_000;
  if (!options.quiet) printTable();
  const last = options.seed + options.seeds - 1;
  const [what, count] = options.cluster ? ["faults", faults()] : ["crashes", crashes];
  print(
    `${grouped(seedCount)} seeds (${options.seed} to ${last}), ${grouped(count)} ${what}, ` +
      `${grouped(tally.of("start: open"))} starts checked, ${grouped(asked())} requests, ` +
      `${seconds.toFixed(1)} s, ${Math.round(count / seconds)} ${what} a second`,
  );
  const missing = notCovered();
  for (const name of missing) print(`never seen: ${name}`);
  if (failure === null) print("violations: 0");
  else print(`VIOLATION of ${failure}`);
  if (failure !== null) print(`to see it again: npm run sim -- --seed ${seedOf(failure)}`);
  process.exitCode = failure === null && missing.length === 0 ? 0 : 1;
}

function printTable(): void {
  const counts = [...tally.counts].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, times] of counts) {
    const text = INVARIANTS[name as keyof typeof INVARIANTS];
    print(`${grouped(times).padStart(14)}  ${name}${text === undefined ? "" : `: ${text}`}`);
  }
}

/** The branches missed by a long run. */
function notCovered(): string[] {
  if (options.cluster) return seedCount >= HISTORIES_FOR_ALL ? neverInHistories(tally) : [];
  return seedCount >= SEEDS_FOR_ALL ? neverSeen(tally) : [];
}

function asked(): number {
  return sumOf("asked: ");
}

function faults(): number {
  return sumOf("fault: ");
}

function sumOf(prefix: string): number {
  const counts = [...tally.counts].filter(([name]) => name.startsWith(prefix));
  return counts.reduce((sum, [, times]) => sum + times, 0);
}

function seedOf(text: string): string {
  const mode = options.cluster ? " --cluster" : "";
  return `${/^seed (\d+)/.exec(text)![1]!} --seeds 1${mode}`;
}

function grouped(number: number): string {
  return number.toLocaleString("en");
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
