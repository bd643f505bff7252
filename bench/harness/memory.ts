/** Memory of another process, from Linux's `/proc`. Other systems have no such figures. */
import { readFileSync, writeFileSync } from "node:fs";

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
