/** One request on a connection: takes its head from the library, and sends its answer. */
import { STATUS_CODES } from "node:http";
import { type Answer, FrontResult, type Problem, SAFE_HEADERS } from "./answers.ts";
import { sourceOf, type TrustedProxies } from "./client-address.ts";
import { Exchange } from "./front.ts";
import {
  type BodyPieces,
  freePages,
  LONG_BYTES,
  type Sender,
  type Transfer,
  type Transfers,
} from "./limits.ts";
import {
  asciiOrBytes,
  type Named,
  OpenSocket,
  type Peer,
  type SocketHandler,
  type SocketOpening,
  type Sockets,
  WEBSOCKET_VERSION,
} from "./sockets.ts";

// Writes an answer to the socket, or as much of it as the socket takes.

type Bytes = string | ArrayBuffer | Uint8Array;

/** The side of the library that takes an answer. */
interface AnswerSocket {
  writeStatus(status: Bytes): unknown;
  writeHeader(name: Bytes, value: Bytes): unknown;
  end(body: Bytes, closesConnection: boolean): unknown;
  endWithoutBody(): unknown;
  /** @returns Whether more may be written, and whether the answer is complete. */
  tryEnd(body: Bytes, totalBytes?: number): [boolean, boolean];
  pause(): unknown;
}

/** Facts of a request that its answer depends on. */
export interface Outgoing {
  readonly method: string;
  /** True when the connection is closed after the answer. */
  readonly isLast: boolean;
  /** Answers before the whole body has come. */
  readonly isCutOff: boolean;
  /** The server closes the connection after the answer, even if uWS does not know. */
  readonly closesAfter: boolean;
  /** The header `X-Request-Id` of the answer; empty for none. */
  readonly answerId: string;
}

const STATUS_LINES = new Map(
  Object.entries(STATUS_CODES).map(([code, text]) => [Number(code), `${code} ${text ?? ""}`]),
);
const PRINTABLE = /^[\x20-\x7e]*$/;
/** Header names as bytes: the library would encode a text at every call. */
const CONTENT_TYPE_NAME = bytesOf("Content-Type");
const KEEP_ALIVE_NAME = bytesOf("Keep-Alive");
const REQUEST_ID_NAME = bytesOf("X-Request-Id");
/**
 * The library closes a connection that has been idle for a little more than 8 seconds. A client
 * that knows sends no request on a connection that is about to close.
 */
const KEEP_ALIVE = "timeout=8";
/** Answers of at most this length are usually written without asking whether the socket is full. */
const TINY_LENGTH_MAX = 5;
/** Answers of at most this length leave at once, unless the client has not read earlier ones. */
const SHORT_LENGTH_MAX = 16 * 1_024;
/** The share of tiny answers that do ask: asking takes about a microsecond. */
const ASKED_SHARE = 1 / 64;

/**
 * To be called in the library's cork, which makes an answer one write.
 *
 * @returns Null when the answer is complete, otherwise its whole body: the library has taken a part
 * of it and says with `onWritable` from where to continue.
 */
function writeAnswer(socket: AnswerSocket, answer: Answer, outgoing: Outgoing): Uint8Array | null {
  const { status } = answer;
  const { method, isLast, answerId } = outgoing;
  writeHead(socket, answer, isLast);
  if (answerId !== "") socket.writeHeader(REQUEST_ID_NAME, answerId);
  if (isLast && endLast(socket, answer, outgoing)) return null;
  if (method === "head" && !hasNoBody(status)) {
    socket.writeHeader("Content-Length", String(answer.length ?? lengthOf(answer.body)));
    socket.endWithoutBody();
    return null;
  }
  if (hasNoBody(status)) {
    socket.endWithoutBody();
    return null;
  }
  const body = asciiOrBytes(answer.body);
  // A socket that is full is noticed after a few tiny answers, which take little memory.
  const isUnasked = body.length <= TINY_LENGTH_MAX && Math.random() > ASKED_SHARE;
  if (isUnasked) {
    socket.end(body, false);
    return null;
  }
  const written = socket.tryEnd(body);
  if (written[1]) return null;
  return typeof body === "string" ? Buffer.from(body) : body;
}

/**
 * Ends an answer after which the server closes the connection.
 *
 * @returns False for long answers and those without a body: uWS cannot close the connection with
 * them. It reads nothing more from there, and closes it after ten seconds.
 */
