/**
 * The gateway's end of the link: a client of the command protocol. Requests go out in frames, one
 * for each turn of the event loop; answers come back by number. A broken link is opened again.
 */
import type { StateSelection } from "../../engine/bodies.ts";
import { AnswerBuffer } from "../commands/answer-buffer.ts";
import {
  ANSWER_BYTES,
  COMMAND_BYTES,
  DONE,
  Kind,
  LONG_IDS,
  OPEN_BYTES,
  OPENS_FROM,
} from "../commands/binary-protocol.ts";
import type { Answer } from "../http/answers.ts";
import type { Credentials, Exchange } from "../http/front.ts";
import {
  EngineState,
  Entry,
  FULL_ANSWER,
  FULL_ANSWER_BYTES,
  HANDLES_MAX,
  KEY_TEXT_LENGTH_MAX,
  type KeyText,
  LINK_LIMITS,
  LINK_PATH,
  LINK_PROTOCOL,
  type LinkCredit,
  makeProof,
  type Notice,
  REQUEST_BYTES,
  type RequestText,
} from "./link-layout.ts";
import { NodeSocket } from "../client/node-socket.ts";

const RETRY_MS = 200;
const CHECK_MS = 250;
/** Frames without any answer: while there are so many, requests gather for the next one. */
const UNDER_WAY_MAX = 2;
/** Batch delay: at most so many requests, and at most so long. */
const GATHERED_MAX = 64;
const GATHERED_MS_MAX = 2;
/** The engine says something every half second. */
const SILENT_MS_MAX = 3_000;
/** Bytes of a call with its handles beyond the body of its request. */
const CALL_BYTES_MAX = 4_096;
const NO_CREDIT: LinkCredit = { commands: 0, commandsInFrame: 0, bytesInFrame: 0, bytes: 0 };
/** Statuses of a valid key, and of one that may have ended. */
const [OK, FORBIDDEN] = [200, 403];

export interface LinkEvents {
  answered(exchange: Exchange, answer: Answer | boolean): void;
  /** The link broke before the answer: the outcome is unknown. */
  lost(exchange: Exchange): void;
  /** The link is open, or broken, or cannot be opened for a new reason. */
  changed(isOpen: boolean, reason: string): void;
}

interface LinkOptions {
  readonly engines: Engines;
  readonly secret: string;
  readonly events: LinkEvents;
}

/** A request in the form of a command. */
export interface UsualCall {
  /** As the binary layout numbers it. */
  readonly kind: number;
  readonly eventId: string;
  readonly selection: StateSelection;
  /** Null for none; else printable ASCII. */
  readonly idempotencyKey: string | null;
}

/** A request without an answer. */
interface Sent {
  readonly exchange: Exchange;
  readonly bytes: number;
  readonly frame: number;
}

