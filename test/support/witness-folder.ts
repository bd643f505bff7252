/**
 * Where test workers note the answers that they saw, a file each, for the table of the contract.
 * Each run has a folder of its own, named to its workers through the environment.
 */
import { mkdtempSync } from "node:fs";
import os from "node:os";
import path from "node:path";

const VARIABLE = "FRONTROW_WITNESS";

/** To be called before the workers start. */
export function makeWitnessFolder(): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "frontrow-witness-"));
  process.env[VARIABLE] = folder;
  return folder;
}

/** Null when nobody asked for notes. */
export function witnessFolder(): string | null {
  return process.env[VARIABLE] ?? null;
}

/** One answer: `POST /path/{id}`, its status, the test that got it. */
export interface Witnessed {
  readonly row: string;
  readonly status: number;
  readonly test: string;
}
