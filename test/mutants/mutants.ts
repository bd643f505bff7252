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
  /** The simulation of a cluster finds it: the first line of the patch is `Found by --cluster`. */
  readonly isOfCluster: boolean;
}

export const PATCH_FOLDER = "test/mutants";
const SUFFIX = ".patch";
const CLUSTER = "--cluster";

/** In the order of their names. */
export function findMutants(): Mutant[] {
  return readdirSync(PATCH_FOLDER, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(SUFFIX))
    .map((name) => name.slice(0, -SUFFIX.length))
    .toSorted()
    .map((name) => {
      const finder = finderOf(name);
      const isOfCluster = finder === CLUSTER;
      return { name, isOfCluster, test: isOfCluster ? null : finder };
    });
}

export function patchOf({ name }: Pick<Mutant, "name">): string {
  return `${PATCH_FOLDER}/${name}${SUFFIX}`;
}

function finderOf(name: string): string | null {
  const [, finder] = /^Found by (\S+)\n/.exec(readFileSync(patchOf({ name }), "utf8")) ?? [];
  return finder ?? null;
}
