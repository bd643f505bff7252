/** Measures in interleaved rounds; median and range of the values. */
import { readFileSync, writeFileSync } from "node:fs";
import { isTrial } from "./command.ts";

export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** @param values - At least one. */
export function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) throw new Error("there are no values");
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle]!;
  const median = sorted.length % 2 === 1 ? upper : (sorted[middle - 1]! + upper) / 2;
  return { median, low: sorted[0]!, high: sorted.at(-1)! };
}

export function medianOf(values: readonly number[]): number {
  return spreadOf(values).median;
}

/** Of two that were measured in the same rounds: the quotients of each round. */
export function quotientOf(values: readonly number[], bases: readonly number[]): Spread {
  return spreadOf(values.map((value, round) => value / bases[round]!));
}

/**
 * Measures each subject once per round, so that a change on the machine affects all of them. The
 * order alternates, so that nobody always follows the same neighbour.
 * @param subjects - Each measures once. Round 0 is the warm-up, whose values are dropped;
 *     a trial has none.
 * @returns The values of each subject.
 */
export async function interleave<Value>(
  subjects: readonly ((round: number) => Value | Promise<Value>)[],
  rounds: number,
  first = isTrial ? 1 : 0,
): Promise<Value[][]> {
  const values = subjects.map((): Value[] => []);
  const order = [...subjects.keys()];
  for (let round = first; round <= rounds; round++) {
    for (const i of round % 2 === 0 ? order : order.toReversed()) {
      const value = await subjects[i]!(round);
      if (round > 0) values[i]!.push(value);
    }
  }
  return values;
}

// Memory of another process, from Linux's `/proc`. Other systems have no such figures.

const KIB_PER_MIB = 1_024;

/** @param line - `VmRSS` for the memory now, `VmHWM` for the peak. @returns MiB, or null. */
export function memoryOf(pid: number, line: "VmRSS" | "VmHWM"): number | null {
  if (process.platform !== "linux") return null;
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  const kib = new RegExp(`^${line}:\\s+(\\d+)`, "m").exec(status)?.[1];
  return kib === undefined ? null : Number(kib) / KIB_PER_MIB;
}

/** The peak begins with the memory now. */
export function resetPeak(pid: number): void {
  if (process.platform === "linux") writeFileSync(`/proc/${pid}/clear_refs`, "5");
}
