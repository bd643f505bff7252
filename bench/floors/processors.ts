/**
 * How much work the processors do together. Virtual machines may count two threads of one core as
 * two processors; what runs beside the engine's thread then slows it down.
 */
import os from "node:os";
import { measureIn } from "../harness/processes.ts";

const PROGRAM = new URL("./busy-work.js", import.meta.url);

export interface Processors {
  /** As the operating system counts them. */
  readonly count: number;
  /** The work of as many busy processes at once ÷ the work of one alone; at best `count`. */
  readonly together: number;
}

export async function measureProcessors(durationMs: number): Promise<Processors> {
  const work = () => measureIn<number>(PROGRAM, { durationMs });
  const count = os.availableParallelism();
  const alone = await work();
  const rates = await Promise.all(Array.from({ length: count }, work));
  return { count, together: rates.reduce((sum, rate) => sum + rate, 0) / alone };
}

export function describeProcessors({ count, together }: Processors): string {
  return `${count} processors do ${together.toFixed(2)} times the work of one`;
}
