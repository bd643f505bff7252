/** Remembered replies: what makes a retry with the same `Idempotency-Key` safe. */
import type { ReplyRow } from "../catalog.ts";
import type { CommandOf } from "../commands.ts";
import { type Decision, grant } from "../results.ts";
import type { State } from "../state.ts";
import { catalogRecord } from "./catalog-record.ts";

const REPLY_LIFETIME_MS = 24 * 3_600_000;
/** Replies that ran out go as new ones come: more than one each, so they never pile up. */
const REMOVES_MAX = 4;

/** To be submitted in the same turn as what the reply answers: then both are in one frame. */
export function rememberReply(
  { catalog }: State,
  { caller, reply }: CommandOf<"rememberReply">,
  timeMs: number,
): Decision<ReplyRow> {
  const row = { ...reply, expiresAtMs: timeMs + REPLY_LIFETIME_MS };
  const ranOut: string[] = [];
  for (const [id, { expiresAtMs }] of catalog.replies) {
    if (expiresAtMs > timeMs || ranOut.length === REMOVES_MAX) break;
    ranOut.push(id);
  }
  // A key that is used again after its day goes first, so that it takes its place at the end.
  if (catalog.replies.has(reply.id) && !ranOut.includes(reply.id)) ranOut.push(reply.id);
  const removes = ranOut.map((key) => ({ table: "replies", key }) as const);
  const { nextId } = catalog;
  return grant(catalogRecord(caller, { nextId, removes, puts: [{ table: "replies", row }] }), row);
}
