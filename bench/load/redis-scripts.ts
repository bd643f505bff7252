/**
 * The booking calls as Lua scripts, which Redis runs one at a time and so atomically. Each event is
 * a hash. A seat without a field is free, `L:<session>` is locked, `S:<session>` is sold. Holds do
 * not expire here, so Redis has less work than Frontrow.
 */
import { createHash } from "node:crypto";
import type { BookingKind } from "./wire.ts";

export interface Script {
  /** `KEYS[1]` is the event's hash, `ARGV` the session and the seat ids. Returns 1 or 0. */
  readonly lua: string;
  readonly sha: string;
}

/** @param from, to - Lua expressions: the value that each seat must have, and its new value. */
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

export const SCRIPTS: Readonly<Record<BookingKind, Script>> = {
  lock: script(FREE, LOCKED),
  unlock: script(LOCKED, "nil"),
  sale: script(LOCKED, SOLD),
  directsale: script(FREE, SOLD),
  revertsale: script(SOLD, "nil"),
};
