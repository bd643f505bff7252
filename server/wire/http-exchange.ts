/** One request on a connection: takes its head from the library, and sends its answer. */
import type { Answer, Problem } from "./answers.ts";
import { type BodyPieces, freePages, LONG_BYTES, type Sender } from "./bounds/body-budget.ts";
import type { TrustedProxies } from "./client-address.ts";
import { EventStream, type StreamSocket } from "./event-stream.ts";
import { Exchange } from "./front.ts";
import { FrontResult } from "./replies.ts";
import {
  type Named,
  OpenSocket,
  type SocketHandler,
  type SocketOpening,
  type Sockets,
  WEBSOCKET_VERSION,
} from "./sockets.ts";
import type { Transfer, Transfers } from "./bounds/transfers.ts";
import { type AnswerSocket, writeAnswer, writeHead } from "./write-answer.ts";

/** The response object of the library. */
export interface Socket extends AnswerSocket, Omit<StreamSocket, keyof AnswerSocket> {
  cork(write: () => void): unknown;
  /** Calls `onAborted`. */
  close(): unknown;
  pause(): unknown;
  resume(): unknown;
  onWritable(writeMore: (offset: number) => boolean): unknown;
  getRemoteAddressAsText(): ArrayBuffer;
  upgrade(named: Named, key: string, protocol: string, extensions: string, context: unknown): void;
}

/** What the library needs to open a WebSocket; valid until the request has been answered. */
export interface Handshake {
  readonly key: string;
  /** The header `Sec-WebSocket-Protocol`; empty when it is missing. */
  readonly protocols: string;
  readonly context: unknown;
}

/** The request object of the library: valid only during the call that passes it. */
export interface Head {
  getHeader(name: string): string;
  getUrl(): string;
  getQuery(): string | undefined;
  forEach(take: (name: string, value: string) => void): void;
}

export type OnAnswer = (exchange: Exchange, answer: Answer) => void;

/** What an exchange needs of all others. */
export interface Exchanges {
  readonly proxies: TrustedProxies;
  /** Answers that wait until the client reads. */
  readonly answers: Transfers;
  /** Bytes that those answers may hold together. */
  readonly answerBytesMax: number;
  readonly sockets: Sockets;
  take(exchange: HttpExchange, chunk: ArrayBuffer, isLast: boolean): void;
  /** Whether there may be another answer of which nobody knows whether it is read. */
  admitsUnmeasured(): boolean;
  /** To be called with every answer before it is sent; null when nobody wants to know. */
  readonly onAnswer: OnAnswer | null;
  /** The request has been answered. */
  end(exchange: HttpExchange): void;
  /** The connection has been closed before that. */
  lose(exchange: HttpExchange): void;
  /** Runs what opens a WebSocket, where the library does it right. */
  openSocket(open: () => void): void;
  /** The exchange may serve another request. */
  release(exchange: HttpExchange): void;
}

const NO_LENGTH: Problem = {
  refused: FrontResult.LENGTH_REQUIRED,
  detail: "Send the body with a Content-Length and without a Transfer-Encoding.",
};
const BAD_LENGTH = malformed("The request needs one Content-Length at most, and not an empty one.");
const BAD_ENCODING = malformed("The header Transfer-Encoding is empty.");
const TWO_HOSTS = malformed("The header Host may come only once.");
const BAD_METHOD = malformed("The method must be in upper case, and not CONNECT.");
/** What UUIDs, traces and Base64 contain: nothing that needs escaping anywhere. */
const REQUEST_ID = /^[\w.:+/=@~-]{1,128}$/;
const JSON_TYPE = "application/json";
/** The library closes a connection after a request whose `Connection` header has this length. */
const CLOSE_LENGTH = "close".length;

