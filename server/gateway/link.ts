/**
 * The link of one gateway: its frames are decided in turns by the rules of command sockets, and
 * each request is answered when the log has what its answer rests on.
 *
 * Ordering: requests are decided in the order in which they came. An answer that must be read from
 * disk comes later than those of the requests after it; a gateway tells answers apart by number.
 */
import { assert } from "../../engine/assert.ts";
import type { BookingKind } from "../../engine/commands.ts";
import type { Engine } from "../../engine/engine.ts";
import { Result } from "../../engine/results.ts";
import { type KeyedConnection, KeyRounds } from "../api/websockets.ts";
import { bearerOf } from "../auth/access.ts";
import type { Throttle } from "../auth/limits.ts";
import type { Credentials } from "../http/front.ts";
import { type AnswerBuffer, AnswerBuffers } from "../commands/answer-buffer.ts";
import { bookingPath, CALLS, Command, RecentTexts, UNREADABLE } from "../commands/command.ts";
import {
  type Client,
  type CommandFront,
  type Decided,
  Decider,
  type DeciderServices,
  Turns,
  type TurnTaker,
} from "../commands/decider.ts";
import { type Answer, type Problem, problemAnswer, upgrade, withApplied } from "../http/answers.ts";
import { Exchange, NO_BODY, type RequestHead } from "../http/front.ts";
import { parseJson } from "../http/json.ts";
import type { Peer, SocketHandler } from "../http/sockets.ts";
import {
  ANSWER_BYTES,
  AnswerKind,
  EngineState,
  Entry,
  entryBytes,
  EVENT_ID_BYTES,
  Flag,
  FULL_ANSWER_BYTES,
  HEAD_BYTES,
  LINK_LIMITS,
  LINK_PROTOCOL,
  ProofCheck,
  type RequestHeadText,
} from "./link-layout.ts";

const CLOSES = {
  1007: "the frame cannot be read",
  1012: "the server is stopping",
  4009: "too much waits for an answer",
} as const;
type CloseCode = keyof typeof CLOSES;
/** The paths that are refused first when too much waits. */
const LOCKS = /\/(lock|check)\/?$/;

/** What the links share. */
export interface LinkShared {
  readonly engine: Engine;
  readonly decider: Decider;
  readonly front: CommandFront;
  readonly buffers: AnswerBuffers;
  readonly keys: KeyRounds<LinkKey>;
  readonly turns: Turns<Link>;
  /** Requests in all. */
  requests: number;
  isAdmitted(client: Credentials): boolean;
  opened(link: Link): void;
  closed(link: Link): void;
}

/** A key that the gateway names by number; the engine judges it again for every frame. */
class LinkKey implements KeyedConnection {
  readonly credentials: Client;
  readonly #onEnd: () => void;

  constructor(credentials: Client, onEnd: () => void) {
    this.credentials = credentials;
    this.#onEnd = onEnd;
  }

  judged(isValid: boolean): void {
    if (!isValid) this.#onEnd();
  }

  /** The gateway passes the next requests on, and the engine tells where the organization is. */
  stop(): void {
    this.#onEnd();
  }
}

/** Answers that leave when the log has what they rest on. */
interface Extent {
  /** Bytes that had been written by then, in all. */
  readonly end: number;
  readonly requests: number;
}

export class Link implements SocketHandler, TurnTaker {
  readonly #shared: LinkShared;
  readonly #command = new Command();
  readonly #texts = new RecentTexts();
  readonly #events = new Map<number, string>();
  readonly #keys = new Map<number, LinkKey>();
  readonly #keyNumbers = new Map<string, number>();
  #lastKey = 0;
  #peer: Peer | null = null;
  readonly #frames: ArrayBuffer[] = [];
  #frameBytes = 0;
  /** Requests that were decided and whose answers have not been sent. */
  #unanswered = 0;
  #answers: AnswerBuffer | null = null;
  #sentBytes = 0;
  readonly #extents: Extent[] = [];
  #readyEnd = 0;
  #readyRequests = 0;
  #turn = -1;
  /** Answers that are being read from disk. */
  #reading = 0;
  #isBlocked = false;
  #closeCode: CloseCode | 0 = 0;

  constructor(shared: LinkShared) {
    this.#shared = shared;
  }

  opened(peer: Peer): void {
    this.#peer = peer;
    this.#shared.opened(this);
  }

