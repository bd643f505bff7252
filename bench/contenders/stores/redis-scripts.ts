/**
 * The two-seat lock as Redis users write it: a Lua script, atomic because Redis runs one at a time.
 * A hash per event; no field: free, `L:<session>`: locked, `S:<session>`: sold. Holds do not run
 * out here, which is less work than the engine does.
 */
import { createHash } from "node:crypto";
import type { RequestKind } from "../../load/wire.ts";

export interface Script {
  /** `KEYS[1]`: the event's hash; `ARGV`: the session, then seat ids. Gives 1 or 0. */
  readonly lua: string;
  readonly sha: string;
}

/** @param from, to - Lua expressions: what each seat must be, and what it becomes. */
function script(from: string, to: string): Script {
  const field = "KEYS[1], ARGV[i]";
  const change = to === "nil" ? `'HDEL', ${field}` : `'HSET', ${field}, ${to}`;
  const lua = `
local session = ARGV[1]
local from = ${from}
for i = 2, #ARGV do
  if redis.call('HGET', ${field}) ~= from then return 0 end
end
for i = 2, #ARGV do
  redis.call(${change})
end
return 1`;
  return { lua, sha: createHash("sha1").update(lua).digest("hex") };
}

const FREE = "false";
const LOCKED = "'L:' .. session";
const SOLD = "'S:' .. session";

export const SCRIPTS: Readonly<Record<RequestKind, Script>> = {
  lock: script(FREE, LOCKED),
  unlock: script(LOCKED, "nil"),
  sale: script(LOCKED, SOLD),
  directsale: script(FREE, SOLD),
  revertsale: script(SOLD, "nil"),
};