export class EngineLink {
  readonly #options: LinkOptions;
  #writer = new FrameWriter();
  #credit = NO_CREDIT;
  /** By number less 1; null for a free number. */
  #sent: (Sent | null)[] = [];
  /** Bytes of the requests without an answer. */
  #sentBytes = 0;
  /** The last frame with an answered request. */
  #answeredFrame = 0;
  /** Requests in the unsent frame. */
  #gathered = 0;
  #gathering: NodeJS.Timeout | null = null;
  #free: number[] = [];
  #count = 0;
  #socket: NodeSocket | null = null;
  #isConnected = false;
  #state: EngineState = EngineState.CLOSED;
  #heardMs = 0;
  #hasTurnAhead = false;
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;
  /** Reasons told since the link broke. */
  readonly #reasons = new Set<string>();
  frames = 0;
  requests = 0;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.#check(), CHECK_MS);
    this.#connect();
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer ?? undefined);
    this.#socket?.destroy();
  }

  /** True while the engine takes requests. */
  get isOpen(): boolean {
    return this.#state !== EngineState.CLOSED;
  }

  /** True while it takes changes, too. */
  get isReady(): boolean {
    return this.#state === EngineState.CHANGES;
  }

  /** True while the credit allows another request. */
  get hasRoom(): boolean {
    const { commands, bytes } = this.#credit;
    return this.#count < commands && this.#sentBytes + LINK_LIMITS.bytesInFrame <= bytes;
  }

  get waiting(): number {
    return this.#count;
  }

  /** Keys known as valid. */
  get keyCount(): number {
    return this.#writer.keys.count;
  }

  /** @returns The handle of a key known as valid; 0 for any other. */
  keyOf(credentials: Credentials): number {
    return this.#writer.keys.find(textOf(credentials));
  }

  /** Sends a booking call as a command. @param key - As by `keyOf`, not 0. */
  call(exchange: Exchange, key: number, call: UsualCall): void {
    this.#reserve(CALL_BYTES_MAX + exchange.body.length);
    const { length } = this.#writer;
    this.#writer.call(this.#nextNumber, key, call);
    this.#note(exchange, this.#writer.length - length);
  }

  /** Sends a request in its general form. */
  request(exchange: Exchange): void {
    const head = headOf(exchange);
    const bytes = REQUEST_BYTES + head.length + exchange.body.length;
    this.#reserve(bytes);
    this.#writer.request(this.#nextNumber, head, exchange.body);
    this.#note(exchange, bytes);
  }

  #reserve(bytes: number): void {
    this.#makeRoom(bytes);
    this.#takeTurn();
  }

  /** Makes room for an entry in the frame. */
  #makeRoom(bytes: number): void {
    const { bytesInFrame, commandsInFrame } = this.#credit;
    const isFull = this.#writer.length + bytes > bytesInFrame;
    if (isFull || this.#gathered === commandsInFrame) this.#send();
  }

  get #nextNumber(): number {
    return (this.#free.at(-1) ?? this.#sent.length) + 1;
  }

  #note(exchange: Exchange, bytes: number): void {
    const place = this.#free.pop() ?? this.#sent.length;
    this.#sent[place] = { exchange, bytes, frame: this.frames + 1 };
    this.#sentBytes += bytes;
    this.#gathered += 1;
    this.#count += 1;
    this.requests += 1;
  }

  #takeTurn(): void {
    if (this.#hasTurnAhead) return;
    this.#hasTurnAhead = true;
    setImmediate(this.#endTurn);
  }

  /**
   * Batch delay: the log takes one batch at a time, so requests gather here instead of waiting
   * there. The engine reads fewer frames, and no answer comes much later.
   */
  readonly #endTurn = (): void => {
    this.#hasTurnAhead = false;
    const isBusy = this.frames - this.#answeredFrame >= UNDER_WAY_MAX;
    if (!isBusy || this.#gathered >= GATHERED_MAX) this.#send();
    else this.#gathering ??= setTimeout(this.#send, GATHERED_MS_MAX);
  };

  readonly #send = (): void => {
    if (this.#gathering !== null) clearTimeout(this.#gathering);
    this.#gathering = null;
    this.#gathered = 0;
    if (this.#writer.length === 0) return;
    this.frames += 1;
    this.#socket?.send(this.#writer.frame, true);
    this.#writer.clear();
  };

  #connect(): void {
    const { engines, secret } = this.#options;
    const headers = {
      Authorization: `Bearer ${makeProof(secret)}`,
      "Sec-WebSocket-Protocol": LINK_PROTOCOL,
    };
    const request = { server: engines.present, path: LINK_PATH, headers };
    const socket = new NodeSocket(request, {
      opened: () => {
        this.#isConnected = true;
        this.#heardMs = performance.now();
        this.#reasons.clear();
        this.#options.events.changed(true, "");
      },
      message: (payload, isBinary) => {
        this.#heardMs = performance.now();
        if (isBinary) this.#take(payload);
        else this.#notice(JSON.parse(payload.toString()) as Notice);
      },
      refused: (response) => {
        response.resume();
        this.#broken(`the engine refused the link with ${response.statusCode ?? 0}`);
      },
      closed: (code, reason) => this.#broken(`${code} ${reason}`.trim()),
    });
    this.#socket = socket;
    this.#heardMs = performance.now();
  }

  #broken(reason: string): void {
    const [wasOpen, sent] = [this.#isConnected, this.#sent];
    this.#isConnected = false;
    this.#state = EngineState.CLOSED;
    this.#socket = null;
    this.#writer = new FrameWriter();
    this.#credit = NO_CREDIT;
    this.#gathered = 0;
    this.#answeredFrame = this.frames;
    this.#sent = [];
    this.#sentBytes = 0;
    this.#free = [];
    this.#count = 0;
    const { events, engines } = this.#options;
    // Of several engines each has a reason of its own, again and again.
    if (!this.#reasons.has(reason)) events.changed(false, reason);
    this.#reasons.add(reason);
    for (const one of sent) if (one !== null) events.lost(one.exchange);
    if (this.#isStopped) return;
    engines.leave();
    // The first try follows at once: after a restart the engine is back before its port is missed.
    const delayMs = wasOpen ? 0 : RETRY_MS / engines.count;
    setTimeout(() => !this.#isStopped && this.#connect(), delayMs);
  }

  /** Gives up a silent engine. */
  #check(): void {
    if (!this.#isSilent()) return;
    // This process itself may have stood still: then messages of the engine wait to be read.
    setImmediate(() => setImmediate(() => this.#isSilent() && this.#socket?.destroy()));
  }

  #isSilent(): boolean {
    return this.#socket !== null && performance.now() - this.#heardMs > SILENT_MS_MAX;
  }

  #notice(notice: Notice): void {
    if (notice.type === "credit") this.#credit = notice;
    else this.#state = notice.takes;
  }

  #take(message: Buffer): void {
    let at = 0;
    while (at < message.length) {
      const number = message.readUInt32LE(at);
      const result = message.readUInt16LE(at + 6);
      if (result === FULL_ANSWER) at += this.#takeFull(number, message, at);
      else {
        this.#answered(number, result === DONE);
        at += ANSWER_BYTES;
      }
    }
    if (this.#gathered > 0) this.#takeTurn();
  }

  /** @returns The length of the answer. */
  #takeFull(number: number, message: Buffer, at: number): number {
    const status = message.readUInt16LE(at + 4);
    const headAt = at + FULL_ANSWER_BYTES;
    const bodyAt = headAt + message.readUInt32LE(at + 8);
    const end = bodyAt + message.readUInt32LE(at + 12);
    const head = message.toString("utf8", headAt, bodyAt);
    const [type, headers] = JSON.parse(head) as [string, Answer["headers"]];
    const exchange = this.#sent[number - 1]?.exchange;
    if (exchange !== undefined && status === OK) {
      this.#makeRoom(CALL_BYTES_MAX);
      this.#writer.key(exchange);
    } else if (exchange !== undefined && status === FORBIDDEN) {
      this.#writer.keys.delete(textOf(exchange));
    }
    this.#answered(number, { status, type, headers, body: message.toString("utf8", bodyAt, end) });
    return end - at;
  }

  #answered(number: number, answer: Answer | boolean): void {
    const sent = this.#sent[number - 1];
    if (sent == null) return;
    const { exchange, bytes, frame } = sent;
    this.#sent[number - 1] = null;
    this.#sentBytes -= bytes;
    this.#answeredFrame = Math.max(this.#answeredFrame, frame);
    this.#free.push(number - 1);
    this.#count -= 1;
    this.#options.events.answered(exchange, answer);
  }
}

/** A key alone, the usual case, is its own text. */
function textOf({ apiKey, authorization, organizationId }: Credentials): string {
  if (authorization === "" && organizationId === "") return apiKey;
  return `${apiKey}\n${authorization}\n${organizationId}`;
}

// The candidates for the link: one engine, or the hosts of a cluster.

export class Engines {
  readonly #urls: readonly URL[];
  #present = 0;

  /** @param urls - One at least, all with the same scheme. */
  constructor(urls: readonly URL[]) {
    this.#urls = urls;
  }

  get count(): number {
    return this.#urls.length;
  }

  /** The leader, as far as is known. */
  get present(): URL {
    return this.#urls[this.#present]!;
  }

  /** The present one is lost, or does not lead. */
  leave(): void {
    this.#present = (this.#present + 1) % this.count;
  }
}

// Writes requests as the entries of a frame.

const SMALL_ID_MAX = 0xffff_ffff;
const WORD = 2 ** 32;
const COUNT_MAX = 0xffff;
const ZEROS = new Uint8Array(4);
const NO_CHOICES: NonNullable<StateSelection["seats"]> = [];

/** @returns True when a selection in its usual form fits a command. */
export function fitsCall({ sessionId, holdType, seats, groupOfSeats }: StateSelection): boolean {
  // The handle of an empty text cannot be opened.
  if (sessionId === "" || holdType === "") return false;
  for (const { capacity } of seats ?? NO_CHOICES) {
    if (capacity !== undefined && capacity !== null) return false;
  }
  for (const { capacity } of groupOfSeats ?? NO_CHOICES) {
    if (typeof capacity !== "number" || capacity > SMALL_ID_MAX) return false;
  }
  return (seats?.length ?? 0) <= COUNT_MAX && (groupOfSeats?.length ?? 0) <= COUNT_MAX;
}

/** Interned texts of a link. A new text takes the handle of the oldest. */
class Handles {
  readonly #max: number;
  readonly #numbers = new Map<string, number>();
  /** By number less 1; undefined for a free one. */
  readonly #texts: (string | undefined)[] = [];
  readonly #free: number[] = [];
  #last = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get count(): number {
    return this.#numbers.size;
  }

  /** @returns 0 for none. */
  find(text: string): number {
    return this.#numbers.get(text) ?? 0;
  }

  /** @returns The new handle of a text; it must be opened. */
  add(text: string): number {
    const number = this.#free.pop() ?? (this.#last = (this.#last % this.#max) + 1);
    const replaced = this.#texts[number - 1];
    if (replaced !== undefined) this.#numbers.delete(replaced);
    this.#texts[number - 1] = text;
    this.#numbers.set(text, number);
    return number;
  }

  delete(text: string): void {
    const number = this.#numbers.get(text);
    if (number === undefined) return;
    this.#numbers.delete(text);
    this.#texts[number - 1] = undefined;
    this.#free.push(number);
  }
}

