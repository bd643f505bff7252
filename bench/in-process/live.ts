/** Runs one life of a store in a process of its own: `recovery-child.ts`. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Life, LifeReport } from "../recovery-child.ts";

const PROGRAM = fileURLToPath(new URL("../recovery-child.js", import.meta.url));

export async function live(life: Life): Promise<LifeReport> {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, JSON.stringify(life)]);
  return JSON.parse(stdout) as LifeReport;
}
