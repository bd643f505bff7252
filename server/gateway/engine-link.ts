/**
 * The link to the engine, on the side of the gateway: requests go out in frames, one for each turn
 * of the event loop, and their answers come back by number. A link that breaks is opened again.
 */
import type { StateSelection } from "../../engine/bodies.ts";
import type { Credentials } from "../http/front.ts";
import { AnswerBuffer } from "../commands/answer-buffer.ts";
import type { Answer } from "../http/answers.ts";
import type { Exchange } from "../http/front.ts";
import {
  ANSWER_BYTES,
  AnswerKind,
  EngineState,
  Entry,
  EVENT_ID_BYTES,
  Flag,
  FULL_ANSWER_BYTES,
  HEAD_BYTES,
  LINK_LIMITS,
  LINK_PATH,
  LINK_PROTOCOL,
  makeProof,
  padded,
  type RequestHeadText,
} from "./link-layout.ts";
import { UpstreamSocket } from "./web-socket.ts";

const RETRY_MS = 200;
const CHECK_MS = 250;
/** Frames without any answer: while there are so many, requests gather for the next one. */
const UNDER_WAY_MAX = 2;
/** So many do not wait for that, nor longer than this. */
const GATHERED_MAX = 64;
const GATHERED_MS_MAX = 2;
/** The engine says something every half second. */
const SILENT_MS_MAX = 3_000;
/** What the entry of a call may take beyond the body of its request; and a general request. */
const CALL_BYTES_MAX = 1_024;
const REQUEST_BYTES = 64;

export interface LinkEvents {
  answered(exchange: Exchange, answer: Answer | boolean): void;
  /** The link broke while the request was on its way: nobody knows what became of it. */
  lost(exchange: Exchange): void;
  /** The link is open, or it is not any more, or cannot be opened for another reason. */
  changed(isOpen: boolean, reason: string): void;
}

interface LinkOptions {
  readonly engines: Engines;
  readonly secret: string;
  readonly events: LinkEvents;
}

interface UsualCall {
  readonly kind: number;
  readonly key: number;
  readonly eventId: string;
  readonly selection: StateSelection;
}

export class EngineLink {
  readonly #options: LinkOptions;
  readonly #writer = new FrameWriter();
  /** What both sides name by number. */
  readonly known = new KnownNumbers();
  /** Requests without an answer, by number less 1; null for a number that is free. */
  #sent: (Exchange | null)[] = [];
  readonly #generations: number[] = [];
  /** The frame of each, by number less 1. */
  readonly #frameOf: number[] = [];
  /** The last frame of which a request has its answer. */
  #answeredFrame = 0;
  /** Requests in the frame that has not been sent. */
  #gathered = 0;
  #gathering: NodeJS.Timeout | null = null;
  #free: number[] = [];
  #count = 0;
  #socket: UpstreamSocket | null = null;
  #isConnected = false;
  #state: EngineState = EngineState.CLOSED;
  #heardMs = 0;
  #hasTurnAhead = false;
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;
  /** Why there is no link, as was told since there was one. */
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

  /** Whether the engine takes requests. */
  get isOpen(): boolean {
    return this.#state !== EngineState.CLOSED;
  }

  /** Whether it takes changes, too. */
  get isReady(): boolean {
    return this.#state === EngineState.TAKES_CHANGES;
  }

  /** Requests that may still be sent before there are answers. */
  get room(): number {
    return LINK_LIMITS.requests - this.#count;
  }

  get waiting(): number {
    return this.#count;
  }

  /** @returns The number of a key that the engine has found to be valid; 0 for any other. */
  keyOf(credentials: Credentials): number {
    return this.known.keyOf(credentials);
  }

  /** Sends a booking call in its usual form. */
  call(exchange: Exchange, { eventId, ...call }: UsualCall): void {
    this.#reserve(CALL_BYTES_MAX + exchange.body.length);
    let event = this.known.eventOf(eventId);
    if (event === 0) {
      event = this.known.addEvent(eventId);
      if (event === 0) {
        // There are no more numbers: this request goes in its general form, and takes a key again.
        this.#forget();
        this.request(exchange);
        return;
      }
      this.#writer.event(event, eventId);
    }
    const { idempotencyKey } = exchange;
    this.#writer.call(this.#numberOf(exchange), { ...call, event, idempotencyKey });
  }