export class FrameWriter {
  readonly keys: Handles;
  readonly #events: Handles;
  readonly #sessions: Handles;
  readonly #holdTypes: Handles;
  readonly #bytes = new AnswerBuffer();
  /** The key of the following commands; 0 for none. */
  #key = 0;

  constructor(max: Readonly<Record<keyof typeof HANDLES_MAX, number>> = HANDLES_MAX) {
    this.keys = new Handles(max.key);
    this.#events = new Handles(max.event);
    this.#sessions = new Handles(max.session);
    this.#holdTypes = new Handles(max.holdType);
  }

  get length(): number {
    return this.#bytes.length;
  }

  /** The entries so far; valid until the next one is written. */
  get frame(): Buffer {
    return this.#bytes.bytes.subarray(0, this.#bytes.length);
  }

  clear(): void {
    this.#bytes.length = 0;
  }

  /** Opens a handle for a new key, if it is not too long. */
  key(exchange: Exchange): void {
    const text = textOf(exchange);
    if (text.length > KEY_TEXT_LENGTH_MAX || this.keys.find(text) !== 0) return;
    const { apiKey, authorization, organizationId } = exchange;
    const shown: KeyText = { apiKey, authorization, organizationId, from: exchange.address() };
    const number = this.keys.add(text);
    if (number === this.#key) this.#key = 0;
    this.#open(Kind.KEY, number, JSON.stringify(shown));
  }

  call(number: number, key: number, { kind, eventId, selection, idempotencyKey }: UsualCall): void {
    const { sessionId, holdType } = selection;
    const seats = selection.seats ?? NO_CHOICES;
    const areas = selection.groupOfSeats ?? NO_CHOICES;
    const to = this.#bytes;
    if (key !== this.#key) this.#use(key);
    const event = this.#handle(Kind.EVENT, this.#events, eventId);
    const session = sessionId == null ? 0 : this.#handle(Kind.SESSION, this.#sessions, sessionId);
    const hold = holdType == null ? 0 : this.#handle(Kind.HOLD_TYPE, this.#holdTypes, holdType);
    const isLong = hasLongId(seats) || hasLongId(areas);
    to.reserve(COMMAND_BYTES + 12 * (seats.length + areas.length));
    to.uint32(number);
    to.byte(kind);
    to.byte(isLong ? LONG_IDS : 0);
    to.uint16(event);
    to.uint16(session);
    to.byte(hold);
    to.byte(idempotencyKey?.length ?? 0);
    to.uint16(seats.length);
    to.uint16(areas.length);
    for (let i = 0; i < seats.length; i++) this.#id(seats[i]!.id, isLong);
    for (let i = 0; i < areas.length; i++) {
      this.#id(areas[i]!.id, isLong);
      to.uint32(areas[i]!.capacity!);
    }
    if (idempotencyKey !== null) to.text(idempotencyKey);
    this.#pad();
  }

  request(number: number, head: Buffer, body: Uint8Array): void {
    const to = this.#bytes;
    to.reserve(REQUEST_BYTES + head.length + body.length);
    to.uint32(number);
    to.uint32(Entry.REQUEST);
    to.uint32(head.length);
    to.uint32(body.length);
    for (const part of [head, body]) {
      to.bytes.set(part, to.length);
      to.length += part.length;
    }
    this.#pad();
  }

  #use(key: number): void {
    this.#key = key;
    this.#bytes.reserve(OPEN_BYTES);
    this.#bytes.uint32(key);
    this.#bytes.uint32(Entry.USE);
  }

  #handle(kind: number, handles: Handles, text: string): number {
    const known = handles.find(text);
    if (known !== 0) return known;
    const number = handles.add(text);
    this.#open(kind, number, text);
    return number;
  }

