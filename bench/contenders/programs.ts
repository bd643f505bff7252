/** Programs of Debian's packages: where they are, and as whom they may run. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";

/** @returns The path; null when it is not there. */
export function programInPath(name: string): string | null {
  const folders = (process.env["PATH"] ?? "").split(path.delimiter);
  return folders.map((folder) => path.join(folder, name)).find((file) => existsSync(file)) ?? null;
}

const POSTGRES_FOLDER = "/usr/lib/postgresql";

/** @returns The folder of the newest version's programs; null when there is none. */
export function postgresPrograms(): string | null {
  if (!existsSync(POSTGRES_FOLDER)) return null;
  const versions = readdirSync(POSTGRES_FOLDER)
    .map(Number)
    .sort((a, b) => b - a);
  const bins = versions.map((version) => path.join(POSTGRES_FOLDER, String(version), "bin"));
  return bins.find((bin) => existsSync(path.join(bin, "initdb"))) ?? null;
}

export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL does not run as root; its package brings a user. @returns null to stay as we are. */
export function postgresUser(): User | null {
  if (process.getuid?.() !== 0) return null;
  const id = (flag: string) =>
    Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }).trim());
  return { uid: id("-u"), gid: id("-g") };
}
