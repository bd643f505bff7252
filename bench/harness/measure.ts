/** Measures in interleaved rounds; median and range of the values. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
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

/** @param share - Below 1. @returns The value of that rank; undefined of none. */
export function quantileOf(values: readonly number[], share: number): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)];
}

/** The quotients of each round, for two subjects measured in the same rounds. */
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

// Processor time from Linux's `/proc`. It shows what limited a round: the server, the generator, or
// other processes. Other systems have no such figures.

/** Linux reports hundredths of a second to programs, whatever the kernel's tick rate is. */
const TICKS_PER_SECOND = 100;
const PARENT_FIELD = 1;
const USER_FIELD = 11;
const SYSTEM_FIELD = 12;

interface CpuTimes {
  /** Seconds of the measured processes and their children. */
  readonly server: number;
  /** Seconds of each of their threads; the busiest one reaches its limit first. */
  readonly threads: ReadonlyMap<number, number>;
  /** Seconds that the processors of the machine were busy. */
  readonly machine: number;
}

/** Processor seconds per second of time, between two readings. */
export interface CpuShares {
  readonly server: number;
  readonly busiestThread: number;
  /** Of all processes but the server and the generator. */
  readonly others: number;
}

/** @returns null where there is no `/proc`. */
export function readCpu(pids: readonly number[]): CpuTimes | null {
  if (process.platform !== "linux") return null;
  const threads = new Map<number, number>();
  for (const pid of withDescendants(pids)) {
    for (const thread of numbersIn(`/proc/${pid}/task`)) {
      const fields = statOf(`/proc/${pid}/task/${thread}`);
      const ticks = Number(fields[USER_FIELD] ?? 0) + Number(fields[SYSTEM_FIELD] ?? 0);
      threads.set(thread, ticks / TICKS_PER_SECOND);
    }
  }
  const server = [...threads.values()].reduce((sum, seconds) => sum + seconds, 0);
  return { server, threads, machine: machineSeconds() };
}

function withDescendants(pids: readonly number[]): number[] {
  const all = numbersIn("/proc").map((pid) => ({
    pid,
    parent: Number(statOf(`/proc/${pid}`)[PARENT_FIELD]),
  }));
  const found = [...pids];
  for (const pid of found) {
    found.push(...all.filter(({ parent }) => parent === pid).map((child) => child.pid));
  }
  return found;
}

/** The names in a folder that are numbers; none when the process has ended. */
function numbersIn(folder: string): number[] {
  try {
    return readdirSync(folder).map(Number).filter(Number.isInteger);
  } catch {
    // The process has ended since it was listed.
    return [];
  }
}

/** The fields after the name, which is in parentheses and may contain anything. */
function statOf(folder: string): string[] {
  try {
    const text = readFileSync(`${folder}/stat`, "latin1");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    // As above.
    return [];
  }
}

export function sharesBetween(
  before: CpuTimes,
  after: CpuTimes,
  { seconds, generator }: { readonly seconds: number; readonly generator: number },
): CpuShares {
  const perThread = [...after.threads].map(
    ([thread, busy]) => busy - (before.threads.get(thread) ?? 0),
  );
  const server = after.server - before.server;
  const machine = after.machine - before.machine;
  return {
    server: server / seconds,
    busiestThread: Math.max(0, ...perThread) / seconds,
    others: Math.max(0, machine - server - generator) / seconds,
  };
}

/** User, nice, system and interrupts: everything but idle and waiting. */
function machineSeconds(): number {
  const [line = ""] = readFileSync("/proc/stat", "latin1").split("\n");
  const [, user, nice, system, , , interrupt, softInterrupt] = line.split(/\s+/).map(Number);
  return (user! + nice! + system! + interrupt! + softInterrupt!) / TICKS_PER_SECOND;
}

/** Servers are idle when all together have used at most this share of a processor. */
const IDLE = { shareMax: 0.05, seconds: isTrial ? 0 : 0.25, triesMax: 80 };

/** Work that one server does when it is idle must not slow the round of another. */
export async function waitUntilIdle(pids: readonly number[]): Promise<void> {
  for (let tries = 0; tries < IDLE.triesMax; tries++) {
    const before = readCpu(pids);
    await setTimeout(IDLE.seconds * 1_000);
    const after = readCpu(pids);
    if (before === null || after === null) return;
    if (after.server - before.server <= IDLE.shareMax * IDLE.seconds) return;
  }
}
