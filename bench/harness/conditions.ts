/** The conditions of a measurement: a figure says little without them. */
import os from "node:os";
import { run } from "./processes.ts";

export interface Conditions {
  readonly date: string;
  readonly commit: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly node: string;
  /** File system and device of the data folders. */
  readonly disk: string;
}

/** @param folder - Where the servers keep their data. */
export async function conditionsNow(folder: string): Promise<Conditions> {
  const cpus = os.cpus();
  return {
    date: new Date().toISOString().slice(0, 16),
    commit: await commit(),
    cpu: cpus[0]?.model ?? "unknown",
    cores: cpus.length,
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    kernel: `${os.type()} ${os.release()}`,
    node: process.version,
    disk: await diskOf(folder),
  };
}

async function commit(): Promise<string> {
  const hash = await outputOf("git", ["rev-parse", "--short", "HEAD"]);
  const changes = await outputOf("git", ["status", "--porcelain", "--untracked-files=no"]);
  return changes === "" ? hash : `${hash}, changed`;
}

async function diskOf(folder: string): Promise<string> {
  const output = await outputOf("df", ["--output=fstype,source", folder]);
  const [type = "unknown", device = "unknown"] = output.split("\n").at(-1)!.trim().split(/\s+/);
  return `${type} on ${device}`;
}

/** Empty when the program fails or is not installed: the benchmark can still measure. */
async function outputOf(program: string, args: readonly string[]): Promise<string> {
  return run(program, args).catch(() => "");
}
