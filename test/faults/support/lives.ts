/** Lives of a store in processes of their own, and the history with the state each must leave. */
import type { ChildProcess } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { serialize } from "node:v8";
import { History } from "../../support/store.ts";
import { collect, type Exit, exitOf, ROOT, spawnNode } from "../../support/server-process.ts";
import type { LifeOptions } from "../life.ts";
import { hasStoreFile, readFolder } from "./folder-state.ts";
import type { Scope } from "./scope.ts";

const PROGRAM = path.join(ROOT, "dist/test/faults/life.js");
const LIFE_MS_MAX = 300_000;

export const SMALL_SEGMENT_BYTES = 16 * 1024;

/** A history whose records are in a file, for the program of a life. */
export class FiledHistory extends History {
  readonly file: string;

  constructor(scope: Scope, seed: number, recordCount: number) {
    super(seed, recordCount);
    this.file = path.join(scope.folder(), "records");
    fs.writeFileSync(this.file, serialize(this.records));
  }

  get length(): number {
    return this.records.length;
  }
}

export interface LifePlan extends Partial<Omit<LifeOptions, "folder" | "records">> {
  readonly folder: string;
  readonly until: number;
  /** Of the shim. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A life under way. */
export class Life {
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;
  readonly #output: { stdout: string; stderr: string };

  constructor(scope: Scope, history: FiledHistory, { env = {}, ...plan }: LifePlan) {
    const options: LifeOptions = {
      records: history.file,
      segmentBytes: SMALL_SEGMENT_BYTES,
      snapshotBytes: 2 * SMALL_SEGMENT_BYTES,
      snapshotRecords: null,
      batchRecords: 5,
      stays: false,
      ...plan,
    };
    this.#child = spawnNode(PROGRAM, { args: [JSON.stringify(options)], env });
    this.#output = collect(this.#child);
    this.exited = exitOf(this.#child);
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), LIFE_MS_MAX);
    void this.exited.then(() => clearTimeout(timer));
    scope.defer(() => void this.#child.kill("SIGKILL"));
  }

  /** Its output so far. */
  get lines(): readonly string[] {
    return this.#output.stdout.split("\n").slice(0, -1);
  }

  get stderr(): string {
    return this.#output.stderr;
  }

  /** Up to where it said that everything is on disk; 0 for nothing. */
  get acknowledged(): number {
    const said = this.lines.findLast((line) => /^(recovered|durable) /.test(line));
    return Number(said?.split(" ")[1] ?? 0);
  }

  kill(signal: NodeJS.Signals): Promise<Exit> {
    this.#child.kill(signal);
    return this.exited;
  }
}

/** @returns What is wrong with what a life left behind; null when nothing is. */
export function faultOf(
  folder: string,
  history: FiledHistory,
  acknowledged: number,
): string | null {
  if (!hasStoreFile(folder)) {
    return acknowledged === 0 ? null : `${acknowledged} records were acknowledged, and no store`;
  }
  try {
    const found = readFolder(folder);
    if (found.sequence < acknowledged) {
      return `${acknowledged} records were acknowledged, ${found.sequence} are there`;
    }
    if (found.passedOver.length > 0) return found.passedOver.join("; ");
    const isWhole = found.digest === history.digestAt(found.sequence);
    return isWhole ? null : `another state than after record ${found.sequence}`;
  } catch (error) {
    return String(error);
  }
}
