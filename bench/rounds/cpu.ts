/**
 * Processor time from Linux's `/proc`, to show who was at its limit: the server, the generator, or
 * a stranger. Elsewhere nothing is known and nothing is said.
 */
import { readdirSync, readFileSync } from "node:fs";

/** Linux counts in hundredths of a second towards programs, whatever the kernel's own tick. */
const TICKS_PER_SECOND = 100;
const PARENT_FIELD = 1;
const USER_FIELD = 11;
const SYSTEM_FIELD = 12;

export interface CpuTimes {
  /** Seconds of the measured processes and all their children. */
  readonly server: number;
  /** Seconds of the busiest of their threads, the one that comes to its limit first. */
  readonly threads: ReadonlyMap<number, number>;
  /** Seconds that all processors of the machine were busy. */
  readonly machine: number;
}

/** @returns null where there is no `/proc`. */
export function readCpu(pids: readonly number[]): CpuTimes | null {
  if (process.platform !== "linux") return null;
  const tree = treeOf(pids);
  const threads = new Map(tree.flatMap(threadSeconds));
  const server = [...threads.values()].reduce((sum, seconds) => sum + seconds, 0);
  return { server, threads, machine: machineSeconds() };
}

/** Processor seconds between two readings, a second of time being 1. */
export interface CpuShares {
  readonly server: number;
  readonly busiestThread: number;
  /** Of others than server and generator. */
  readonly strangers: number;
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
    strangers: Math.max(0, machine - server - generator) / seconds,
  };
}

function treeOf(roots: readonly number[]): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    const parent = Number(statOf(`/proc/${name}/stat`)[PARENT_FIELD] ?? 0);
    if (parent > 0) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const tree = [...roots];
  for (const pid of tree) tree.push(...(children.get(pid) ?? []));
  return tree;
}

function threadSeconds(pid: number): [number, number][] {
  return namesIn(`/proc/${pid}/task`).map((thread) => {
    const fields = statOf(`/proc/${pid}/task/${thread}/stat`);
    const ticks = Number(fields[USER_FIELD] ?? 0) + Number(fields[SYSTEM_FIELD] ?? 0);
    return [Number(thread), ticks / TICKS_PER_SECOND];
  });
}

/** The fields after the name, which is in parentheses and may hold anything. */
function statOf(path: string): string[] {
  try {
    const text = readFileSync(path, "latin1");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    // Processes end while they are listed.
    return [];
  }
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    // As above.
    return [];
  }
}

/** User, nice, system, interrupts: all but idle and waiting. */
function machineSeconds(): number {
  const [line = ""] = readFileSync("/proc/stat", "latin1").split("\n");
  const [, user, nice, system, , , interrupt, softInterrupt] = line.split(/\s+/).map(Number);
  return (user! + nice! + system! + interrupt! + softInterrupt!) / TICKS_PER_SECOND;
}
