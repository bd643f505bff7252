/** A memory limit of the kernel, as a container has: a cgroup below that of this process. */
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { onTestFinished } from "vitest";
import { missingRoot } from "./programs.ts";

const MOUNT = "/sys/fs/cgroup/memory";

/** The folder of this process's cgroup with control over memory; null where there is none. */
function ownCgroup(): string | null {
  const [, path] =
    /^\d+:(?:\w+,)*memory(?:,\w+)*:(.*)$/m.exec(readFileSync("/proc/self/cgroup", "utf8")) ?? [];
  return path === undefined ? null : MOUNT + path;
}

/** @returns Why the kernel does not limit a group of processes here; null if it does. */
export function missingCgroup(): string | null {
  if (missingRoot() !== null) return missingRoot();
  const own = ownCgroup();
  const missing = "needs the memory controller of cgroup v1, and the right to make a group";
  if (own === null) return missing;
  try {
    const probe = `${own}/frontrow-probe-${process.pid}`;
    mkdirSync(probe);
    rmdirSync(probe);
    return null;
  } catch {
    return missing;
  }
}

export interface LimitedGroup {
  /** Words before a command that make it a member. */
  readonly enter: readonly string[];
  /** Processes that the kernel has ended. */
  readonly killed: () => number;
}

/** Removed when the test ends, after its processes. @param bytes - Memory, and no swap. */
export function limitedGroup(bytes: number): LimitedGroup {
  const folder = `${ownCgroup()}/frontrow-test-${process.pid}-${performance.now()}`;
  mkdirSync(folder);
  onTestFinished(() => rmdirSync(folder));
  writeFileSync(`${folder}/memory.limit_in_bytes`, String(bytes));
  writeFileSync(`${folder}/memory.swappiness`, "0");
  const killed = () => {
    const text = readFileSync(`${folder}/memory.oom_control`, "utf8");
    return Number(/^oom_kill (\d+)$/m.exec(text)?.[1]);
  };
  return { enter: ["sh", "-c", `echo $$ > "${folder}/cgroup.procs" && exec "$@"`, "sh"], killed };
}