  /** The gateway hears this often: it knows by it that the engine is there. */
  tellState(state: EngineState): void {
    const shown = this.#closeCode === 0 ? state : EngineState.CLOSED;
    this.#peer?.send(writeNotice(0, shown, AnswerKind.STATE), true);
  }

  message(frame: ArrayBuffer, isBinary: boolean): void {
    if (this.#closeCode !== 0) return;
    if (!isBinary || frame.byteLength > LINK_LIMITS.bytesInFrame) this.#close(1007);
    else if (this.#frames.length === 0 && this.#mayDecide()) this.#decideFrame(frame);
    else this.#keep(frame);
  }

  #mayDecide(): boolean {
    return !this.#isBlocked && this.#turn !== this.#shared.turns.now;
  }

  /** Keeps a frame until its turn. */
  #keep(frame: ArrayBuffer): void {
    this.#frameBytes += frame.byteLength;
    if (this.#frameBytes > LINK_LIMITS.bytes) {
      this.#close(4009);
      return;
    }
    this.#frames.push(frame.slice(0));
    if (!this.#isBlocked) this.#shared.turns.decideLater(this);
  }

  decideNext(): void {
    if (this.#isBlocked || this.#frames.length === 0) return;
    if (this.#turn !== this.#shared.turns.now) {
      const frame = this.#frames.shift()!;
      this.#frameBytes -= frame.byteLength;
      this.#decideFrame(frame);
    }
    if (this.#frames.length > 0) this.#shared.turns.decideLater(this);
  }

  drained(): void {
    this.#isBlocked = false;
    if (this.#frames.length > 0) this.#shared.turns.decideLater(this);
  }

  #decideFrame(frame: ArrayBuffer): void {
    this.#turn = this.#shared.turns.now;
    this.#shared.turns.decided();
    const view = new DataView(frame);
    const bytes = Buffer.from(frame);
    let [at, decided] = [0, 0];
    let key: LinkKey | undefined;
    while (at < view.byteLength) {
      const length = entryBytes(view, at);
      if (length === UNREADABLE || this.#unanswered === LINK_LIMITS.requests) {
        this.#close(length === UNREADABLE ? 1007 : 4009);
        break;
      }
      const number = view.getUint32(at, true);
      const kind = view.getUint8(at + 4);
      if (kind <= CALLS.length) {
        const named = this.#keys.get(view.getUint16(at + 6, true));
        if (named !== undefined && named !== key) this.#shared.decider.begin(named.credentials);
        key = named;
        readCall(view, bytes, at, { command: this.#command, texts: this.#texts });
        this.#command.eventId = this.#events.get(view.getUint16(at + 8, true)) ?? null;
        decided += this.#book(number, key);
      } else if (kind === Entry.REQUEST) {
        const request = readRequest(view, bytes, at);
        if (request === null) {
          this.#close(1007);
          break;
        }
        decided += this.#ask(number, request);
      } else if (kind === Entry.EVENT) this.#events.set(number, readEvent(bytes, at));
      else this.#forget();
      at += length;
    }
    if (decided > 0) this.#answerLater(decided);
  }

  /** @returns 1 when the answer has been written, 0 when it comes later. */
  #book(number: number, key: LinkKey | undefined): number {
    const command = this.#command;
    this.#unanswered += 1;
    this.#shared.requests += 1;
    if (key === undefined) return this.#show(number, 0, this.#refuseKey(command.call!));
    const decided = this.#shared.decider.decide(command);
    // A repetition may have preferred a representation the first time.
    if (decided instanceof Promise) return this.#show(number, 0, decided.then(withApplied));
    if ("status" in decided) return this.#show(number, 0, withApplied(decided));
    this.#showDecided(number, command, decided);
    return 1;
  }

  #showDecided(number: number, command: Command, { problem, isDone }: Decided): void {
    const { decider, engine } = this.#shared;
    const to = (this.#answers ??= this.#shared.buffers.take());
    if (problem === null) writeDone(to, number, isDone!);
    else writeFull(to, number, 0, problemAnswer(problem, decider.pathOf(command), engine.nowMs()));
  }

  /** The gateway sent the request before it heard that the key has ended. */
  #refuseKey(call: BookingKind): Answer | Promise<Answer> {
    return this.#shared.front.answerTo(LinkRequest.withoutKey(call));
  }

  #ask(number: number, request: LinkRequest): number {
    this.#unanswered += 1;
    this.#shared.requests += 1;
    const { front, engine, decider } = this.#shared;
    const { method, path } = request;
    const busy = decider.waiting.refusalOf({ method, durable: true, yields: LOCKS.test(path) });
    if (busy !== null) return this.#show(number, 0, problemAnswer(busy, path, engine.nowMs()));
    return this.#show(number, this.#keyNumberOf(request), front.answerTo(request));
  }

  /** @returns The number of the request's key from now on; 0 when it is none of an organization. */
  #keyNumberOf(request: LinkRequest): number {
    const { apiKey, authorization, organizationId } = request;
    const text = `${apiKey}\n${authorization}\n${organizationId}`;
    const known = this.#keyNumbers.get(text);
    if (known !== undefined) return known;
    if (this.#lastKey === LINK_LIMITS.keys || !this.#shared.isAdmitted(request)) return 0;
    this.#lastKey += 1;
    const number = this.#lastKey;
    const from = request.address();
    const client = { apiKey, authorization, organizationId, address: () => from };
    const key = new LinkKey(client, () => this.#endKey(number, text));
    this.#keys.set(number, key);
    this.#keyNumbers.set(text, number);
    this.#shared.keys.add(key);
    return number;
  }

  #endKey(number: number, text: string): void {
    this.#shared.keys.delete(this.#keys.get(number)!);
    this.#keys.delete(number);
    this.#keyNumbers.delete(text);
    this.#peer?.send(writeNotice(number, 0, AnswerKind.KEY_ENDED), true);
  }

  #forget(): void {
    for (const key of this.#keys.values()) this.#shared.keys.delete(key);
    this.#keys.clear();
    this.#keyNumbers.clear();
    this.#events.clear();
    this.#lastKey = 0;
  }

  /** @returns As `#book`. */
  #show(number: number, key: number, answer: Answer | Promise<Answer>): number {
    if (answer instanceof Promise) {
      this.#reading += 1;
      void answer.then((later) => this.#showLater(number, key, later));
      return 0;
    }
    writeFull((this.#answers ??= this.#shared.buffers.take()), number, key, answer);
    return 1;
  }

  /** An answer has been read from disk. */
  #showLater(number: number, key: number, answer: Answer): void {
    this.#reading -= 1;
    if (this.#peer === null) return;
    this.#show(number, key, answer);
    this.#answerLater(1);
  }

  #answerLater(requests: number): void {
    const { decider, engine } = this.#shared;
    decider.waiting.count += requests;
    this.#extents.push({ end: this.#sentBytes + this.#answers!.length, requests });
    engine.afterDurable(this.#durable);
  }

  readonly #durable = (): void => {
    const extent = this.#extents.shift();
    if (extent === undefined || this.#peer === null) return;
    const isFirst = this.#readyRequests === 0;
    this.#readyEnd = extent.end;
    this.#readyRequests += extent.requests;
    if (isFirst) this.#shared.turns.flushLater(this);
  };

  /** Sends the answers that may leave, as one message. */
  flush(): void {
    const [answers, peer, requests] = [this.#answers, this.#peer, this.#readyRequests];
    if (peer === null) return;
    assert(answers !== null && requests > 0, "a link that is flushed has answers");
    this.#readyRequests = 0;
    const end = this.#readyEnd - this.#sentBytes;
    this.#isBlocked = !peer.send(answers.bytes.subarray(0, end), true);
    this.#sentBytes = this.#readyEnd;
    this.#unanswered -= requests;
    this.#shared.decider.waiting.count -= requests;
    if (end === answers.length) this.#freeAnswers();
    else answers.remove(0, end);
    this.#closeWhenAnswered();
  }

  #freeAnswers(): void {
    if (this.#answers !== null) this.#shared.buffers.giveBack(this.#answers);
    this.#answers = null;
  }

  stop(): void {
    this.#close(1012);
  }

  /** Decides nothing more, and closes the link after the answers to what was decided. */
  #close(code: CloseCode): void {
    if (this.#closeCode !== 0) return;
    this.#closeCode = code;
    this.#frames.length = 0;
    this.tellState(EngineState.CLOSED);
    this.#closeWhenAnswered();
  }

  #closeWhenAnswered(): void {
    const owes = this.#extents.length > 0 || this.#readyRequests > 0 || this.#reading > 0;
    if (this.#closeCode === 0 || owes) return;
    this.#peer?.close(this.#closeCode, CLOSES[this.#closeCode]);
  }

  closed(): void {
    this.#peer = null;
    this.#closeCode = 1012;
    this.#frames.length = 0;
    const waiting = this.#extents.reduce((sum, { requests }) => sum + requests, 0);
    this.#shared.decider.waiting.count -= waiting + this.#readyRequests;
    this.#forget();
    this.#freeAnswers();
    this.#shared.closed(this);
  }
}

// All links of gateways, on the side of the engine: their proofs, and the state that they hear.

/** A gateway that hears nothing for several of these knows that its engine is lost. */
const STATE_MS = 500;
/** Links that may be open; a gateway needs one. */
export const LINKS_MAX = 64;

const NOT_PROVEN: Problem = {
  refused: Result.ACCESS_DENIED,
  detail: "The proof of the gateway is missing, not valid, or too old.",
};
const TOO_MANY: Problem = { refused: Result.OVERLOADED, detail: "Too many gateways are linked." };

interface LinkServices extends DeciderServices {
  /** Handshakes without a valid proof, by the address that they came from. */
  readonly badKeys: Throttle;
}

export class OpenLinks implements LinkShared {
  readonly buffers = new AnswerBuffers();
  readonly keys = new KeyRounds<LinkKey>((client) => this.decider.isAdmitted(client));
  readonly turns = new Turns<Link>();
  /** Requests that came over links. */
  requests = 0;
  readonly #proofs: ProofCheck;
  readonly #open = new Set<Link>();
  #services: LinkServices | null = null;
  #front: CommandFront | null = null;
  #decider: Decider | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(secret: string) {
    this.#proofs = new ProofCheck(secret);
  }

  get engine(): Engine {
    return this.#services!.engine;
  }

  get decider(): Decider {
    return this.#decider!;
  }

  get front(): CommandFront {
    return this.#front!;
  }

  /** Open links. */
  get count(): number {
    return this.#open.size;
  }

  /** Requests that wait for the disk, and those that were refused because too many did. */
  get waiting(): Decider["waiting"] {
    return this.decider.waiting;
  }

  /** To be called once, before the first handshake. */
  attach(front: CommandFront, services: LinkServices): void {
    this.#services = services;
    this.#front = front;
    this.#decider = new Decider(services, front);
  }

  /** @returns The answer to a handshake. */
  open(head: RequestHead): Answer | Problem {
    const { badKeys, engine } = this.#services!;
    if (!this.#proofs.accepts(bearerOf(head.authorization))) {
      badKeys.failed(head.address(), engine.nowMs());
      return NOT_PROVEN;
    }
    if (this.#open.size === LINKS_MAX) return TOO_MANY;
    const link = new Link(this);
    const sender = { name: "gateway", hasKey: true };
    return upgrade({ protocol: LINK_PROTOCOL, sender, handler: link });
  }

  opened(link: Link): void {
    this.#open.add(link);
    this.#timer ??= setInterval(() => this.#tellState(), STATE_MS).unref();
    link.tellState(this.#stateNow());
  }

  #tellState(): void {
    const state = this.#stateNow();
    for (const link of this.#open) link.tellState(state);
  }

  #stateNow(): EngineState {
    const { engine, isReady } = this.#services!;
    if (!isReady()) return EngineState.CLOSED;
    return engine.isWritable ? EngineState.TAKES_CHANGES : EngineState.TAKES_READS;
  }

  closed(link: Link): void {
    this.#open.delete(link);
    this.turns.delete(link);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer ?? undefined);
    this.#timer = null;
  }

  /** Whether the key of a client is that of an organization, or acts for one. */
  isAdmitted(client: Credentials): boolean {
    return this.decider.isAdmitted(client) === true;
  }
}

// Reads the entries of a frame; `entryBytes` has made sure that they are whole.

const WORD = 2 ** 32;
const EVENT_ID_AT = 8;

interface Into {
  readonly command: Command;
  /** Sessions repeat: a text that was read before is the same object. */
  readonly texts: RecentTexts;
}

/** Reads a booking call, except for its event. */
function readCall(view: DataView, bytes: Buffer, at: number, { command, texts }: Into): void {
  command.clear();
  command.call = CALLS[view.getUint8(at + 4) - 1]!;
  command.isUsual = true;
  const flags = view.getUint8(at + 5);
  const isLong = (flags & Flag.LONG_IDS) !== 0;
  const idBytes = isLong ? 8 : 4;
  const [seats, areas] = [view.getUint16(at + 10, true), view.getUint16(at + 12, true)];
  let next = at + HEAD_BYTES;
  for (let i = 0; i < seats; i++, next += idBytes) {
    const choice = command.seats.add();
    choice.id = idAt(view, next, isLong);
    choice.capacity = null;
  }
  for (let i = 0; i < areas; i++, next += idBytes + 4) {
    const choice = command.areas.add();
    choice.id = idAt(view, next, isLong);
    choice.capacity = view.getUint32(next + idBytes, true);
  }
  const session = next + view.getUint8(at + 16);
  const holdType = session + view.getUint8(at + 15);
  const key = holdType + view.getUint8(at + 14);
  if ((flags & Flag.HAS_SESSION) !== 0) command.body.sessionId = texts.find(bytes, next, session);
  if ((flags & Flag.HAS_HOLD_TYPE) !== 0) {
    command.body.holdType = texts.find(bytes, session, holdType);
  }
  if (key > holdType) command.idempotencyKey = bytes.toString("latin1", holdType, key);
}

function idAt(view: DataView, at: number, isLong: boolean): number {
  const low = view.getUint32(at, true);
  return isLong ? view.getUint32(at + 4, true) * WORD + low : low;
}

function readEvent(bytes: Buffer, at: number): string {
  return bytes.toString("latin1", at + EVENT_ID_AT, at + EVENT_ID_AT + EVENT_ID_BYTES);
}

/** @returns Null when its head is not JSON. */
function readRequest(view: DataView, bytes: Buffer, at: number): LinkRequest | null {
  const start = at + HEAD_BYTES;
  const body = start + view.getUint32(at + 8, true);
  const end = body + view.getUint32(at + 12, true);
  const head = parseJson(bytes.subarray(start, body));
  if (!head.ok) return null;
  return new LinkRequest(head.value as RequestHeadText, bytes.subarray(body, end));
}

// A request that came over a link in its general form, as the front takes it.

const NO_HEAD: RequestHeadText = {
  method: "post",
  path: "",
  query: "",
  apiKey: "",
  authorization: "",
  organizationId: "",
  contentType: "",
  contentEncoding: "",
  idempotencyKey: null,
  prefer: "",
  repeatedHeader: "",
  requestId: "",
  address: "",
};

class LinkRequest extends Exchange {
  /** As commands: a repetition waits for the first, which may have come over a lost link. */
  override readonly waits = true;
  readonly address: () => string;

  /** @param body - It is read in the same turn. */
  constructor({ address, ...head }: RequestHeadText, body: Buffer) {
    super();
    Object.assign(this, head);
    this.address = () => address;
    this.body = body;
  }

  static withoutKey(call: BookingKind): LinkRequest {
    return new LinkRequest({ ...NO_HEAD, path: bookingPath(call) }, NO_BODY);
  }

  /** Its answer is returned, not sent. */
  respond(): void {}
}

// Writes answers as a link carries them.

/** Status 200 with `true` or `false`. */
function writeDone(to: AnswerBuffer, number: number, isDone: boolean): void {
  to.reserve(ANSWER_BYTES);
  to.uint32(number);
  to.uint16(200);
  to.uint16(isDone ? AnswerKind.TRUE : AnswerKind.FALSE);
}

/** @param key - The number of the request's key from now on; 0 for none. */
function writeFull(to: AnswerBuffer, number: number, key: number, answer: Answer): void {
  const { status, type, headers } = answer;
  const head = Buffer.from(JSON.stringify([type, headers]));
  const body = typeof answer.body === "string" ? Buffer.from(answer.body) : answer.body;
  to.reserve(FULL_ANSWER_BYTES + head.length + body.length);
  to.uint32(number);
  to.uint16(status);
  to.uint16(AnswerKind.FULL);
  to.uint16(key);
  to.uint16(head.length);
  to.uint32(body.length);
  for (const part of [head, body]) {
    to.bytes.set(part, to.length);
    to.length += part.length;
  }
}

/** @returns A message that answers nothing. */
function writeNotice(number: number, value: number, kind: number): Uint8Array {
  const bytes = Buffer.alloc(ANSWER_BYTES);
  bytes.writeUInt32LE(number, 0);
  bytes.writeUInt16LE(value, 4);
  bytes.writeUInt16LE(kind, 6);
  return bytes;
}
