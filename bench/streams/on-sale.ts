/**
 * The sale that clients follow, over HTTP. Flat out it is an on-sale as they happen: buyers lock
 * and buy every seat as fast as they are answered, until the event is sold out. Or seats are locked
 * and unlocked at a rate.
 */
import { measureIn, type Server } from "../harness/processes.ts";
import { Generator } from "../load/generator-process.ts";
import type { OpenMeasurement, OpenPlan } from "../load/open-loop.ts";
import type { EventOnSale, Target } from "../load/plan.ts";
import { readCpu, sharesBetween } from "../rounds/cpu.ts";

export interface Sale {
  readonly perSecond: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Seats of an on-sale that nobody has bought; null at a rate. */
  readonly unsold: number | null;
  /** Processor seconds per second. */
  readonly generatorShare: number;
  /** The same of the server's busiest thread; null when unknown. */
  readonly serverShare: number | null;
}

export interface SalePlan {
  readonly target: Target;
  readonly event: EventOnSale;
  readonly connections: number;
  /** Locks and unlocks per second; 0 for an on-sale flat out. */
  readonly rate: number;
  /** Of locks and unlocks at a rate. */
  readonly seconds: number;
}

export async function onSale({ pid }: Server, plan: SalePlan): Promise<Sale> {
  const before = readCpu([pid]);
  const sold = await (plan.rate > 0 ? sellAtRate(plan) : sellOut(plan));
  const after = readCpu([pid]);
  if (before === null || after === null) return { ...sold, serverShare: null };
  const { busiestThread } = sharesBetween(before, after, { seconds: sold.seconds, generator: 0 });
  return { ...sold, serverShare: busiestThread };
}

async function sellAtRate({ rate, seconds, ...rest }: SalePlan) {
  const program = new URL("../load/open-loop.js", import.meta.url);
  const plan: OpenPlan = { ...rest, ratePerSecond: rate, durationMs: seconds * 1_000 };
  const measured = await measureIn<OpenMeasurement>(program, plan);
  const { goodPerSecond: perSecond, p50Ms, p99Ms, generatorShare } = measured;
  return { perSecond, seconds, p50Ms, p99Ms, unsold: null, generatorShare };
}

async function sellOut({ target, event, connections }: SalePlan) {
  const generator = new Generator();
  const shape = { mix: "on-sale", connections, durationMs: 0, seed: 1 } as const;
  const measured = await generator.drive({ target, events: [event], ...shape });
  await generator.stop();
  const { requestsPerSecond: perSecond, seconds, latencyMs, cpuSeconds } = measured;
  const { p50: p50Ms, p99: p99Ms } = latencyMs;
  const unsold = event.seatIds.length - 2 * new Set(measured.soldPairs).size;
  return { perSecond, seconds, p50Ms, p99Ms, unsold, generatorShare: cpuSeconds / seconds };
}
