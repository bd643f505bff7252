/** What a protocol does for the generator: builds requests, and reads the outcome of answers. */
import { createHash } from "node:crypto";
import type { EventOnSale } from "./plan.ts";

export const Outcome = { PENDING: 0, DONE: 1, REFUSED: 2 } as const;
export type Outcome = (typeof Outcome)[keyof typeof Outcome];

export type BookingKind = "lock" | "unlock" | "sale" | "directsale" | "revertsale";

export interface Wire {
  /** @param pair - Seats `2 * pair` and `2 * pair + 1` of the event. */
  booking(kind: BookingKind, pair: number, session: string): Buffer;
  /** A page of the seats listing, a different one each turn. @throws Error if there is none. */
  page(turn: number): Buffer;
  /**
   * @param answer - What has arrived of it, one character per byte. Only one answer is in flight.
   * @returns PENDING until the answer is complete.
   * @throws Error when the answer is neither a success nor a refusal.
   */
  read(answer: string): Outcome;
}

// The part of HTTP/1.1 that the load generator needs: prebuilt requests, and reading answers.

const HEAD_END = "\r\n\r\n";
const LENGTH = /^content-length: (\d+)/im;
const PAGE_SIZE = 100;

export class HttpWire implements Wire {
  readonly #event: EventOnSale;
  readonly #isGet: boolean;

  /** @param isGet - Sends GET without a body, for handlers that do not read one. */
  constructor(event: EventOnSale, isGet: boolean) {
    this.#event = event;
    this.#isGet = isGet;
  }

  booking(kind: BookingKind, pair: number, session: string): Buffer {
    const { eventId, seatIds } = this.#event;
    const path = `booking/${kind}?eventId=${eventId}`;
    if (this.#isGet) return this.#request("GET", path, "");
    const seats = seatIds.slice(pair * 2, pair * 2 + 2).map((id) => ({ id }));
    const body = JSON.stringify({ sessionId: session, seats });
    const head = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    return this.#request("POST", path, head, body);
  }

  page(turn: number): Buffer {
    const { eventId, seatIds } = this.#event;
    const number = turn % Math.ceil(seatIds.length / PAGE_SIZE);
    return this.#request("GET", `events/${eventId}/seats/?size=${PAGE_SIZE}&page=${number}`, "");
  }

  #request(method: string, path: string, head: string, body = ""): Buffer {
    const common = `Host: bench\r\nX-API-Key: ${this.#event.key}\r\n`;
    const line = `${method} /api/private/v2.0/${path} HTTP/1.1\r\n`;
    return Buffer.from(`${line}${common}${head}\r\n${body}`);
  }

  /** `false` is the refusal of a handler that sends no problem document. */
  read(answer: string): Outcome {
    const headLength = answer.indexOf(HEAD_END);
    if (headLength < 0) return Outcome.PENDING;
    const bodyAt = headLength + HEAD_END.length;
    const missing = bodyAt + Number(LENGTH.exec(answer)?.[1]) - answer.length;
    if (missing > 0) return Outcome.PENDING;
    if (missing === 0 && answer.startsWith("HTTP/1.1 4")) return Outcome.REFUSED;
    if (missing === 0 && answer.startsWith("HTTP/1.1 2")) {
      return answer[bodyAt] === "f" ? Outcome.REFUSED : Outcome.DONE;
    }
    throw new Error(answer);
  }
}

// RESP, the protocol of Redis: `EVALSHA` of the scripts in `wire.ts`, answered 1 or 0.

export class RespWire implements Wire {
  readonly #event: EventOnSale;

  constructor(event: EventOnSale) {
    this.#event = event;
  }

  booking(kind: BookingKind, pair: number, session: string): Buffer {
    const { eventId, seatIds } = this.#event;
    const seats = seatIds.slice(pair * 2, pair * 2 + 2).map(String);
    const words = ["EVALSHA", SCRIPTS[kind].sha, "1", `seats:${eventId}`, session, ...seats];
    const bulks = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    return Buffer.from(`*${words.length}\r\n${bulks.join("")}`);
  }

  page(): Buffer {
    throw new Error("RESP has no seats listing");
  }

  read(answer: string): Outcome {
    if (!answer.endsWith("\n")) return Outcome.PENDING;
    if (answer === ":1\r\n") return Outcome.DONE;
    if (answer === ":0\r\n") return Outcome.REFUSED;
    throw new Error(answer);
  }
}

// The booking calls as Lua scripts, which Redis runs one at a time and so atomically. Each event is
// a hash. A seat without a field is free, `L:<session>` is locked, `S:<session>` is sold. Holds do
// not expire here, so Redis has less work than Frontrow.

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
