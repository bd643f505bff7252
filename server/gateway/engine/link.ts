/**
 * The link of one gateway: its frames are decided in turns by the rules of command sockets, and
 * each request is answered when the log has what its answer rests on.
 *
 * Ordering: requests are decided in the order in which they came. An answer that must be read from
 * disk comes later than those of the requests after it; a gateway tells answers apart by number.
 */
import type { Engine } from "../../../engine/engine.ts";
import type { BookingKind } from "../../../engine/commands.ts";
import { assert } from "../../../engine/assert.ts";
import type { Credentials } from "../../auth/access.ts";
import type { AnswerBuffer, AnswerBuffers } from "../../commands/answer-buffer.ts";
import { CALLS, Command, UNREADABLE } from "../../commands/command.ts";
import type { Client, Decided, Decider } from "../../commands/decider.ts";
import { RecentTexts } from "../../commands/recent-texts.ts";
import type { Turns, TurnTaker } from "../../commands/turns.ts";
import type { KeyedConnection, KeyRounds } from "../../routing/key-rounds.ts";
import { withApplied } from "../../routing/prefer.ts";
import type { CommandFront } from "../../routing/services.ts";
import { type Answer, problemAnswer } from "../../wire/answers.ts";
import type { Peer, SocketHandler } from "../../wire/sockets.ts";
import { AnswerKind, EngineState, Entry, entryBytes, LINK_LIMITS } from "../link-layout.ts";
import { writeDone, writeFull, writeNotice } from "./answers.ts";
import { readCall, readEvent, readRequest } from "./entries.ts";
import { LinkRequest } from "./request.ts";

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
export class LinkKey implements KeyedConnection {
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