function endLast(
  socket: AnswerSocket,
  { status, body }: Answer,
  { method, isCutOff, closesAfter }: Outgoing,
): boolean {
  if (!isCutOff && !closesAfter) {
    // The client asked for it, and the library closes by itself.
    socket.writeHeader("Connection", "close");
    return false;
  }
  const isHead = method === "head";
  if (isCutOff || (!isHead && !hasNoBody(status) && body.length <= SHORT_LENGTH_MAX)) {
    socket.end(isHead ? "" : asciiOrBytes(body), true);
    return true;
  }
  socket.pause();
  socket.writeHeader("Connection", "close");
  return false;
}

function hasNoBody(status: number): boolean {
  return status === 204 || status === 304;
}

/** Writes status and headers. */
function writeHead(socket: AnswerSocket, { status, type, headers }: Answer, isLast: boolean): void {
  // Status 200 is what the library writes by default.
  if (status !== 200) socket.writeStatus(STATUS_LINES.get(status) ?? String(status));
  if (headers === SAFE_HEADERS && !isLast && type !== "") {
    socket.writeHeader(CONTENT_TYPE_NAME, usualHead(type));
    return;
  }
  if (type !== "") socket.writeHeader(CONTENT_TYPE_NAME, type);
  if (!isLast) socket.writeHeader(KEEP_ALIVE_NAME, KEEP_ALIVE);
  for (const [name, value] of headers) {
    // The library writes values as they are: a line break would begin a new header.
    if (PRINTABLE.test(value)) socket.writeHeader(name, value);
  }
}

const usualHeads = new Map<string, ArrayBuffer>();
/** The type of the last answer: most answers have the same one. */
let lastType = "";
let lastHead = bytesOf("");

/** A content type and the headers of most answers as one value: each call of uWS costs time. */
function usualHead(type: string): ArrayBuffer {
  if (type !== lastType) {
    lastType = type;
    lastHead = bytesOfHead(type);
  }
  return lastHead;
}

function bytesOfHead(type: string): ArrayBuffer {
  let bytes = usualHeads.get(type);
  if (bytes === undefined) {
    const others = [["Keep-Alive", KEEP_ALIVE], ...SAFE_HEADERS];
    bytes = bytesOf(type + others.map(([name, value]) => `\r\n${name}: ${value}`).join(""));
    usualHeads.set(type, bytes);
  }
  return bytes;
}

function bytesOf(text: string): ArrayBuffer {
  return new TextEncoder().encode(text).buffer;
}

function lengthOf(body: Answer["body"]): number {
  return typeof body === "string" ? Buffer.byteLength(body) : body.length;
}

// Server-sent events: an answer that goes on until one side ends it.

/** The side of the library. */
interface StreamSocket {
  /** @returns Whether everything has left. */
  write(chunk: string | Uint8Array): boolean;
  onWritable(handler: (offset: number) => boolean): unknown;
  cork(write: () => void): unknown;
  pause(): unknown;
  end(body: string, closesConnection: boolean): unknown;
  close(): unknown;
}

/** A comment, which clients ignore. */
const COMMENT = ":\n\n";

interface StreamOptions {
  /** The source address of the client. */
  readonly holder: string;
  /** Answers that wait until the client reads. */
  readonly answers: Transfers;
  /** Bytes that those answers may hold together. */
  readonly answerBytesMax: number;
  readonly closesAfter: boolean;
  readonly onEnd: () => void;
}

class EventStream implements Peer, Transfer {
  readonly handler: SocketHandler;
  readonly holder: string;
  heldBytes = 0;
  deadlineMs = 0;
  readonly #answers: Transfers;
  readonly #answerBytesMax: number;
  readonly #closesAfter: boolean;
  readonly #onEnd: () => void;
  /** Null when it has ended. */
  #socket: StreamSocket | null;

  constructor(
    socket: StreamSocket,
    handler: SocketHandler,
    { holder, answers, answerBytesMax, closesAfter, onEnd }: StreamOptions,
  ) {
    this.holder = holder;
    this.#socket = socket;
    this.handler = handler;
    this.#answers = answers;
    this.#answerBytesMax = answerBytesMax;
    this.#closesAfter = closesAfter;
    this.#onEnd = onEnd;
    socket.onWritable(() => this.#drain());
    // The library keeps the head back until there is something after it.
    socket.write(COMMENT);
  }

  get waitingBytes(): number {
    return this.heldBytes;
  }

  send(message: string | Uint8Array): boolean {
    const socket = this.#socket;
    if (socket === null) return true;
    const bytes = asciiOrBytes(message);
    let hasLeft = false;
    socket.cork(() => (hasLeft = socket.write(bytes)));
    if (hasLeft && this.heldBytes === 0) return true;
    if (hasLeft) this.#left();
    else this.#wait(bytes.length);
    return hasLeft;
  }

  #wait(bytes: number): void {
    const held = this.heldBytes + bytes;
    this.#answers.end(this);
    this.heldBytes = held;
    this.#answers.begin(this, held);
    this.#answers.shrinkTo(this.#answerBytesMax);
  }

