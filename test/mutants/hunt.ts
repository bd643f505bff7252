/** A copy of the tree, in which one mistake at a time is made and looked for. */
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { type Mutant, patchOf } from "./mutants.ts";

/** Parts of the tree for build and tests; the packages are shared. */
const PARTS = ["engine", "persistence", "server", "bench", "test"];
const FILES = [
  "package.json",
  "tsconfig.json",
  "tsconfig.build.json",
  "vitest.config.ts",
  // The server reads them, and only `npm run build` makes them.
  "dist/pages",
  "dist/reference.js.gz",
  "dist/search.json.gz",
  "dist/server/console",
];
const PACKAGES = "node_modules";
const CONSOLE_TESTS = "test/server/console/";
const BUILD_CONSOLE = "dist/server/docs/build-console.js";
const OUTPUT_BYTES_MAX = 64 * 1_024 * 1_024;

export interface Hunted {
  /** Its finder; null when it was not found. */
  readonly by: string | null;
}

export class Tree {
  readonly folder = fs.mkdtempSync(path.join(os.tmpdir(), "frontrow-mutants-"));

  /** To be called in the root of the project. */
  constructor() {
    for (const name of [...PARTS, ...FILES]) {
      fs.cpSync(name, path.join(this.folder, name), { recursive: true });
    }
    fs.symlinkSync(path.resolve(PACKAGES), path.join(this.folder, PACKAGES));
  }

  remove(): void {
    fs.rmSync(this.folder, { recursive: true });
  }

  /** Makes the mistake, looks for it, and takes it back. @param seeds - At most. */
  hunt(mutant: Mutant, seeds: number): Hunted {
    const patch = path.resolve(patchOf(mutant));
    this.#must("git", "apply", patch);
    try {
      if (mutant.test !== null) return this.#test(mutant.test);
      return this.simulate(seeds, mutant.isOfCluster);
    } finally {
      this.#must("git", "apply", "--reverse", patch);
    }
  }

  /** Builds the tree as it is and runs seeds until one fails. */
  simulate(seeds: number, isOfCluster = false): Hunted {
    this.#build();
    const sim = ["dist/test/sim/command.js", "--quiet", "--seeds", String(seeds)];
    if (isOfCluster) sim.push("--cluster");
    const { status, stdout, stderr } = this.#run(process.execPath, ...sim);
    const found = /VIOLATION of (seed \d+: [^\n]{0,100})/.exec(stdout);
    if (found !== null) return { by: found[1]! };
    if (status === 0 || stdout.includes("never seen")) return { by: null };
    throw new Error(`the simulation ended with ${status}:\n${stdout}\n${stderr}`);
  }

  #test(file: string): Hunted {
    this.#build();
    // Without its page every test of the console would fail, and find everything.
    if (file.startsWith(CONSOLE_TESTS)) this.#must(process.execPath, BUILD_CONSOLE);
    const vitest = [`${PACKAGES}/vitest/vitest.mjs`, "run", file];
    const { status, stdout, stderr } = this.#run(process.execPath, ...vitest);
    if (status === 0) return { by: null };
    const found = /^ +× ([^\n]{0,100})/m.exec(stdout);
    if (found === null) throw new Error(`the tests ended with ${status}:\n${stdout}\n${stderr}`);
    return { by: `${file}: ${found[1]!}` };
  }

  /** A mistake may leave a name without a use; that alone must not find it. */
  #build(): void {
    const lenient = ["--noUnusedLocals", "false", "--noUnusedParameters", "false"];
    const compile = [`${PACKAGES}/typescript/bin/tsc`, "-p", "tsconfig.build.json", ...lenient];
    this.#must(process.execPath, ...compile);
  }

  #must(program: string, ...args: readonly string[]): void {
    const { status, stdout, stderr } = this.#run(program, ...args);
    if (status !== 0) throw new Error(`${program} ${args.join(" ")}\n${stdout}${stderr}`);
  }

  #run(program: string, ...args: readonly string[]) {
    const env = { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0" };
    const rest = { cwd: this.folder, encoding: "utf8", maxBuffer: OUTPUT_BYTES_MAX, env } as const;
    return spawnSync(program, args, rest);
  }
}
