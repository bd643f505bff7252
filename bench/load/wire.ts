/** Requests and answers of each protocol, as the load generator needs them. */
import { createHash } from "node:crypto";
import { FrameReader, frameOf, Opcode } from "../../server/client/node-socket.ts";
import type { EventOnSale, Plan } from "./plan.ts";

export const Outcome = {
  PENDING: 0,
  DONE: 1,
  REFUSED: 2,
  /** Load shedding: nothing was decided, and the request can be sent again. */
  SHED: 3,
  /** An error of the server. */
  FAILED: 4,
} as const;
export type Outcome = (typeof Outcome)[keyof typeof Outcome];

export type BookingKind = "lock" | "unlock" | "sale" | "directsale" | "revertsale";

/** Called with each answer; its text is kept for messages and may be empty. */
type Take = (outcome: Outcome, answer: string) => void;

/** One connection, whose buyers share a session. */
export interface Wire {
  /** Sent first; null when the server is not greeted. */
  readonly greeting: Buffer | null;
  /** @returns Sent when the server has answered the greeting; null before. */
  greeted(heard: Buffer): Buffer | null;
  /**
   * @param pairs - Seats `2 * pair` and `2 * pair + 1` of the event; over HTTP a single pair.
   * @returns One request for each pair.
   */
  booking(kind: BookingKind, pairs: readonly number[]): Buffer;
  /** A page of the seats listing, a different one each turn. @throws Error if there is none. */
  page(turn: number): Buffer;
  /** @param bytes - Overwritten by the next read. @throws Error when an answer is none at all. */
  read(bytes: Buffer, take: Take): void;
}

export function wireOf({ target, event }: Pick<Plan, "target" | "event">, session: string): Wire {
  const { protocol } = target;
  if (protocol === "resp") return new RespWire(event, session);
  if (protocol === "json") return new JsonWire(event, session);
  if (protocol === "binary") return new BinaryWire(event, session);
  return new HttpWire(event, session, { isGet: protocol === "http-get" });
}

function pairOf({ seatIds }: EventOnSale, pair: number): readonly number[] {
  return seatIds.slice(pair * 2, pair * 2 + 2);
}

// The part of HTTP/1.1 that the load generator needs: prebuilt requests, and reading answers.

const HEAD_END = "\r\n\r\n";
const LENGTH = /^content-length: (\d+)/im;
const PAGE_SIZE = 100;

interface HttpForm {
  /** Sends GET without a body, for handlers that do not read one. */
  readonly isGet?: boolean;
  /** Further lines of the head of a booking. */
  readonly headers?: string;
}

export class HttpWire implements Wire {
  readonly greeting = null;
  readonly #event: EventOnSale;
  readonly #session: string;
  readonly #form: HttpForm;
  /** The first part of an answer that has not arrived whole. */
  #early = "";

  constructor(event: EventOnSale, session: string, form: HttpForm = {}) {
    this.#event = event;
    this.#session = session;
    this.#form = form;
  }

  greeted(): Buffer {
    return NOTHING;
  }