  /** Sends a request in its general form. */
  request(exchange: Exchange): void {
    const head = headOf(exchange);
    this.#reserve(head.length + exchange.body.length + REQUEST_BYTES);
    if (this.known.isFull) this.#forget();
    this.#writer.request(this.#numberOf(exchange), head, exchange.body);
  }

  #forget(): void {
    this.known.forget();
    this.#writer.forget();
  }

  /** Makes room for an entry in the frame. */
  #reserve(bytes: number): void {
    if (!this.#writer.hasRoom(bytes)) this.#send();
    this.#takeTurn();
  }

  #takeTurn(): void {
    if (this.#hasTurnAhead) return;
    this.#hasTurnAhead = true;
    setImmediate(this.#endTurn);
  }

  /**
   * The log takes one batch at a time, so what waits here for the answers to earlier frames would
   * else wait there: the engine has fewer frames to read, and nobody an answer much later.
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

  #numberOf(exchange: Exchange): number {
    const place = this.#free.pop() ?? this.#sent.length;
    this.#sent[place] = exchange;
    this.#generations[place] = this.known.generation;
    this.#frameOf[place] = this.frames + 1;
    this.#gathered += 1;
    this.#count += 1;
    this.requests += 1;
    return place + 1;
  }

  #connect(): void {
    const { engines, secret } = this.#options;
    const headers = {
      Authorization: `Bearer ${makeProof(secret)}`,
      "Sec-WebSocket-Protocol": LINK_PROTOCOL,
    };
    const request = { server: engines.present, path: LINK_PATH, headers };
    const socket = new UpstreamSocket(request, {
      opened: () => {
        this.#isConnected = true;
        this.#heardMs = performance.now();
        this.#reasons.clear();
        this.#options.events.changed(true, "");
      },
      message: (payload) => this.#take(payload),
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
    this.#writer.clear();
    this.#gathered = 0;
    this.#answeredFrame = this.frames;
    this.known.forget();
    this.#sent = [];
    this.#free = [];
    this.#count = 0;
    const { events, engines } = this.#options;
    // Of several engines each has a reason of its own, again and again.
    if (!this.#reasons.has(reason)) events.changed(false, reason);
    this.#reasons.add(reason);
    for (const exchange of sent) if (exchange !== null) events.lost(exchange);
    if (this.#isStopped) return;
    engines.leave();
    // The first try follows at once: after a restart the engine is back before its port is missed.
    const delayMs = wasOpen ? 0 : RETRY_MS / engines.count;
    setTimeout(() => !this.#isStopped && this.#connect(), delayMs);
  }

  /** Gives up an engine that says nothing. */
  #check(): void {
    if (!this.#isSilent()) return;
    // This process itself may have stood still: then what the engine said waits to be read.
    setImmediate(() => setImmediate(() => this.#isSilent() && this.#socket?.destroy()));
  }

  #isSilent(): boolean {
    return this.#socket !== null && performance.now() - this.#heardMs > SILENT_MS_MAX;
  }

  #take(message: Buffer): void {
    this.#heardMs = performance.now();
    let at = 0;
    while (at < message.length) {
      const number = message.readUInt32LE(at);
      const status = message.readUInt16LE(at + 4);
      const kind = message.readUInt16LE(at + 6);
      if (kind <= AnswerKind.TRUE) this.#answered(number, kind === AnswerKind.TRUE);
      else if (kind === AnswerKind.KEY_ENDED) this.known.endKey(number);
      else if (kind === AnswerKind.STATE) this.#state = status as EngineState;
      else at += this.#takeFull(message, at) - ANSWER_BYTES;
      at += ANSWER_BYTES;
    }
    if (this.#gathered > 0) this.#takeTurn();
  }

  /** @returns The length of the answer. */
  #takeFull(message: Buffer, at: number): number {
    const number = message.readUInt32LE(at);
    const status = message.readUInt16LE(at + 4);
    const key = message.readUInt16LE(at + 8);
    const headAt = at + FULL_ANSWER_BYTES;
    const bodyAt = headAt + message.readUInt16LE(at + 10);
    const end = bodyAt + message.readUInt32LE(at + 12);
    const head = message.toString("utf8", headAt, bodyAt);
    const [type, headers] = JSON.parse(head) as [string, Answer["headers"]];
    const exchange = this.#sent[number - 1];
    const isOfNow = this.#generations[number - 1] === this.known.generation;
    if (key !== 0 && isOfNow && exchange != null) this.known.addKey(exchange, key);
    this.#answered(number, { status, type, headers, body: message.toString("utf8", bodyAt, end) });
    return end - at;
  }

  #answered(number: number, answer: Answer | boolean): void {
    const exchange = this.#sent[number - 1];
    if (exchange == null) return;
    this.#sent[number - 1] = null;
    this.#answeredFrame = Math.max(this.#answeredFrame, this.#frameOf[number - 1]!);
    this.#free.push(number - 1);
    this.#count -= 1;
    this.#options.events.answered(exchange, answer);
  }
}

