/** Compares figures with their goals, and writes the result files. */
import { mkdir, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { Bench } from "tinybench";
import { isTrial } from "./command.ts";
import type { Spread } from "./measure.ts";
import { run } from "./processes.ts";

/** Exactly one of the two. */
export interface Bound {
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** A figure and its goal. */
export interface Verdict extends Bound {
  readonly figure: string;
  /** null when it was not measured. */
  readonly value: number | null;
  readonly low?: number;
  readonly high?: number;
}

export interface Findings {
  readonly verdicts: readonly Verdict[];
  /** The measured values, in the form of each benchmark. */
  readonly [detail: string]: unknown;
}

export interface Result extends Findings {
  /** A figure says little without them. */
  readonly conditions: Awaited<ReturnType<typeof conditionsNow>>;
}

/** @param value - A single figure, or the median of several rounds and their range. */
export function verdict(figure: string, bound: Bound, value: number | Spread | null): Verdict {
  if (value === null || typeof value === "number") return { figure, ...bound, value };
  return { figure, ...bound, value: value.median, low: value.low, high: value.high };
}

export function verdictTable(verdicts: readonly Verdict[]): string {
  return table(["goals of ours", "goal", "median", "range", ""], verdicts.map(cellsOf));
}

function cellsOf({ figure, atLeast, atMost, value, low, high }: Verdict): string[] {
  const goal = atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`;
  if (value === null) return [figure, goal, "not measured", "", ""];
  const isReached = value >= (atLeast ?? -Infinity) && value <= (atMost ?? Infinity);
  const range = low === undefined || high === undefined ? "" : `${short(low)}-${short(high)}`;
  return [figure, goal, short(value), range, isReached ? "reached" : "missed"];
}

function short(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(2);
}

/**
 * Replaces the benchmark's result file, and prints the verdicts.
 *
 * @param isWhole - Without it, only an experiment with a folder of its own stores its results.
 */
export async function report(
  name: string,
  dataFolder: string,
  findings: Findings,
  isWhole = true,
): Promise<Result> {
  const result: Result = { conditions: await conditionsNow(dataFolder), ...findings };
  if (isWhole || EXPERIMENT !== undefined) {
    await writeFileIn(RESULTS, `${name}.json`, `${JSON.stringify(result, null, 1)}\n`);
  } else {
    print("not stored: this is a part of the benchmark; BENCH_RESULTS=<folder> stores it there\n");
  }
  print(`\n${verdictTable(findings.verdicts)}`);
  return result;
}

/** Experiments write to another folder, to keep the committed results. */
const EXPERIMENT = process.env["BENCH_RESULTS"];
export const RESULTS = EXPERIMENT ?? "bench/results";

export async function writeFileIn(folder: string, name: string, text: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const file = path.join(folder, name);
  await writeFile(file, text);
  print(`written: ${file}\n`);
}

async function conditionsNow(dataFolder: string) {
  const cpus = os.cpus();
  const hash = await outputOf("git", ["rev-parse", "--short", "HEAD"]);
  const changes = await outputOf("git", ["status", "--porcelain", "--untracked-files=no"]);
  const disk = await outputOf("df", ["--output=fstype,source", dataFolder]);
  return {
    date: new Date().toISOString().slice(0, 16),
    commit: changes === "" ? hash : `${hash}, changed`,
    cpu: cpus[0]?.model ?? "unknown",
    cores: cpus.length,
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    kernel: `${os.type()} ${os.release()}`,
    node: process.version,
    /** File system and device of the data folders. */
    disk: disk.split("\n").at(-1)!.trim().split(/\s+/).join(" on "),
  };
}

/** Empty when the program fails or is not installed: the figures are still worth writing. */
async function outputOf(program: string, args: readonly string[]): Promise<string> {
  return run(program, args).catch(() => "");
}

// Prints text and progress, and lays out tables.

/** The first column is aligned left, the others right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, i) => Math.max(...all.map((row) => row[i]!.length)));
  const line = (row: readonly string[]) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)));
  const rule = widths.map((width) => "-".repeat(width));
  const lines = [line(head), rule, ...rows.map(line)];
  return lines.map((cells) => `${cells.join("  ").trimEnd()}\n`).join("");
}

const ERASE_LINE = "\r\u001b[K";

export function print(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(ERASE_LINE);
  process.stdout.write(text);
}

/** Shows progress in the last line of a terminal; elsewhere nothing. */
export function progress(text: string): void {
  const { isTTY, columns } = process.stderr;
  if (isTTY) process.stderr.write(ERASE_LINE + text.slice(0, columns - 1));
}

/** `1,234,567` */
export function withCommas(value: number): string {
  return Math.round(value).toLocaleString("en");
}

// Repeats single steps with tinybench, and prints the median time of each.

/** @param timeMs - How long each step is repeated, at least. */
export function newSteps(iterations: number, timeMs = 0): Bench {
  const trial = { iterations: 1, time: 0, warmup: false };
  return new Bench(isTrial ? trial : { iterations, time: timeMs });
}

const UNITS = { ns: { perMs: 1e6, digits: 0 }, ms: { perMs: 1, digits: 2 } } as const;

/** @param batch - How often one run of a task repeats its step. @returns The medians by name. */
export async function measureSteps(
  title: string,
  steps: Bench,
  { unit, batch = 1 }: { readonly unit: keyof typeof UNITS; readonly batch?: number },
): Promise<ReadonlyMap<string, number>> {
  const { perMs, digits } = UNITS[unit];
  const medians = new Map<string, number>();
  for (const { name, result } of await steps.run()) {
    if (result.state !== "completed") throw new Error(name, { cause: result });
    medians.set(name, (result.latency.p50 * perMs) / batch);
  }
  const rows = [...medians].map(([name, value]) => [name, value.toFixed(digits)]);
  print(`\n${table([title, `median ${unit}`], rows)}`);
  return medians;
}
