/** Compiles `shim.c` once, and shares a page of memory with a process. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { ROOT } from "../../support/server-process.ts";
import { missingPrograms } from "../../support/programs.ts";
import type { Scope } from "./scope.ts";

const SOURCE = path.join(ROOT, "test/faults/support/shim.c");
const PAGE_BYTES = 4_096;
/** Members of `struct control`, eight bytes each; a text follows. */
const MEMBERS = [
  "changes",
  "killAt",
  "isTorn",
  "syncs",
  "failSyncAt",
  "failedAtNs",
  "sent",
  "sentAfter",
  "endedAtNs",
  "delayUs",
  "clockMs",
] as const;
type Member = (typeof MEMBERS)[number];

const NS_PER_MS = 1e6;

export function missingShim(): string | null {
  return missingPrograms("gcc");
}

/** The shim of one process; `shim.c` explains each member. */
export class Shim {
  readonly env: Readonly<Record<string, string>>;
  readonly #file: number;

  /** @param folder - The data folder that is watched, by its absolute path. */
  constructor(scope: Scope, folder: string) {
    const control = path.join(scope.folder(), "control");
    this.#file = fs.openSync(control, "w+");
    fs.writeSync(this.#file, Buffer.alloc(PAGE_BYTES));
    scope.defer(() => fs.closeSync(this.#file));
    this.env = { LD_PRELOAD: library(), FAULTS_CONTROL: control, FAULTS_FOLDER: folder };
  }

  set(member: Member, value: number): this {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(value));
    fs.writeSync(this.#file, bytes, 0, 8, MEMBERS.indexOf(member) * 8);
    return this;
  }

  get(member: Member): number {
    return Number(this.#page().readBigInt64LE(MEMBERS.indexOf(member) * 8));
  }

  /** The call that the process died at. */
  get last(): string {
    const text = this.#page().subarray(MEMBERS.length * 8);
    return text.toString("utf8", 0, text.indexOf(0));
  }

  /** The time from the failed sync to the end of the process. */
  get endedAfterMs(): number {
    return (this.get("endedAtNs") - this.get("failedAtNs")) / NS_PER_MS;
  }

  #page(): Buffer {
    const page = Buffer.alloc(PAGE_BYTES);
    fs.readSync(this.#file, page, 0, PAGE_BYTES, 0);
    return page;
  }
}

let compiled: string | undefined;

function library(): string {
  return (compiled ??= compile());
}

/** The file is named after the source's hash, so that a changed source is compiled again. */
function compile(): string {
  const hash = createHash("sha256").update(fs.readFileSync(SOURCE)).digest("hex").slice(0, 16);
  const user = process.getuid?.() ?? 0;
  const target = path.join(os.tmpdir(), `frontrow-shim-${user}-${hash}.so`);
  if (fs.existsSync(target)) return target;
  const draft = `${target}.${process.pid}`;
  const args = ["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-o", draft, SOURCE, "-ldl"];
  const { status, stderr } = spawnSync("gcc", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`the shim does not compile:\n${stderr}`);
  fs.renameSync(draft, target);
  return target;
}