export class HttpExchange extends Exchange implements Transfer {
  /** Not to be used once `isOver`: uWS throws for a response that is answered or aborted. */
  socket: Socket | null = null;
  /** Answered, or aborted by the client. */
  isOver = false;
  /** Whether the whole request has come. */
  isWhole = false;
  /** Whether the library is in the call of the handler for this request. */
  isBeingRead = false;
  /** What has come of a body that comes in pieces. */
  pieces: BodyPieces | null = null;
  bodyBytes = 0;
  /** What a body that comes in pieces has of the memory for bodies: its `Content-Length`. */
  budgetBytes = 0;
  /** Who sends a body that comes in pieces; null for others. */
  sender: Sender | null = null;
  /** Why that body is not kept, and will be refused. */
  refusal: Problem | null = null;
  heldBytes = 0;
  deadlineMs = 0;
  /** What is wrong with the head: where its body ends is not certain. */
  headProblem: Problem | null = null;
  isLast = false;
  isCutOff = false;
  answerId = "";
  /** Of a request for a WebSocket; null for any other. */
  handshake: Handshake | null = null;
  #hasHost = false;
  #forwardedFor = "";
  /** The body of the answer while the client does not read it. */
  #waiting: Uint8Array | null = null;
  #stream: EventStream | null = null;
  readonly #exchanges: Exchanges;
  readonly address = () => {
    if (this.isOver) return "";
    const address = Buffer.from(this.socket!.getRemoteAddressAsText()).toString();
    return this.#exchanges.proxies.clientOf(address, this.#forwardedFor);
  };
  readonly abort = () => {
    this.#exchanges.lose(this);
    // Of a whole body the handler may still need the pieces. It answers even if nobody is there.
    if (!this.isWhole) this.pieces?.free();
    this.onGone?.();
    if (this.#stream !== null) {
      this.#stream.lost();
      this.#free();
    } else if (this.#waiting !== null) this.#free();
  };
  readonly take = (chunk: ArrayBuffer, isLast: boolean) =>
    this.#exchanges.take(this, chunk, isLast);
  readonly #send = () => {
    if (!this.isOver && this.#isUnmeasured() && !this.#exchanges.admitsUnmeasured()) this.abandon();
    if (this.isOver) {
      this.#leaveUnopened();
      this.#free();
      return;
    }
    if (this.answer!.opening === undefined || this.isBeingRead) this.socket!.cork(this.#write);
    else this.#exchanges.openSocket(() => this.socket!.cork(this.#write));
    if (this.#stream !== null) this.#stream.handler.opened(this.#stream);
    else if (this.#waiting === null) this.#sent();
    else this.#wait(this.#waiting);
  };
  readonly #write = () => {
    const { opening, following } = this.answer!;
    if (opening !== undefined) this.#upgrade(opening);
    else if (following !== undefined) this.#follow(following);
    else this.#waiting = writeAnswer(this.socket!, this.answer!, this);
  };
  readonly #writeMore = (offset: number): boolean => {
    const { socket } = this;
    const body = this.#waiting!;
    let [mayContinue, isComplete] = [false, false];
    socket!.cork(() => {
      [mayContinue, isComplete] = socket!.tryEnd(body.subarray(offset), body.length);
    });
    if (isComplete) this.#sent();
    return mayContinue;
  };
  /**
   * One call for all headers takes less time than one for each that is needed. Comparing lengths
   * first takes less time than comparing names.
   */
  readonly #takeHeader = (name: string, value: string) => {
    switch (name.length) {
      case 4:
        if (name === "host") this.#takeHost(value);
        break;
      case 6:
        if (name === "accept") this.accept = value;
        else if (name === "origin") this.origin = value;
        else if (name === "prefer")
          this.prefer = this.prefer === "" ? value : `${this.prefer},${value}`;
        break;
      case 9:
        if (name === "x-api-key") {
          if (this.apiKey !== "") this.repeatedHeader = name;
          this.apiKey = value;
        }
        break;
      case 10:
        if (name === "connection") this.isLast = value.length === CLOSE_LENGTH;
        break;
      case 12:
        // One shared text for the usual value costs less than keeping the text of each request.
        if (name === "content-type") this.contentType = value === JSON_TYPE ? JSON_TYPE : value;
        else if (name === "x-request-id") this.requestId = REQUEST_ID.test(value) ? value : "";
        break;
      case 13:
        if (name === "authorization") {
          if (this.authorization !== "") this.repeatedHeader = name;
          this.authorization = value;
        } else if (name === "last-event-id") this.lastEventId = value;
        break;
      case 14:
        if (name === "content-length") this.#takeLength(value);
        break;
      case 15:
        if (name === "idempotency-key") {
          if (this.idempotencyKey !== null) this.repeatedHeader = name;
          this.idempotencyKey = value;
        } else if (name === "x-forwarded-for") {
          this.#forwardedFor = this.#forwardedFor === "" ? value : `${this.#forwardedFor},${value}`;
        } else if (name === "accept-encoding") this.acceptEncoding = value;
        break;
      case 16:
        if (name === "content-encoding") this.contentEncoding = value;
        break;
      case 17:
        if (name === "x-organization-id") {
          if (this.organizationId !== "") this.repeatedHeader = name;
          this.organizationId = value;
        } else if (name === "transfer-encoding") {
          this.headProblem = value === "" ? BAD_ENCODING : NO_LENGTH;
        }
        break;
      default:
    }
  };

  constructor(exchanges: Exchanges) {
    super();
    this.#exchanges = exchanges;
  }

  /** @param method - Lower case; empty when it is not one of HTTP. */
  begin(socket: Socket, head: Head, method: string): void {
    this.method = method;
    this.path = head.getUrl();
    this.query = head.getQuery() ?? "";
    if (method === "") this.headProblem = BAD_METHOD;
    head.forEach(this.#takeHeader);
    this.socket = socket;
    this.isOver = false;
    this.isWhole = false;
  }

  #takeHost(value: string): void {
    if (this.#hasHost) this.headProblem = TWO_HOSTS;
    this.host = value;
    this.#hasHost = true;
  }

  /**
   * The library does not say whether a client reads answers without a body. Those that change
   * nothing are limited; a 204 is the answer to a change, of which each takes a write of the log.
   */
  #isUnmeasured(): boolean {
    return this.method === "head" || this.answer!.status === 302;
  }

  /** Two lengths are refused even if they are equal. The library takes an empty one for none. */
  #takeLength(value: string): void {
    if (this.contentLength !== null || value === "") this.headProblem = BAD_LENGTH;
    this.contentLength = Number(value);
  }

