/**
 * Processor time from Linux's `/proc`. It shows what limited a round: the server, the generator, or
 * other processes. Other systems have no such figures.
 */
import { readdirSync, readFileSync } from "node:fs";

/** Linux reports hundredths of a second to programs, whatever the kernel's tick rate is. */
const TICKS_PER_SECOND = 100;
const PARENT_FIELD = 1;
const USER_FIELD = 11;
const SYSTEM_FIELD = 12;

export interface CpuTimes {
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
