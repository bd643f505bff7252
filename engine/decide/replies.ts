/** Stored replies, which make a retry with the same `Idempotency-Key` safe. */
import { assert } from "../assert.ts";
import type { ReplyRow } from "../catalog.ts";
import type { Decision } from "../results.ts";
import type { ReplyBody } from "../shapes/bodies.ts";
import type { CommandWith } from "../shapes/caller.ts";
import type { State } from "../state.ts";
import { grantChange } from "./catalog-record.ts";

const REPLY_LIFETIME_MS = 24 * 3_600_000;
/** Each new reply removes up to this many expired ones, so that they never pile up. */
const REMOVES_MAX = 4;
assert(REMOVES_MAX > 1, "replies are removed faster than they come");

/** To be submitted in the same turn as the command that the reply answers: both share a frame. */
export function rememberReply(
  state: State,
  { caller, reply }: CommandWith<{ reply: ReplyBody }>,
  timeMs: number,
): Decision<ReplyRow> {
  const { replies } = state.catalog;
  const row = { ...reply, expiresAtMs: timeMs + REPLY_LIFETIME_MS };
  const expired: string[] = [];
  for (const [id, { expiresAtMs }] of replies) {
    if (expiresAtMs > timeMs || expired.length === REMOVES_MAX) break;
    expired.push(id);
  }
  // A key that is used again after a day is removed first, so that its new row comes last.
  if (replies.has(reply.id) && !expired.includes(reply.id)) expired.push(reply.id);
  assert(expired.length <= REMOVES_MAX + 1, "a reply costs a bounded number of removals");
  const removes = expired.map((key) => ({ table: "replies", key }) as const);
  return grantChange(state, caller, { removes, puts: [{ table: "replies", row }] }, row);
}
