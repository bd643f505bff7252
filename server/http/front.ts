/** The front as a socket sees it: it takes requests and gives answers, both as values. */
import { randomBytes } from "node:crypto";
import type { WaitingClient } from "../../engine/queries/history.ts";
import type { Caller } from "../../engine/bodies.ts";
import { type Answer, HEALTHY, NOT_READY, type Problem, problemAnswer } from "./answers.ts";

/** The headers that identify the caller, unchanged; empty when they are missing. */
export interface Credentials {
  readonly apiKey: string;
  readonly authorization: string;
  /** X-Organization-ID. */
  readonly organizationId: string;
}

/** The parts of a request that the front looks at. The text of a missing header is empty. */
export interface Request extends WaitingClient {
  /** Lower case. */
  readonly method: string;
  readonly path: string;
  /** Without its question mark. */
  readonly query: string;
  readonly apiKey: string;
  readonly authorization: string;
  readonly organizationId: string;
  readonly contentType: string;
  readonly contentEncoding: string;
  /** Null when the header is missing: an empty one is not valid. */
  readonly idempotencyKey: string | null;
  readonly prefer: string;
  readonly ifMatch: string;
  /** Absent in a request that did not come over HTTP. */
  readonly ifNoneMatch?: string;
  /** The name of a header that came twice, of those above; empty when none did. */
  readonly repeatedHeader: string;
  /** The headers that live answers look at; empty when they are missing. */
  readonly accept?: string;
  readonly acceptEncoding?: string;
  readonly lastEventId?: string;
  readonly origin?: string;
  readonly host?: string;
  /** The subprotocols that a WebSocket handshake offers; null for any other request. */
  readonly protocols?: string | null;
  /** Address of the client. Called only when the key is unknown. */
  readonly address: () => string;
  readonly body: Buffer;
}

/** A request before its body has been read. */
export type RequestHead = Omit<Request, "body">;

/** Facts of a request, from its head. */
export interface Found {
  /** The largest body that is read. */
  readonly bodyBytesMax: number;
  /** True when its body goes to `pass` as it comes, in place of being kept until it is whole. */
  readonly isPassedOn?: boolean;
  /** A path of the route table without parameters, as it stands there: never ambiguous. */
  readonly isFixed?: boolean;
}

/** Decision from the head alone, when a body comes in pieces. */
export interface Judged {
  /** Null when the body is worth keeping. */
  readonly refusal: Problem | null;
  /** The organization that sends the body; null when the path needs no key. */
  readonly organization: string | null;
}

/** The first request with its `Idempotency-Key`. */
export interface FirstOfKey {
  readonly id: string;
  readonly fingerprint: string;
  readonly caller: Caller;
  readonly isConfidential: boolean;
}

/** A body whose handling would take too long in one turn. */
export interface LongBody {
  /** Each with memory of its own, which the handler may give away. */
  readonly parts: readonly Uint8Array[];
  /**
   * To be called once, when the body has turned out to be valid, before anything changes.
   *
   * @returns The answer that the request gets instead; null when it is to be carried out.
   */
  readonly claim: () => Answer | Problem | Promise<Answer | Problem> | null;
}

export const NO_BODY = Buffer.alloc(0);
/** Differs in each process, so that the ids of two starts differ. */
const REQUEST_ID_PREFIX = randomBytes(6).toString("base64url");
let requestIdCount = 0;

/**
 * One request on its way to its answer: the request itself and the notes of the front. A socket
 * makes an exchange once and uses it again for later requests, so that a request costs no object
 * and no closure of its own.
 */
export abstract class Exchange<F extends Found = Found> implements Request {
  method = "";
  path = "";
  query = "";
  apiKey = "";
  authorization = "";
  organizationId = "";
  contentType = "";
  contentEncoding = "";
  idempotencyKey: string | null = null;
  prefer = "";
  ifMatch = "";
  ifNoneMatch = "";
  repeatedHeader = "";
  accept = "";
  acceptEncoding = "";
  lastEventId = "";
  origin = "";
  host = "";
  protocols: string | null = null;
  /** The header `Content-Length`; null without it. Of a chunked body: its length, once it is whole. */
  contentLength: number | null = null;
  /** A body with `Transfer-Encoding: chunked`. */
  isChunked = false;
  /** The header `X-Request-Id`; empty when it is missing or not well-formed. */
  requestId = "";
  /** Called when the client closes the connection before it has its answer. */
  onGone: (() => void) | null = null;
  /** Valid only while `handle` runs. */
  body: Buffer = NO_BODY;
  /** The parts of a body that came in several; then `body` is empty. */
  parts: readonly Buffer[] | null = null;
  /** Members of the body that belong to its transport: strict handling knows them, too. */
  envelope: readonly string[] = [];
  /** The front that found the request: another one could not handle it. */
  front: Front<F> | null = null;
  found: F | null = null;
  /** As judged: its body was not kept, and `handle` answers with it. */
  refusal: Problem | null = null;
  /** Arrival of the whole request; 0 before. */
  startedMs = 0;
  /** The organization that the request acts for; 0 for none. */
  organization = 0;
  first: FirstOfKey | null = null;
  answer: Answer | null = null;
  /** To be called once the answer may leave. */
  readonly leave = () => this.front!.leave(this);
  abstract readonly address: () => string;
  /** True when a repetition waits for the first request with its key; else it is refused. */
  readonly waits: boolean = false;

