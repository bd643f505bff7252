/** The on-sale that clients follow: locks and unlocks over HTTP, at a rate or flat out. */
import { measureIn, type Server } from "../harness/processes.ts";
import { Generator } from "../load/generator-process.ts";
import type { OpenMeasurement, OpenPlan } from "../load/open-loop.ts";
import type { EventOnSale, Target } from "../load/plan.ts";
import { readCpu, sharesBetween } from "../rounds/cpu.ts";

export interface Sale {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor seconds per second. */
  readonly generatorShare: number;
  /** The same of the server's busiest thread; null when unknown. */
  readonly serverShare: number | null;
}

export interface SalePlan {
  readonly target: Target;
  readonly event: EventOnSale;
  readonly connections: number;
  /** Locks and unlocks per second; 0 for as many as are answered. */
  readonly rate: number;
  readonly seconds: number;
}

export async function onSale({ pid }: Server, plan: SalePlan): Promise<Sale> {
  const before = readCpu([pid]);
  const sold = await (plan.rate > 0 ? sellAtRate(plan) : sellFlatOut(plan));
  const after = readCpu([pid]);
  if (before === null || after === null) return { ...sold, serverShare: null };
  const { busiestThread } = sharesBetween(before, after, { seconds: plan.seconds, generator: 0 });
  return { ...sold, serverShare: busiestThread };
}

async function sellAtRate({ rate, seconds, ...rest }: SalePlan) {
  const program = new URL("../load/open-loop.js", import.meta.url);
  const plan: OpenPlan = { ...rest, ratePerSecond: rate, durationMs: seconds * 1_000 };
  const measured = await measureIn<OpenMeasurement>(program, plan);
  const { goodPerSecond: perSecond, p50Ms, p99Ms, generatorShare } = measured;
  return { perSecond, p50Ms, p99Ms, generatorShare };
}

async function sellFlatOut({ target, event, connections, seconds }: SalePlan) {
  const generator = new Generator();
  const shape = { mix: "lock", connections, durationMs: seconds * 1_000, seed: 1 } as const;
  const measured = await generator.drive({ target, events: [event], ...shape });
  await generator.stop();
  const { requestsPerSecond: perSecond, latencyMs } = measured;
  const generatorShare = measured.cpuSeconds / measured.seconds;
  return { perSecond, p50Ms: latencyMs.p50, p99Ms: latencyMs.p99, generatorShare };
}
