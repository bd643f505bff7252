/**
 * The folder of the answers seen by each test worker, for the contract table.
 * Each run has its own folder, and passes it to its workers in the environment.
 */
import { mkdtempSync } from "node:fs";
import os from "node:os";
import path from "node:path";

const VARIABLE = "FRONTROW_WITNESS";
/** The documented error codes, in the folder. */
export const LISTED_FILE = "listed.json";

/** Must be called before the workers start. */
export function makeWitnessFolder(): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "frontrow-witness-"));
  process.env[VARIABLE] = folder;
  return folder;
}

/** Null when no answers are to be recorded. */
export function witnessFolder(): string | null {
  return process.env[VARIABLE] ?? null;
}

/** An answer, and the test. */
export interface Witnessed {
  /** `POST /path/{id}`. */
  readonly row: string;
  readonly status: number;
  /** Error codes: `POST /path CODE`, `CODE FIELD_CODE`, `POST /path CODE FIELD_CODE`. */
  readonly codes: readonly string[];
  readonly test: string;
}