  booking(kind: BookingKind, [pair]: readonly number[]): Buffer {
    const path = `booking/${kind}?eventId=${this.#event.eventId}`;
    const { isGet = false, headers = "" } = this.#form;
    if (isGet) return this.#request("GET", path, "");
    const seats = pairOf(this.#event, pair!).map((id) => ({ id }));
    const body = JSON.stringify({ sessionId: this.#session, seats });
    const type = "Content-Type: application/json\r\n";
    const head = `${type}${headers}Content-Length: ${body.length}\r\n`;
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

  /** Only one answer is in flight. */
  read(bytes: Buffer, take: Take): void {
    const answer = this.#early + bytes.toString("latin1");
    const headLength = answer.indexOf(HEAD_END);
    const bodyAt = headLength + HEAD_END.length;
    const missing = headLength < 0 ? 1 : bodyAt + Number(LENGTH.exec(answer)?.[1]) - answer.length;
    this.#early = missing > 0 ? answer : "";
    if (missing > 0) return;
    if (missing < 0 || Number.isNaN(missing)) throw new Error(answer);
    take(outcomeOf(answer, bodyAt), answer);
  }
}

/** `false` is the refusal of a handler that sends no problem document. */
function outcomeOf(answer: string, bodyAt: number): Outcome {
  if (answer.startsWith("HTTP/1.1 2")) {
    return answer[bodyAt] === "f" ? Outcome.REFUSED : Outcome.DONE;
  }
  if (answer.startsWith("HTTP/1.1 429")) return Outcome.SHED;
  return answer.startsWith("HTTP/1.1 4") ? Outcome.REFUSED : Outcome.FAILED;
}

// The command socket: frames of many commands.

const BINARY_COMMAND_BYTES = 24;
const NOTHING = Buffer.alloc(0);
const CALL_NUMBERS = { lock: 1, unlock: 2, sale: 3, revertsale: 4, directsale: 5 } as const;
const [EVENT, SESSION] = [128, 129];
const TRUE = 1;
const REFUSED_STATUS = 400;

abstract class SocketWire implements Wire {
  readonly greeting: Buffer;
  protected readonly event: EventOnSale;
  protected readonly session: string;
  readonly #frames = new FrameReader();

  constructor(event: EventOnSale, session: string, subprotocol: string) {
    this.event = event;
    this.session = session;
    const lines = [
      "GET /api/private/v2.0/booking/socket HTTP/1.1",
      "Host: bench",
      "Upgrade: websocket",
      "Connection: Upgrade",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      `Sec-WebSocket-Protocol: frontrow.commands.v1+${subprotocol}`,
      `X-API-Key: ${event.key}`,
    ];
    this.greeting = Buffer.from([...lines, "", ""].join("\r\n"));
  }

  /** The server's credit is a JSON object. */
  greeted(heard: Buffer): Buffer | null {
    return heard.includes("}") ? this.opening() : null;
  }

  page(): Buffer {
    throw new Error("a command socket has no seats listing");
  }

  read(bytes: Buffer, take: Take): void {
    for (const { opcode, payload } of this.#frames.read(Buffer.from(bytes))) {
      if (opcode <= Opcode.BINARY) this.answers(payload, take);
    }
  }

  protected abstract opening(): Buffer;
  protected abstract answers(message: Buffer, take: Take): void;
  abstract booking(kind: BookingKind, pairs: readonly number[]): Buffer;
}

class JsonWire extends SocketWire {
  constructor(event: EventOnSale, session: string) {
    super(event, session, "json");
  }

  protected opening(): Buffer {
    return NOTHING;
  }

  booking(call: BookingKind, pairs: readonly number[]): Buffer {
    const { eventId } = this.event;
    const commands = pairs.map((pair, i) => {
      const seats = pairOf(this.event, pair).map((id) => ({ id }));
      return { n: i + 1, call, eventId, sessionId: this.session, seats };
    });
    return frameOf(Opcode.TEXT, Buffer.from(JSON.stringify(commands)));
  }

  protected answers(message: Buffer, take: Take): void {
    const answers = JSON.parse(message.toString("latin1")) as readonly { readonly body: unknown }[];
    for (const { body } of answers) take(body === true ? Outcome.DONE : Outcome.REFUSED, "");
  }
}

class BinaryWire extends SocketWire {
  constructor(event: EventOnSale, session: string) {
    super(event, session, "binary");
  }

  protected opening(): Buffer {
    const id = Buffer.from(this.event.eventId.replaceAll("-", ""), "hex");
    const entry = (kind: number, text: Buffer) => {
      const bytes = Buffer.alloc((8 + text.length + 3) & ~3);
      bytes.writeUInt16LE(1, 0);
      bytes.writeUInt16LE(text.length, 2);
      bytes[4] = kind;
      text.copy(bytes, 8);
      return bytes;
    };
    const opened = [entry(EVENT, id), entry(SESSION, Buffer.from(this.session))];
    return frameOf(Opcode.BINARY, Buffer.concat(opened));
  }

  booking(kind: BookingKind, pairs: readonly number[]): Buffer {
    const bytes = Buffer.alloc(pairs.length * BINARY_COMMAND_BYTES);
    for (const [i, pair] of pairs.entries()) {
      const at = i * BINARY_COMMAND_BYTES;
      const [seat, neighbour] = pairOf(this.event, pair);
      bytes.writeUInt32LE(i + 1, at);
      bytes[at + 4] = CALL_NUMBERS[kind];
      bytes.writeUInt16LE(1, at + 6);
      bytes.writeUInt16LE(1, at + 8);
      bytes.writeUInt16LE(2, at + 12);
      bytes.writeUInt32LE(seat!, at + 16);
      bytes.writeUInt32LE(neighbour!, at + 20);
    }
    return frameOf(Opcode.BINARY, bytes);
  }

  protected answers(message: Buffer, take: Take): void {
    for (let at = 0; at < message.length;) {
      const isRefused = message.readUInt16LE(at + 4) >= REFUSED_STATUS;
      const isDone = !isRefused && message.readUInt16LE(at + 6) === TRUE;
      take(isDone ? Outcome.DONE : Outcome.REFUSED, "");
      at += isRefused ? 12 + 4 * message.readUInt16LE(at + 10) : 8;
    }
  }
}

// RESP, the protocol of Redis: `EVALSHA` of the scripts below, answered 1 or 0.

class RespWire implements Wire {
  readonly greeting = null;
  readonly #event: EventOnSale;
  readonly #session: string;
  #early = "";

  constructor(event: EventOnSale, session: string) {
    this.#event = event;
    this.#session = session;
  }

  greeted(): Buffer {
    return NOTHING;
  }

  booking(kind: BookingKind, pairs: readonly number[]): Buffer {
    const head = ["EVALSHA", SCRIPTS[kind].sha, "1", `seats:${this.#event.eventId}`];
    const commands = pairs.map((pair) => {
      const words = [...head, this.#session, ...pairOf(this.#event, pair).map(String)];
      const bulks = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
      return `*${words.length}\r\n${bulks.join("")}`;
    });
    return Buffer.from(commands.join(""));
  }

  page(): Buffer {
    throw new Error("RESP has no seats listing");
  }

  read(bytes: Buffer, take: Take): void {
    const lines = (this.#early + bytes.toString("latin1")).split("\r\n");
    this.#early = lines.pop()!;
    for (const line of lines) {
      if (line !== ":1" && line !== ":0") throw new Error(line);
      take(line === ":1" ? Outcome.DONE : Outcome.REFUSED, line);
    }
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
