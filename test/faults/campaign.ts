/** A campaign of faults: its name, its requirements, its figures and violations. */
import { spawnSync } from "node:child_process";
import type { Scope } from "./support/scope.ts";

export interface Run {
  /** Minutes instead of seconds. */
  readonly isLong: boolean;
  /** The same seed makes the same plan. */
  readonly seed: number;
  readonly scope: Scope;
  /** Shows the progress. */
  readonly tell: (text: string) => void;
}

export interface Outcome {
  /** In the order in which they are printed. */
  readonly figures: Readonly<Record<string, string | number>>;
  /** One line each; empty if everything holds. */
  readonly violations: readonly string[];
}

export interface Campaign {
  readonly name: string;
  /** The property that it tests, in one line. */
  readonly shows: string;
  /** Only in the long form. */
  readonly isLongOnly?: boolean;
  /** @returns Why it cannot run here; null when it can. */
  readonly missing: () => string | null;
  /** @returns What it leaves out here, and why; null when it does everything. */
  readonly leavesOut?: () => string | null;
  readonly run: (run: Run) => Promise<Outcome>;
}

/** The Debian package of each program. */
const PACKAGES: Readonly<Record<string, string>> = {
  etcd: "etcd-server",
  gcc: "gcc",
  ip: "iproute2",
  losetup: "mount",
  "mkfs.ext4": "e2fsprogs",
  mount: "mount",
  nginx: "nginx-light",
  nsenter: "util-linux",
  prlimit: "util-linux",
  "systemd-analyze": "systemd",
};

/** @returns Why the programs cannot be used; null if all exist. */
export function missingPrograms(...names: readonly string[]): string | null {
  if (process.platform !== "linux") return "needs Linux";
  const isThere = (name: string) => spawnSync("which", [name]).status === 0;
  const gone = names.filter((name) => !isThere(name));
  if (gone.length === 0) return null;
  const packages = gone.map((name) => PACKAGES[name] ?? name);
  return `needs ${gone.join(", ")} (Debian: apt-get install ${packages.join(" ")})`;
}

export function missingRoot(): string | null {
  return process.getuid?.() === 0 ? null : "needs root, to mount";
}

/** Runs tasks at most `width` at a time. */
export async function inLanes<T>(
  width: number,
  tasks: Iterable<T>,
  work: (task: T) => Promise<void>,
): Promise<void> {
  const waiting = tasks[Symbol.iterator]();
  const lane = async () => {
    for (let next = waiting.next(); next.done !== true; next = waiting.next()) {
      await work(next.value);
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
}

/** The median and the maximum, in milliseconds. */
export function spreadMs(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)] ?? NaN;
  return `${middle.toFixed(1)} ms, at most ${(sorted.at(-1) ?? NaN).toFixed(1)} ms`;
}