  respond(answer: Answer): void {
    // The cut-off has answered. Released, the exchange would serve another request while uWS still
    // calls it for this one.
    if (this.isCutOff) return;
    if (!this.isWhole && !this.isOver) {
      this.cutOff(answer);
      return;
    }
    this.#take(answer);
    // A client that closes sends no more requests. The library would take one that it has read
    // already, but closes the connection if the answer to this one comes later.
    // A WebSocket must not be opened while the library reads another request.
    if (this.isLast || (answer.opening !== undefined && !this.isBeingRead))
      setImmediate(this.#send);
    else this.#send();
  }

  /**
   * Answers before the whole body has come, and closes the connection: the rest is not needed. As
   * it may still come, the exchange serves no other request.
   */
  cutOff(answer: Answer): void {
    if (this.isOver) return;
    this.isLast = true;
    this.isCutOff = true;
    this.pieces?.free();
    this.#take(answer);
    this.socket!.cork(this.#write);
    this.#exchanges.end(this);
  }

  /** The front answers so only to a handshake. The response of the library ends here. */
  #follow(handler: SocketHandler): void {
    const { answers, answerBytesMax } = this.#exchanges;
    writeHead(this.socket!, this.answer!, false);
    const onEnd = () => this.#sent();
    this.#stream = new EventStream(this.socket!, handler, {
      answers,
      answerBytesMax,
      onEnd,
    });
  }

  /** The client has gone: the handler of a stream never gets its socket. */
  #leaveUnopened(): void {
    const { opening, following } = this.answer!;
    (opening?.handler ?? following)?.closed();
  }

  #upgrade(opening: SocketOpening): void {
    const { key, context } = this.handshake!;
    const socket = new OpenSocket(this.#exchanges.sockets, opening);
    this.socket!.upgrade({ socket }, key, opening.protocol, "", context);
  }

  /** A refusal has an id, so that its client can name it. */
  #take(answer: Answer): void {
    this.answer = answer;
    this.answerId = this.requestId === "" && answer.status >= 400 ? this.id : this.requestId;
    this.#exchanges.onAnswer?.(this, answer);
  }

  /**
   * Waits until the client reads. Until then the library closes the connection if another request
   * comes on it, so one answer at most waits for each connection.
   */
  #wait(body: Uint8Array): void {
    const { answers, answerBytesMax } = this.#exchanges;
    this.socket!.onWritable(this.#writeMore);
    this.heldBytes = body.length;
    answers.begin(this, body.length);
    answers.shrinkTo(answerBytesMax);
  }

  #sent(): void {
    this.#exchanges.end(this);
    this.#free();
  }

  override abandon(): void {
    if (!this.isOver) this.socket!.close();
  }

  override pauseBody(): void {
    if (!this.isOver) this.socket!.pause();
  }

  override resumeBody(): void {
    if (!this.isOver) this.socket!.resume();
  }

  #free(): void {
    const body = this.answer?.body ?? "";
    if (typeof body !== "string" && body.length >= LONG_BYTES) freePages(body);
    this.pieces?.free();
    this.clear();
    this.#exchanges.release(this);
  }

  protected override clear(): void {
    super.clear();
    this.headProblem = null;
    this.isLast = false;
    this.isCutOff = false;
    this.handshake = null;
    this.#hasHost = false;
    this.#forwardedFor = "";
    this.#waiting = null;
    this.#stream = null;
    this.socket = null;
    this.pieces = null;
    this.bodyBytes = 0;
    this.budgetBytes = 0;
    this.sender = null;
    this.refusal = null;
  }
}

/** The library looks at the key only. What is no whole handshake goes to the next handler. */
export function isHandshake(head: Head): boolean {
  const isUpgrade = head.getHeader("upgrade").toLowerCase() === "websocket";
  if (!isUpgrade || head.getHeader("sec-websocket-version") !== WEBSOCKET_VERSION) return false;
  const options = head.getHeader("connection").toLowerCase().split(",");
  return options.some((option) => option.trim() === "upgrade");
}

export function handshakeOf(head: Head, context: unknown): Handshake {
  const protocols = head.getHeader("sec-websocket-protocol");
  return { key: head.getHeader("sec-websocket-key"), protocols, context };
}

function malformed(detail: string): Problem {
  return { refused: FrontResult.MALFORMED_REQUEST, detail };
}
