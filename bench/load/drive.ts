/** Two-seat locks over HTTP or command sockets, and the processor time of each. */
import { measureIn } from "../harness/processes.ts";
import { readCpu } from "../harness/measure.ts";
import type { Generator } from "./generator-process.ts";
import type { PipelinedMeasurement, PipelinedPlan } from "./pipelined-wire.ts";
import type { EventOnSale, Target } from "./plan.ts";

export interface Driven {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly done: number;
}

/** Microseconds of processor time for a request. */
export interface Cost {
  /** Of the main thread of the first process; NaN when unknown. */
  readonly thread: number;
  /** Of all threads and processes; NaN when unknown. */
  readonly all: number;
}

interface Shape {
  readonly target: Target;
  readonly event: EventOnSale;
  readonly connections: number;
  readonly durationMs: number;
}

export async function overHttp(generator: Generator, shape: Shape): Promise<Driven> {
  const { event, ...rest } = shape;
  const plan = { ...rest, events: [event], mix: "lock", seed: 1 } as const;
  const { requestsPerSecond: perSecond, latencyMs, done } = await generator.drive(plan);
  return { perSecond, p50Ms: latencyMs.p50, p99Ms: latencyMs.p99, done };
}

export function pipelined(plan: PipelinedPlan): Promise<PipelinedMeasurement> {
  return measureIn(new URL("./pipelined.js", import.meta.url), plan);
}

export async function overSocket(shape: Shape & { readonly inFlight: number }): Promise<Driven> {
  const { commandsPerSecond, p50Ms, p99Ms } = await pipelined({ ...shape, protocol: "binary" });
  const done = (commandsPerSecond * shape.durationMs) / 1_000;
  return { perSecond: commandsPerSecond, p50Ms, p99Ms, done };
}

/** @param processes - By name; the first of each is the one whose main thread is measured. */
export async function withCosts<Name extends string>(
  processes: Readonly<Record<Name, readonly number[]>>,
  act: () => Promise<Driven>,
): Promise<Driven & { readonly micros: Readonly<Record<Name, Cost>> }> {
  const all = Object.entries(processes) as [Name, readonly number[]][];
  const read = () => all.map(([, pids]) => readCpu(pids));
  const before = read();
  const driven = await act();
  const after = read();
  const costs = all.map(([name, [main]], i): [Name, Cost] => {
    const micros = (pick: (cpu: NonNullable<(typeof before)[0]>) => number) => {
      const [first, last] = [before[i], after[i]];
      if (first == null || last == null) return NaN;
      return ((pick(last) - pick(first)) * 1e6) / driven.done;
    };
    const thread = micros(({ threads }) => threads.get(main!) ?? NaN);
    return [name, { thread, all: micros(({ server }) => server) }];
  });
  return { ...driven, micros: Object.fromEntries(costs) as Record<Name, Cost> };
}