// The keys and events that the gateway and its engine name by number. The engine gives numbers to
// keys, with the answer to the first request that has one, so no key and no hash of one ever leaves
// it. The gateway gives numbers to events.

class KnownNumbers {
  /** Keys that came alone, as most do, and all others with what came beside them. */
  readonly #plain = new Map<string, number>();
  readonly #others = new Map<string, number>();
  readonly #texts = new Map<number, readonly [table: Map<string, number>, text: string]>();
  readonly #events = new Map<string, number>();
  #lastKey = 0;
  /** Changes when all numbers lose their meaning. */
  generation = 0;

  get keyCount(): number {
    return this.#texts.size;
  }

  /** Whether the engine gives out no more numbers. */
  get isFull(): boolean {
    return this.#lastKey === LINK_LIMITS.keys;
  }

  /** @returns 0 for a key that is not known. */
  keyOf(credentials: Credentials): number {
    const { apiKey, authorization, organizationId } = credentials;
    if (authorization === "" && organizationId === "") return this.#plain.get(apiKey) ?? 0;
    return this.#others.get(textOf(credentials)) ?? 0;
  }

  addKey(credentials: Credentials, number: number): void {
    const { apiKey, authorization, organizationId } = credentials;
    const isPlain = authorization === "" && organizationId === "";
    const table = isPlain ? this.#plain : this.#others;
    const text = isPlain ? apiKey : textOf(credentials);
    table.set(text, number);
    this.#texts.set(number, [table, text]);
    this.#lastKey = Math.max(this.#lastKey, number);
  }

  endKey(number: number): void {
    const [table, text] = this.#texts.get(number) ?? [null, ""];
    table?.delete(text);
    this.#texts.delete(number);
  }

  /** @returns 0 for an event that has no number. */
  eventOf(id: string): number {
    return this.#events.get(id) ?? 0;
  }

  /** @returns Its number; 0 when there is none left. */
  addEvent(id: string): number {
    if (this.#events.size === LINK_LIMITS.events) return 0;
    const number = this.#events.size + 1;
    this.#events.set(id, number);
    return number;
  }

  forget(): void {
    this.generation += 1;
    this.#lastKey = 0;
    this.#plain.clear();
    this.#others.clear();
    this.#texts.clear();
    this.#events.clear();
  }
}

function textOf({ apiKey, authorization, organizationId }: Credentials): string {
  return `${apiKey}\n${authorization}\n${organizationId}`;
}

// The engines that a gateway may be linked to: one, or the hosts of a cluster.

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