  /** The id of the request: its own, or one that is made when it is first needed. */
  get id(): string {
    if (this.requestId === "") {
      requestIdCount += 1;
      this.requestId = `${REQUEST_ID_PREFIX}-${requestIdCount.toString(36)}`;
    }
    return this.requestId;
  }

  /** Sends the answer. The exchange is free for another request from then on. */
  abstract respond(answer: Answer): void;

  /** Closes the connection without an answer; `respond` is to be called all the same. */
  abandon(): void {}

  /** Lets no more of the body come, until `resumeBody`. */
  pauseBody(): void {}

  resumeBody(): void {}

  find(front: Front<F>): F {
    this.front = front;
    this.found = front.find(this);
    return this.found;
  }

  /** @param parts - As `parts`. */
  handle(body: Buffer, parts: readonly Buffer[] | null = null): void {
    this.body = body;
    this.parts = parts;
    this.front!.handle(this);
    this.body = NO_BODY;
    this.parts = null;
  }

  /** Joins the parts of a body. */
  join(): void {
    if (this.parts?.length === 1) this.body = this.parts[0]!;
    else if (this.parts !== null) this.body = Buffer.concat(this.parts);
    this.parts = null;
  }

  /**
   * Forgets everything of the request: the next one must not see it, and texts that an exchange
   * held while it waits would have to be kept by the collector.
   */
  protected clear(): void {
    this.method = "";
    this.path = "";
    this.query = "";
    this.apiKey = "";
    this.authorization = "";
    this.organizationId = "";
    this.contentType = "";
    this.contentEncoding = "";
    this.idempotencyKey = null;
    this.prefer = "";
    this.ifMatch = "";
    this.ifNoneMatch = "";
    this.repeatedHeader = "";
    this.accept = "";
    this.acceptEncoding = "";
    this.lastEventId = "";
    this.origin = "";
    this.host = "";
    this.protocols = null;
    this.contentLength = null;
    this.isChunked = false;
    this.requestId = "";
    this.onGone = null;
    this.front = null;
    this.found = null;
    this.refusal = null;
    this.startedMs = 0;
    this.organization = 0;
    this.first = null;
    this.answer = null;
  }
}

export interface Front<F extends Found = Found> {
  /** Called before the body is read. */
  find(head: RequestHead): F;
  /** Called before any of the body is kept, unless the body came together with the head. */
  judge(exchange: Exchange<F>): Judged;
  /**
   * Calls `respond` of the exchange once, in this turn or a later one, whatever happens. With a
   * `refusal` the body has been dropped.
   */
  handle(exchange: Exchange<F>): void;
  /**
   * Takes a piece of the body of a request that is passed on.
   *
   * @param piece - Valid only during this call.
   */
  pass?(exchange: Exchange<F>, piece: Uint8Array, isLast: boolean): void;
  /** Called by the exchange: sends the answer that was ready and waited. */
  leave(exchange: Exchange<F>): void;
  /** The answer when the socket itself refuses a request. */
  refuse(problem: Problem, exchange: Exchange<F>): Answer;
}

/** While the store is being opened: the process is up, but takes no requests yet. */
export class StartingFront implements Front {
  find(): Found {
    return { bodyBytesMax: 0 };
  }

  judge(): Judged {
    return { refusal: NOT_READY, organization: null };
  }

  handle(exchange: Exchange): void {
    exchange.respond(exchange.path === "/healthz" ? HEALTHY : this.refuse(NOT_READY, exchange));
  }

  /** No answer of this front waits. */
  leave(): void {}

  refuse(_: Problem, { path }: Exchange): Answer {
    return problemAnswer(NOT_READY, path, Date.now());
  }
}
