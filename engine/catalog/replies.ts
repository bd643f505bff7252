/** Commands about stored replies, for safe retries with the same `Idempotency-Key`. */
import { assert } from "../assert.ts";
import { REPLY, REPLY_BUDGET } from "../bodies.ts";
import type { CatalogPut } from "../catalog.ts";
import { command } from "../command.ts";
import { grant } from "../results.ts";
import type { State } from "../state.ts";
import { BODY_IN_MEMORY_MAX, diskBytesOf, ownerOf, type ReplyRow } from "../stored-replies.ts";
import { grantChange } from "./owned.ts";

const REPLY_LIFETIME_MS = 24 * 3_600_000;
/** Expired replies removed by each new one, so they never pile up. */
const REMOVES_MAX = 4;
/** `forgetReplies` removes up to this many. */
const FORGOTTEN_MAX = 1_000;
assert(REMOVES_MAX > 1, "replies are removed faster than they come");

export const REPLY_COMMANDS = {
  /**
   * To be submitted in the same turn as the answered command: both share a frame. A body without
   * room in the budget is not kept, and older ones may be dropped for it.
   */
  rememberReply: command({
    isInternal: true,
    members: { reply: REPLY, budget: REPLY_BUDGET },
    refusals: [],
    decide(state, { caller, reply, budget }, timeMs) {
      const { replies, storedReplies } = state.catalog;
      const { id, layout, ...facts } = reply;
      const expired = expiredReplies(state, timeMs, REMOVES_MAX);
      // A key reused after a day is removed first, so its new row comes last.
      if (replies.has(id) && !expired.includes(id)) expired.push(id);
      assert(expired.length <= REMOVES_MAX + 1, "a reply costs a bounded number of removals");
      const length = reply.body?.length ?? 0;
      const isLong = length > BODY_IN_MEMORY_MAX;
      const dropped = isLong
        ? storedReplies.bodiesToDrop(ownerOf(id), diskBytesOf(length), budget)
        : [];
      const row: ReplyRow = {
        id,
        ...facts,
        body: dropped === null ? null : reply.body,
        ...(layout === undefined ? {} : { layout }),
        expiresAtMs: timeMs + REPLY_LIFETIME_MS,
      };
      const puts: CatalogPut[] = [];
      for (const old of dropped ?? []) {
        if (!expired.includes(old))
          puts.push({ table: "replies", row: withoutBody(replies.get(old)!) });
      }
      puts.push({ table: "replies", row });
      const removes = expired.map((key) => ({ table: "replies", key }) as const);
      return grantChange(state, caller, { removes, puts }, row);
    },
  }),

  /** Removes expired replies. Answers how many. */
  forgetReplies: command({
    isInternal: true,
    members: {},
    refusals: [],
    decide(state, { caller }, timeMs) {
      const expired = expiredReplies(state, timeMs, FORGOTTEN_MAX);
      if (expired.length === 0) return grant(null, 0);
      const removes = expired.map((key) => ({ table: "replies", key }) as const);
      return grantChange(state, caller, { removes }, expired.length);
    },
  }),
};

/** The oldest expired replies. Cost: O(countMax). */
function expiredReplies({ catalog }: State, timeMs: number, countMax: number): string[] {
  const expired: string[] = [];
  for (const [id, { expiresAtMs }] of catalog.replies) {
    if (expiresAtMs > timeMs || expired.length === countMax) break;
    expired.push(id);
  }
  return expired;
}

function withoutBody({ id, fingerprint, status, expiresAtMs }: ReplyRow): ReplyRow {
  return { id, fingerprint, status, body: null, expiresAtMs };
}
