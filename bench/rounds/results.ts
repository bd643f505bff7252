/** What was measured against what is to be reached: printed, and kept with its conditions. */
import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Conditions } from "./conditions.ts";
import type { Spread } from "./statistics.ts";
import { table } from "./table.ts";

/** One of the two. */
export interface Bound {
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** A figure beside its goal. */
export interface Verdict extends Bound {
  readonly figure: string;
  /** null when it was not measured. */
  readonly value: number | null;
  readonly low?: number;
  readonly high?: number;
}

export interface Result {
  readonly conditions: Conditions;
  readonly verdicts: readonly Verdict[];
  /** What was measured, in the command's own form. */
  readonly [detail: string]: unknown;
}

/** @param value - A single figure, or the median of rounds with their extremes. */
export function verdict(figure: string, bound: Bound, value: number | Spread | null): Verdict {
  if (value === null || typeof value === "number") return { figure, ...bound, value };
  return { figure, ...bound, value: value.median, low: value.low, high: value.high };
}

export function verdictTable(verdicts: readonly Verdict[]): string {
  return table(["what it must show", "goal", "median", "rounds", ""], verdicts.map(cellsOf));
}

function cellsOf({ figure, atLeast, atMost, value, low, high }: Verdict): string[] {
  const goal = atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`;
  if (value === null) return [figure, goal, "not measured", "", ""];
  const isReached = value >= (atLeast ?? -Infinity) && value <= (atMost ?? Infinity);
  const rounds = low === undefined || high === undefined ? "" : `${short(low)}-${short(high)}`;
  return [figure, goal, short(value), rounds, isReached ? "reached" : "not reached"];
}

function short(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(2);
}

/** Other than from the repository, so that a try does not replace what was measured in earnest. */
const FOLDER = process.env["BENCH_RESULTS"] ?? "bench/results";

/** @param name - Of the file; the last result of the name is replaced. */
export async function keepResult(name: string, result: Result): Promise<void> {
  await keepFile(`${name}.json`, `${JSON.stringify(result, null, 1)}\n`);
}

export async function keepFile(name: string, text: string): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  const file = path.join(FOLDER, name);
  await writeFile(file, text);
  print(`written: ${file}\n`);
}

/** @returns The last result of the name; null when there is none. */
export function keptResult(name: string): Result | null {
  const file = path.join(FOLDER, `${name}.json`);
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Result) : null;
}

export function print(text: string): void {
  process.stdout.write(text);
}
