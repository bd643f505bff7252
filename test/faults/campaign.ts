/** A campaign of faults: its name, its requirements, its figures and violations. */
import type { Scope } from "./support/scope.ts";

export interface Run {
  /** Minutes instead of seconds. */
  readonly isLong: boolean;
  /** The same seed makes the same plan. */
  readonly seed: number;
  readonly scope: Scope;
  /** Shows the progress. */
  readonly tell: (text: string) => void;
}

export interface Outcome {
  /** In the order in which they are printed. */
  readonly figures: Readonly<Record<string, string | number>>;
  /** One line each; empty if everything holds. */
  readonly violations: readonly string[];
}

export interface Campaign {
  readonly name: string;
  /** The property that it tests, in one line. */
  readonly shows: string;
  /** Only in the long form. */
  readonly isLongOnly?: boolean;
  /** @returns Why it cannot run here; null when it can. */
  readonly missing: () => string | null;
  /** @returns What it leaves out here, and why; null when it does everything. */
  readonly leavesOut?: () => string | null;
  readonly run: (run: Run) => Promise<Outcome>;
}

/** Runs tasks at most `width` at a time. */
export async function inLanes<T>(
  width: number,
  tasks: Iterable<T>,
  work: (task: T) => Promise<void>,
): Promise<void> {
  const waiting = tasks[Symbol.iterator]();
  const lane = async () => {
    for (let next = waiting.next(); next.done !== true; next = waiting.next()) {
      await work(next.value);
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
}

/** The median and the maximum, in milliseconds. */
export function spreadMs(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)] ?? NaN;
  return `${middle.toFixed(1)} ms, at most ${(sorted.at(-1) ?? NaN).toFixed(1)} ms`;
}