  /** The engine that leads, as far as is known. */
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

export interface Call {
  /** As the layout numbers it. */
  readonly kind: number;
  readonly key: number;
  readonly event: number;
  readonly selection: StateSelection;
  /** Null for none; else printable ASCII. */
  readonly idempotencyKey: string | null;
}

/** Whether a selection in its usual form fits the entry of a call. */
export function fitsCall({ seats, groupOfSeats, fences }: StateSelection): boolean {
  if (fences !== undefined && fences !== null) return false;
  for (const { capacity } of seats ?? NO_CHOICES) {
    if (capacity !== undefined && capacity !== null) return false;
  }
  for (const { capacity } of groupOfSeats ?? NO_CHOICES) {
    if (typeof capacity !== "number" || capacity > SMALL_ID_MAX) return false;
  }
  return (seats?.length ?? 0) <= COUNT_MAX && (groupOfSeats?.length ?? 0) <= COUNT_MAX;
}

export class FrameWriter {
  readonly #bytes = new AnswerBuffer();

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

  hasRoom(bytes: number): boolean {
    return this.#bytes.length + bytes <= LINK_LIMITS.bytesInFrame;
  }

  event(number: number, id: string): void {
    this.#start(number, Entry.EVENT, 0);
    this.#bytes.reserve(EVENT_ID_BYTES + 4);
    this.#bytes.uint16(0);
    this.#bytes.text(id);
  }

  forget(): void {
    this.#start(0, Entry.FORGET, 0);
    this.#bytes.uint16(0);
  }

  call(number: number, { kind, key, event, selection, idempotencyKey }: Call): void {
    const { sessionId, holdType } = selection;
    const seats = selection.seats ?? NO_CHOICES;
    const areas = selection.groupOfSeats ?? NO_CHOICES;
    const to = this.#bytes;
    const isLong = hasLongId(seats) || hasLongId(areas);
    const hasSession = typeof sessionId === "string" ? Flag.HAS_SESSION : 0;
    const hasHoldType = typeof holdType === "string" ? Flag.HAS_HOLD_TYPE : 0;
    this.#start(number, kind, (isLong ? Flag.LONG_IDS : 0) | hasSession | hasHoldType);
    to.reserve(HEAD_BYTES + 12 * (seats.length + areas.length));
    to.uint16(key);
    to.uint16(event);
    to.uint16(seats.length);
    to.uint16(areas.length);
    to.byte(idempotencyKey?.length ?? 0);
    to.byte(holdType?.length ?? 0);
    to.byte(sessionId?.length ?? 0);
    to.byte(0);
    to.uint16(0);
    for (let i = 0; i < seats.length; i++) this.#id(seats[i]!.id, isLong);
    for (let i = 0; i < areas.length; i++) {
      this.#id(areas[i]!.id, isLong);
      to.uint32(areas[i]!.capacity!);
    }
    if (hasSession !== 0) to.text(sessionId!);
    if (hasHoldType !== 0) to.text(holdType!);
    if (idempotencyKey !== null) to.text(idempotencyKey);
    this.#pad();
  }

  request(number: number, head: Buffer, body: Uint8Array): void {
    const to = this.#bytes;
    this.#start(number, Entry.REQUEST, 0);
    to.reserve(HEAD_BYTES + head.length + body.length);
    to.uint16(0);
    to.uint32(head.length);
    to.uint32(body.length);
    to.uint32(0);
    for (const part of [head, body]) {
      to.bytes.set(part, to.length);
      to.length += part.length;
    }
    this.#pad();
  }

  #start(number: number, kind: number, flags: number): void {
    this.#bytes.reserve(HEAD_BYTES);
    this.#bytes.uint32(number);
    this.#bytes.byte(kind);
    this.#bytes.byte(flags);
  }

  #id(id: number, isLong: boolean): void {
    this.#bytes.uint32(id);
    if (isLong) this.#bytes.uint32(Math.floor(id / WORD));
  }

  #pad(): void {
    const to = this.#bytes;
    to.reserve(ZEROS.length);
    to.copy(ZEROS.subarray(0, padded(to.length) - to.length));
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
  const head: RequestHeadText = {
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
    repeatedHeader: exchange.repeatedHeader,
    requestId: exchange.requestId,
    address: exchange.address(),
  };
  return Buffer.from(JSON.stringify(head));
}