  #open(kind: number, number: number, text: string): void {
    const isEvent = kind === Kind.EVENT;
    const bytes = isEvent ? Buffer.from(text.replaceAll("-", ""), "hex") : Buffer.from(text);
    const to = this.#bytes;
    to.reserve(OPEN_BYTES);
    to.uint16(number);
    to.uint16(bytes.length);
    to.uint32(OPENS_FROM + kind);
    to.reserve(bytes.length);
    to.copy(bytes);
    this.#pad();
  }

  #id(id: number, isLong: boolean): void {
    this.#bytes.uint32(id);
    if (isLong) this.#bytes.uint32(Math.floor(id / WORD));
  }

  #pad(): void {
    const to = this.#bytes;
    to.reserve(ZEROS.length);
    to.copy(ZEROS.subarray(0, -to.length & 3));
  }
}

function hasLongId(choices: readonly { readonly id: number }[]): boolean {
  for (let i = 0; i < choices.length; i++) {
    if (choices[i]!.id > SMALL_ID_MAX) return true;
  }
  return false;
}

/** The head of a request in its general form. */
function headOf(exchange: Exchange): Buffer {
  const head: RequestText = {
    method: exchange.method,
    path: exchange.path,
    query: exchange.query,
    apiKey: exchange.apiKey,
    authorization: exchange.authorization,
    organizationId: exchange.organizationId,
    contentType: exchange.contentType,
    contentEncoding: exchange.contentEncoding,
    idempotencyKey: exchange.idempotencyKey,
    prefer: exchange.prefer,
    ifMatch: exchange.ifMatch,
    repeatedHeader: exchange.repeatedHeader,
    requestId: exchange.requestId,
    from: exchange.address(),
  };
  return Buffer.from(JSON.stringify(head));
}
