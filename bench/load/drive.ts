/** Two-seat locks over HTTP or command sockets, and the processor time of each. */
import { readCpu } from "../harness/measure.ts";
import { Generator } from "./generator-process.ts";
import type { Missed, Plan } from "./plan.ts";

export interface Driven {
  /** Of the open loop: granted ones. */
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly done: number;
  readonly refused: number;
  readonly missed: Missed;
  /** Processor seconds of the generator per second; near 1, the generator is the limit. */
  readonly generatorShare: number;
}

/** Microseconds of processor time for a request. */
export interface Cost {
  /** Of the main thread of the first process; NaN when unknown. */
  readonly thread: number;
  /** Of all threads and processes; NaN when unknown. */
  readonly all: number;
}

export type Shape = Omit<Plan, "mix" | "seed">;

/** @throws Error when a connection is lost, or a seat is refused to its own buyer. */
export async function overHttp(generator: Generator, shape: Shape): Promise<Driven> {
  const driven = await generator.drive({ ...shape, mix: "lock", seed: 1 });
  const { seconds, latencyMs, done, refused, missed, cpuSeconds } = driven;
  if (refused > 0) throw new Error(`${refused} requests for a buyer's own seats were refused`);
  return {
    perSecond: done / seconds,
    p50Ms: latencyMs.p50,
    p99Ms: latencyMs.p99,
    done,
    refused,
    missed,
    generatorShare: cpuSeconds / seconds,
  };
}

/** Over command sockets, or those of Redis, with a generator of its own. */
export async function overSocket(shape: Shape & { readonly inFlight: number }): Promise<Driven> {
  const generator = new Generator();
  const { target } = shape;
  const protocol = target.protocol === "http" ? "binary" : target.protocol;
  const driven = await overHttp(generator, { ...shape, target: { ...target, protocol } });
  await generator.stop();
  return driven;
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
