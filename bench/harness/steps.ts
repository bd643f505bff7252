/** Repeats single steps with tinybench, and prints the median time of each. */
import { Bench } from "tinybench";
import { isTrial } from "./command.ts";
import { print, table } from "./table.ts";

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
