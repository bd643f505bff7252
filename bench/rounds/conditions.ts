/** Under which conditions a figure was measured; it says little without them. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import os from "node:os";

export interface Conditions {
  readonly date: string;
  readonly commit: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly node: string;
  /** File system and device under the folders of the servers. */
  readonly disk: string;
}

/** @param folder - Where the servers keep their data. */
export function conditionsNow(folder: string): Conditions {
  const cpus = os.cpus();
  return {
    date: new Date().toISOString().slice(0, 16),
    commit: commit(),
    cpu: cpus[0]?.model ?? "unknown",
    cores: cpus.length,
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    kernel: `${os.type()} ${os.release()}`,
    node: process.version,
    disk: diskOf(folder),
  };
}

function commit(): string {
  const hash = output("git", ["rev-parse", "--short", "HEAD"]);
  const changed = output("git", ["status", "--porcelain", "--untracked-files=no"]);
  return changed === "" ? hash : `${hash}, changed`;
}

/** The mount whose path is the longest beginning of the folder's. */
function diskOf(folder: string): string {
  if (process.platform !== "linux") return "unknown";
  const mounts = readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" "))
    .filter(([, at = ""]) => folder === at || folder.startsWith(at === "/" ? at : `${at}/`))
    .sort(([, a = ""], [, b = ""]) => b.length - a.length);
  const [device = "unknown", , type = ""] = mounts[0] ?? [];
  return `${type} on ${device}`;
}

/** Empty when there is no such program or it failed. */
function output(program: string, args: readonly string[]): string {
  try {
    return execFileSync(program, args, {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  } catch {
    // A package without its repository still measures.
    return "";
  }
}
