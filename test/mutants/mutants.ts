/**
 * The seeded mistakes, one patch each, and who must find them: the simulation, or a test where a
 * mistake is above what the simulation sees.
 */
import { readdirSync } from "node:fs";

export interface Mutant {
  /** Of its patch, without the ending. */
  readonly name: string;
  /** The test file that finds it; null for the simulation. */
  readonly test: string | null;
}

export const PATCH_FOLDER = "test/mutants";
const SUFFIX = ".patch";

const FOUND_BY_TESTS: Readonly<Record<string, string>> = {
  "backup-trail-ahead-of-log": "test/persistence/copy-store.test.ts",
  "idempotency-key-without-query": "test/server/idempotency.test.ts",
  "kept-bytes-are-never-given-back": "test/server/exchanges.test.ts",
  "length-of-head-in-characters": "test/server/http.test.ts",
  "listing-by-old-price-names": "test/engine/seat-listing.test.ts",
  "lost-hold-is-not-counted": "test/server/onsale.test.ts",
  "name-of-a-backup-is-not-synced": "test/persistence/copy-store.test.ts",
  "one-wrong-password-too-many": "test/server/auth-http.test.ts",
  "orphan-livelock": "test/server/onsale.test.ts",
  "read-does-not-wait": "test/server/routes.test.ts",
  "refused-guesses-prolong-the-wait": "test/server/access.test.ts",
  "refused-logins-prolong-the-wait": "test/server/auth-http.test.ts",
  "repair-between-sequence-and-mark": "test/persistence/repair-anew.test.ts",
  "shapes-vanish-when-not-sent": "test/engine/merge-layout.test.ts",
  "tenants-share-idempotency-keys": "test/server/idempotency.test.ts",
};

/** In the order of their names. */
export function findMutants(): Mutant[] {
  return readdirSync(PATCH_FOLDER)
    .filter((name) => name.endsWith(SUFFIX))
    .map((name) => name.slice(0, -SUFFIX.length))
    .toSorted()
    .map((name) => ({ name, test: FOUND_BY_TESTS[name] ?? null }));
}

export function patchOf({ name }: Mutant): string {
  return `${PATCH_FOLDER}/${name}${SUFFIX}`;
}
