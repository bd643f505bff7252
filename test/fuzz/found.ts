/** Cases that a run has found: kept as files, and played by every test run. */
import fs from "node:fs";
import path from "node:path";
import type { Recipe } from "./recipe.ts";
import { ROOT as CHECKOUT } from "../support/server-process.ts";

const FOLDER = path.join(CHECKOUT, "test/fuzz/found");

export interface KeptCase {
  /** The fault, in a few words. */
  readonly found: string;
  readonly recipes: readonly Recipe[];
  /** Clients at once; 1 by default. */
  readonly crowd?: number;
}

export function keptCases(): KeptCase[] {
  const names = fs.readdirSync(FOLDER).filter((name) => name.endsWith(".json"));
  return names.map(
    (name) => JSON.parse(fs.readFileSync(path.join(FOLDER, name), "utf8")) as KeptCase,
  );
}

/** @returns The path of the file. */
export function keepCase(kept: KeptCase, seed: number): string {
  const file = path.join(FOLDER, `seed-${seed}.json`);
  fs.writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`);
  return file;
}
