/** Programs of the system that set up a fault. */
import { spawnSync } from "node:child_process";

/** @throws Error when the program fails. */
export function system(program: string, ...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(program, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${error?.message ?? stderr}`);
}
