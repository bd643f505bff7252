/** What is measured side by side: each is started by the suite, on a port and folder of its own. */
import type { Hall, Mix, Target } from "../load/plan.ts";

export interface Contender {
  readonly name: string;
  readonly mixes: readonly Mix[];
  /** @returns What is missing on this machine and how to get it; null when it can start. */
  missing(): string | null;
  /** @param folder - Empty, and the contender's own. */
  start(folder: string): Promise<Running>;
}

export interface Running {
  readonly target: Target;
  /** Of the processes that were started; their children count with them. */
  readonly pids: readonly number[];
  /** A new event with every seat free. @param seatCount - A multiple of 100. */
  openHall(seatCount: number): Promise<Hall>;
  /** Looks at every seat. @returns What does not match; null when the outcome is right. */
  findFault(hall: Hall, expected: "free" | "sold"): Promise<string | null>;
  /** Settles when what it puts off until it is left alone is done. */
  readonly rest?: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** @param counts - Seats by state. @returns What does not match; null when all are as expected. */
export function countsFault(
  { seatIds }: Hall,
  expected: string,
  counts: ReadonlyMap<string, number>,
): string | null {
  if (counts.size === 1 && counts.get(expected) === seatIds.length) return null;
  return `not all ${seatIds.length} seats are ${expected}: ${JSON.stringify([...counts])}`;
}
