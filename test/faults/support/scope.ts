/** Cleans up after a piece of work: folders, processes, mounts. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

/** A file system in memory: fast, and sufficient as long as only processes die. */
const MEMORY = "/dev/shm";

export class Scope {
  readonly #endings: (() => void | Promise<void>)[] = [];

  /** @param end - Runs at the end, the last one first. */
  defer(end: () => void | Promise<void>): void {
    this.#endings.push(end);
  }

  folder(): string {
    const root = fs.existsSync(MEMORY) ? MEMORY : os.tmpdir();
    const folder = fs.mkdtempSync(path.join(root, "frontrow-faults-"));
    this.defer(() => fs.rmSync(folder, { recursive: true, force: true }));
    return folder;
  }

  async end(): Promise<void> {
    for (const end of this.#endings.splice(0).toReversed()) await end();
  }
}

/** Runs `work`, whose scope ends with it. */
export async function scoped<T>(work: (scope: Scope) => Promise<T>): Promise<T> {
  const scope = new Scope();
  try {
    return await work(scope);
  } finally {
    await scope.end();
  }
}
