/** Compares figures with their goals, prints them, and writes the result files. */
import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { type Conditions, conditionsNow } from "./conditions.ts";
import type { Spread } from "./measure.ts";
import { print, table } from "./table.ts";

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
  readonly conditions: Conditions;
}

/** @param value - A single figure, or the median of several rounds and their range. */
export function verdict(figure: string, bound: Bound, value: number | Spread | null): Verdict {
  if (value === null || typeof value === "number") return { figure, ...bound, value };
  return { figure, ...bound, value: value.median, low: value.low, high: value.high };
}

export function verdictTable(verdicts: readonly Verdict[]): string {
  return table(["figure", "goal", "median", "range", ""], verdicts.map(cellsOf));
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

/** Experiments write to another folder, to keep the committed results. */
const FOLDER = process.env["BENCH_RESULTS"] ?? "bench/results";

/** Prints the verdicts, and replaces the benchmark's result file. */
export async function report(name: string, dataFolder: string, findings: Findings): Promise<void> {
  print(`\n${verdictTable(findings.verdicts)}`);
  await writeResult(name, { conditions: await conditionsNow(dataFolder), ...findings });
}

export async function writeResult(name: string, result: Result): Promise<void> {
  await writeResultFile(`${name}.json`, `${JSON.stringify(result, null, 1)}\n`);
}

export async function writeResultFile(name: string, text: string): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  const file = path.join(FOLDER, name);
  await writeFile(file, text);
  print(`written: ${file}\n`);
}

/** @returns The last result of that name; null when there is none. */
export function readResult(name: string): Result | null {
  const file = path.join(FOLDER, `${name}.json`);
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Result) : null;
}
