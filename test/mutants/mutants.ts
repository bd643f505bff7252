/** The seeded mistakes: one patch each. */
import { readdirSync, readFileSync } from "node:fs";

export interface Mutant {
  /** Folder and name of its patch, without the ending: `log/no-chain-check`. */
  readonly name: string;
  /**
   * The test file that finds it, from the first line of the patch: `Found by test/….test.ts`. Null
   * for a mistake that the simulation finds.
   */
  readonly test: string | null;
}

export const PATCH_FOLDER = "test/mutants";
const SUFFIX = ".patch";

/** In the order of their names. */
export function findMutants(): Mutant[] {
  return readdirSync(PATCH_FOLDER, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(SUFFIX))
    .map((name) => name.slice(0, -SUFFIX.length))
    .toSorted()
    .map((name) => ({ name, test: testOf(name) }));
}

export function patchOf({ name }: Pick<Mutant, "name">): string {
  return `${PATCH_FOLDER}/${name}${SUFFIX}`;
}

function testOf(name: string): string | null {
  const [, test] = /^Found by (\S+)\n/.exec(readFileSync(patchOf({ name }), "utf8")) ?? [];
  return test ?? null;
}
