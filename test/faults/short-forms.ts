/** The short forms of campaigns as tests. A title names the reason if one is skipped. */
import { randomInt } from "node:crypto";
import { expect, test } from "vitest";
import type { Campaign } from "./campaign.ts";
import { describeUnless } from "../support/programs.ts";
import { scoped } from "./support/scope.ts";

const SEED_MAX = 1_000_000;
/** A limit for a busy machine; idle, each takes seconds. */
const MS_MAX = 600_000;

export function testShortForms(campaigns: readonly Campaign[]): void {
  for (const campaign of campaigns) {
    if (campaign.isLongOnly === true) continue;
    const seed = Number(process.env["FRONTROW_FAULTS_SEED"] ?? randomInt(SEED_MAX));
    describeUnless(campaign.missing(), campaign.name, () => {
      const more = leftOut(campaign);
      test(`seed ${seed}: ${campaign.shows}${more}`, { timeout: MS_MAX }, async () => {
        const plan = { isLong: false, seed, tell: () => {} };
        const { violations } = await scoped((scope) => campaign.run({ ...plan, scope }));
        expect(violations).toEqual([]);
      });
    });
  }
}

function leftOut({ leavesOut }: Campaign): string {
  const what = leavesOut?.() ?? null;
  return what === null ? "" : ` (left out: ${what})`;
}