  #left(): void {
    this.#answers.end(this);
    this.heldBytes = 0;
    this.handler.drained();
  }

  /** The library sends what waits only together with something new. */
  #drain(): boolean {
    if (this.#socket === null || this.heldBytes === 0) return true;
    if (this.#socket.write(COMMENT)) this.#left();
    return true;
  }

  close(): void {
    const socket = this.#socket;
    if (socket === null) return;
    this.lost();
    if (this.#closesAfter) socket.pause();
    socket.cork(() => socket.end("", false));
    this.#onEnd();
  }

  /** The client has closed the connection. */
  lost(): void {
    if (this.#socket === null) return;
    this.#socket = null;
    this.#answers.lose(this);
    this.handler.closed();
  }

  abandon(): void {
    this.#socket?.close();
  }

  /** Nothing is kept for the client but what waits. */
  keep(): boolean {
    return false;
  }

  release(): void {}
}

/** The response object of the library. */
export interface Socket extends AnswerSocket, Omit<StreamSocket, keyof AnswerSocket> {
  cork(write: () => void): unknown;
  /** Calls `onAborted`. */
  close(): unknown;
  resume(): unknown;
  onWritable(writeMore: (offset: number) => boolean): unknown;
  getRemoteAddressAsText(): ArrayBuffer;
  upgrade(named: Named, key: string, protocol: string, extensions: string, context: unknown): void;
}

/** Arguments of the library to open a WebSocket; valid until the request has been answered. */
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

/** Shared parts of all exchanges. */
export interface Exchanges {
  readonly proxies: TrustedProxies;
  /** Answers that wait until the client reads. */
  readonly answers: Transfers;
  /** Bytes that those answers may hold together. */
  readonly answerBytesMax: number;
  readonly sockets: Sockets;
  take(exchange: HttpExchange, chunk: ArrayBuffer, isLast: boolean): void;
  /** True when another unmeasured answer may be sent: nobody knows if it is read. */
  admitsUnmeasured(exchange: HttpExchange): boolean;
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

const BAD_LENGTH = malformed("The request needs one Content-Length at most, and not an empty one.");
const BAD_ENCODING = malformed(
  "A Transfer-Encoding must be chunked, and come only once. Send the body chunked or with a Content-Length.",
);
/** Programs that read an underscore as a hyphen see another end of the body. */
const UNDERSCORE = malformed(
  "Content-Length and Transfer-Encoding have a hyphen. Send the header without an underscore.",
);
const TWO_HOSTS = malformed("The header Host may come only once.");
const BAD_METHOD = malformed(
  "The method must consist of the letters A to Z, and must not be CONNECT.",
);
/** The characters of UUIDs, traces and Base64: none needs escaping anywhere. */
const REQUEST_ID = /^[\w.:+/=@~-]{1,128}$/;
const JSON_TYPE = "application/json";
/** The case of ASCII letters only: a Kelvin sign in lower case is a `k`. */
const CHUNKED = /^chunked$/i;
const Once = {
  HOST: 1,
  API_KEY: 2,
  AUTHORIZATION: 4,
  ORGANIZATION_ID: 8,
  IDEMPOTENCY_KEY: 16,
} as const;
/** The library closes a connection after a request whose `Connection` header has this length. */
const CLOSE_LENGTH = "close".length;

export class HttpExchange extends Exchange implements Transfer {
  /** Not to be used once `isOver`: uWS throws for a response that is answered or aborted. */
  socket: Socket | null = null;
  /** Answered, or aborted by the client. */
  isOver = false;
  /** True once the whole request has come. */
  isWhole = false;
  /** True while the library calls the handler for this request. */
  isBeingRead = false;
  /** Received pieces of a body. */
  pieces: BodyPieces | null = null;
  bodyBytes = 0;
  /** Bytes that this body has of the body budget: its `Content-Length`, or what came of it chunked. */
  budgetBytes = 0;
  /** Sender of a kept body; null for others. */
  sender: Sender | null = null;
  heldBytes = 0;
  deadlineMs = 0;
  /** Fault of the head: the end of the body is not certain. */
  headProblem: Problem | null = null;
  isLast = false;
  isCutOff = false;
  closesAfter = false;
  answerId = "";
  /** Of a request for a WebSocket; null for any other. */
  handshake: Handshake | null = null;
  /** The headers that have come, of those that may come once: bits of `Once`. */
  #come = 0;
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
    if (!this.isOver && this.#isUnmeasured() && !this.#exchanges.admitsUnmeasured(this))
      this.abandon();
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
  readonly #writeCutOff = () => {
    if (this.isOver) return;
    this.socket!.cork(this.#write);
    this.#exchanges.end(this);
  };
  readonly #writeMore = (offset: number): boolean => {
    const { socket } = this;
    const body = this.#waiting!;
    let [mayContinue, isComplete] = [false, false];
    socket!.cork(() => {
      if (this.closesAfter) socket!.pause();
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
      case 8:
        if (name === "if-match")
          this.ifMatch = this.ifMatch === "" ? value : `${this.ifMatch},${value}`;
        break;
      case 9:
        if (name === "x-api-key") {
          this.#takeOnce(Once.API_KEY, name);
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
          // Paths without a key do not refuse a repetition: it must not identify anybody there.
          this.authorization = this.#takeOnce(Once.AUTHORIZATION, name) ? value : "";
        } else if (name === "last-event-id") this.lastEventId = value;
        else if (name === "if-none-match")
          this.ifNoneMatch = this.ifNoneMatch === "" ? value : `${this.ifNoneMatch},${value}`;
        break;
      case 14:
        if (name === "content-length") this.#takeLength(value);
        else if (name === "content_length") this.headProblem = UNDERSCORE;
        break;
      case 15:
        if (name === "idempotency-key") {
          this.#takeOnce(Once.IDEMPOTENCY_KEY, name);
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
          this.#takeOnce(Once.ORGANIZATION_ID, name);
          this.organizationId = value;
        } else if (name === "transfer-encoding") this.#takeEncoding(value);
        else if (name === "transfer_encoding") this.headProblem = UNDERSCORE;
        break;
      default:
    }
  };

  constructor(exchanges: Exchanges) {
    super();
    this.#exchanges = exchanges;
  }

  /** A client of IPv6 has a whole /64, so limits count that. */
  get holder(): string {
    return sourceOf(this.address());
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
    if (this.#forwardedFor !== "" && this.#exchanges.proxies.isWatching) this.address();
  }

  #takeHost(value: string): void {
    if ((this.#come & Once.HOST) !== 0) this.headProblem = TWO_HOSTS;
    this.host = value;
    this.#come |= Once.HOST;
  }

  /**
   * An empty value counts: another program may read the other one.
   *
   * @returns Whether it is the first.
   */
  #takeOnce(header: number, name: string): boolean {
    const isFirst = (this.#come & header) === 0;
    if (!isFirst) this.repeatedHeader = name;
    this.#come |= header;
    return isFirst;
  }

  /**
   * The library does not say whether a client reads answers without a body. Those that change
   * nothing are limited; a 204 is the answer to a change, of which each takes a write of the log.
   */
  #isUnmeasured(): boolean {
    const { status } = this.answer!;
    return this.method === "head" || status === 302 || status === 304 || this.method === "options";
  }

  /** Two lengths are refused even if they are equal. The library takes an empty one for none. */
  #takeLength(value: string): void {
    if (this.contentLength !== null || value === "") this.headProblem = BAD_LENGTH;
    this.contentLength = Number(value);
  }

  /** uWS refuses a length beside it. */
  #takeEncoding(value: string): void {
    if (this.isChunked || !CHUNKED.test(value)) this.headProblem = BAD_ENCODING;
    this.isChunked = true;
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
    if (this.isOver || this.isCutOff) return;
    this.isLast = true;
    this.isCutOff = true;
    this.pieces?.free();
    this.#take(answer);
    if (this.isChunked) setImmediate(this.#writeCutOff);
    else this.#writeCutOff();
  }

  /** The front answers so only to a handshake. The response of the library ends here. */
  #follow(handler: SocketHandler): void {
    const { answers, answerBytesMax } = this.#exchanges;
    const { closesAfter } = this;
    writeHead(this.socket!, this.answer!, closesAfter);
    if (closesAfter) this.socket!.writeHeader("Connection", "close");
    const onEnd = () => this.#sent();
    this.#stream = new EventStream(this.socket!, handler, {
      holder: this.holder,
      answers,
      answerBytesMax,
      closesAfter,
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
    const { headers } = this.answer!;
    const socket = new OpenSocket(this.#exchanges.sockets, opening, this.holder);
    if (headers.length > 0) this.socket!.writeStatus("101 Switching Protocols");
    for (const [name, value] of headers) this.socket!.writeHeader(name, value);
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
    this.closesAfter = false;
    this.handshake = null;
    this.#come = 0;
    this.#forwardedFor = "";
    this.#waiting = null;
    this.#stream = null;
    this.socket = null;
    this.pieces = null;
    this.bodyBytes = 0;
    this.budgetBytes = 0;
    this.sender = null;
    this.deadlineMs = 0;
    this.answerId = "";
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
