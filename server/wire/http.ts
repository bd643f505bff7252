/**
 * HTTP on uWebSockets.js: the only file that touches it. It takes bytes and gives bytes; `dispatch`
 * decides what they mean.
 *
 * The library ends the process when a handler throws or does not answer. So one wrapper attaches
 * `onAborted` first, copies what it needs of the request before anything else, and passes every
 * error to `onBroken`.
 */
import { STATUS_CODES } from "node:http";
import uws, { type HttpRequest, type HttpResponse, type us_listen_socket } from "uWebSockets.js";
import { Result } from "../../engine/results.ts";
import type { Answer, Problem } from "./answers.ts";
import { Exchange, type Found, type Front, NO_BODY } from "./front.ts";
import { FrontResult } from "./replies.ts";

export interface HttpServer {
  readonly port: number;
  /** Answers the requests; may be replaced between two of them. */
  front: Front;
  /** Takes no new connections. Settles when the requests in flight have been answered. */
  drain(): Promise<void>;
  /** Closes every connection. */
  close(): void;
}

export interface HttpOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Called with an error that must end the process. */
  readonly onBroken: (error: unknown) => void;
  /** Bytes of all unfinished bodies together, at most. */
  readonly keptBytesMax?: number;
}

const STATUS_LINES = new Map(
  Object.entries(STATUS_CODES).map(([code, text]) => [Number(code), `${code} ${text ?? ""}`]),
);
const PRINTABLE = /^[\x20-\x7e]*$/;
/** Enough for a few layouts of the largest size at once. */
const KEPT_BYTES_MAX = 512 * 1_024 * 1_024;
const TOO_MANY_BODIES: Problem = {
  refused: Result.OVERLOADED,
  detail: "Too many large requests are on their way; try again shortly.",
};
const NO_LENGTH: Problem = {
  refused: FrontResult.LENGTH_REQUIRED,
  detail: "Send the body with a Content-Length and without a Transfer-Encoding.",
};
/** Header names as bytes: the library would encode a text at every call. */
const CONTENT_TYPE_NAME = bytesOf("Content-Type");
const KEEP_ALIVE_NAME = bytesOf("Keep-Alive");
/**
 * The library closes a connection that has been idle for a little more than 8 seconds. A client
 * that knows sends no request on a connection that is about to close.
 */
const KEEP_ALIVE = "timeout=8";
/** The library closes a connection after a request whose `Connection` header has this length. */
const CLOSE_LENGTH = "close".length;
/** Exchanges that are kept for later requests. */
const IDLE_MAX = 10_000;

/** @throws Error when the address cannot be listened on. */
export async function listen(front: Front, options: HttpOptions): Promise<HttpServer> {
  const app = uws.App();
  const exchanges = new Exchanges(front, options);
  // The usual methods have handlers of their own, so that they need not be read.
  app.get("/*", (res, req) => exchanges.begin(res, req, "get"));
  app.post("/*", (res, req) => exchanges.begin(res, req, "post"));
  app.any("/*", (res, req) => exchanges.begin(res, req, req.getMethod()));
  const socket = await new Promise<us_listen_socket | false>((resolve) => {
    (app as unknown as ListensOnHost).listen(options.host, options.port, EXCLUSIVE, resolve);
  });
  if (socket === false) {
    throw new Error(
      `cannot listen on ${options.host}:${options.port}: the port is in use, or the address is ` +
        "not one of this machine; choose another with --port or --host",
    );
  }
  return {
    port: uws.us_socket_local_port(socket),
    get front() {
      return exchanges.front;
    },
    set front(next) {
      exchanges.front = next;
    },
    drain: async () => {
      uws.us_listen_socket_close(socket);
      await exchanges.allAnswered();
    },
    close: () => app.close(),
  };
}

/** A second server must fail to listen on the port, not share it. */
const EXCLUSIVE = (uws as unknown as { LIBUS_LISTEN_EXCLUSIVE_PORT: number })
  .LIBUS_LISTEN_EXCLUSIVE_PORT;

/** The library takes host, port and options together; its declarations do not say so. */
interface ListensOnHost {
  listen(
    host: string,
    port: number,
    options: number,
    done: (socket: us_listen_socket | false) => void,
  ): unknown;
}

/** An exchange on a connection, with the callbacks that the library takes. */
class HttpExchange extends Exchange {
  res: HttpResponse | null = null;
  isOver = false;
  /** The parts of the body that came before its last part. */
  chunks: Buffer[] | null = null;
  bodyBytes = 0;
  /** Bytes of an unfinished body. */
  keptBytes = 0;
  contentLength = "";
  transferEncoding = "";
  /** Whether the connection is closed after the answer. */
  isLast = false;
  readonly #exchanges: Exchanges;
  readonly address = () => Buffer.from(this.res!.getRemoteAddressAsText()).toString();
  readonly abort = () => this.#exchanges.end(this);
  readonly take = (chunk: ArrayBuffer, isLast: boolean) =>
    this.#exchanges.take(this, chunk, isLast);
  readonly write = () => writeAnswer(this, this.answer!);
  /** One call for all headers takes less time than one for each that is needed. */
  readonly #takeHeader = (name: string, value: string) => {
    switch (name) {
      case "x-api-key":
        if (this.apiKey !== "") this.repeatedHeader = name;
        this.apiKey = value;
        break;
      case "authorization":
        if (this.authorization !== "") this.repeatedHeader = name;
        this.authorization = value;
        break;
      case "x-organization-id":
        if (this.organizationId !== "") this.repeatedHeader = name;
        this.organizationId = value;
        break;
      case "idempotency-key":
        if (this.idempotencyKey !== null) this.repeatedHeader = name;
        this.idempotencyKey = value;
        break;
      case "content-type":
        this.contentType = value;
        break;
      case "content-encoding":
        this.contentEncoding = value;
        break;
      case "content-length":
        this.contentLength = value;
        break;
      case "transfer-encoding":
        this.transferEncoding = value;
        break;
      case "connection":
        this.isLast = value.length === CLOSE_LENGTH;
        break;
      default:
    }
  };

  constructor(exchanges: Exchanges) {
    super();
    this.#exchanges = exchanges;
  }

  begin(res: HttpResponse, req: HttpRequest, method: string): void {
    this.method = method;
    this.path = req.getUrl();
    // Undefined without a question mark, whatever its declaration says.
    const query: string | undefined = req.getQuery();
    this.query = query ?? "";
    req.forEach(this.#takeHeader);
    this.res = res;
    this.isOver = false;
  }

  respond(answer: Answer): void {
    if (!this.isOver) {
      this.#exchanges.end(this);
      this.answer = answer;
      this.res!.cork(this.write);
    }
    this.clear();
    this.#exchanges.release(this);
  }

  protected override clear(): void {
    super.clear();
    this.contentLength = "";
    this.transferEncoding = "";
    this.isLast = false;
    this.res = null;
    this.chunks = null;
    this.bodyBytes = 0;
    this.keptBytes = 0;
  }
}

class Exchanges {
  readonly #onBroken: (error: unknown) => void;
  readonly #keptBytesMax: number;
  front: Front;
  /** Exchanges that wait for a request. */
  readonly #idle: HttpExchange[] = [];
  /** Requests that have not been answered. */
  #open = 0;
  /** Bytes of all unfinished bodies. */
  #keptBytes = 0;
  #onAllAnswered: (() => void) | null = null;

  constructor(front: Front, { onBroken, keptBytesMax = KEPT_BYTES_MAX }: HttpOptions) {
    this.front = front;
    this.#onBroken = onBroken;
    this.#keptBytesMax = keptBytesMax;
  }

  /** @param method - Lower case. */
  begin(res: HttpResponse, req: HttpRequest, method: string): void {
    const exchange = this.#idle.pop() ?? new HttpExchange(this);
    exchange.begin(res, req, method);
    this.#open += 1;
    res.onAborted(exchange.abort);
    try {
      const found = exchange.find(this.front);
      const problem = problemOfHead(exchange, found);
      if (problem === null) res.onData(exchange.take);
      else this.#refuseSoon(exchange, problem);
    } catch (error) {
      this.#onBroken(error);
    }
  }

  take(exchange: HttpExchange, chunk: ArrayBuffer, isLast: boolean): void {
    if (exchange.isOver) return;
    try {
      const found = exchange.found!;
      exchange.bodyBytes += chunk.byteLength;
      if (exchange.bodyBytes > found.bodyBytesMax) this.#refuse(exchange, tooLarge(found));
      else if (!isLast) this.#keep(exchange, found, chunk);
      else if (found.refusal !== null) exchange.respond(this.#refusal(exchange, found.refusal));
      else handleBody(exchange, chunk);
    } catch (error) {
      this.#onBroken(error);
    }
  }

  /** Keeps nothing of a body that will be refused. All kept bodies together are bounded. */
  #keep(exchange: HttpExchange, found: Found, chunk: ArrayBuffer): void {
    if (found.refusal !== null) return;
    if (this.#keptBytes + chunk.byteLength > this.#keptBytesMax) {
      this.#refuse(exchange, TOO_MANY_BODIES);
      return;
    }
    exchange.chunks ??= [];
    exchange.chunks.push(ownCopy(chunk));
    exchange.keptBytes += chunk.byteLength;
    this.#keptBytes += chunk.byteLength;
  }

  /**
   * Refuses a body before any of it is read. The library has read more than the head already. It
   * takes no request from there while this one has no answer, so the answer is not given at once.
   */
  #refuseSoon(exchange: HttpExchange, problem: Problem): void {
    setImmediate(() => {
      if (!exchange.isOver) this.#refuse(exchange, problem);
    });
  }

  #refusal(exchange: HttpExchange, problem: Problem): Answer {
    return exchange.front!.refuse(problem, exchange.path);
  }

  /** Answers before the whole body has come, and closes the connection: the rest is not needed. */
  #refuse(exchange: HttpExchange, problem: Problem): void {
    const answer = this.#refusal(exchange, problem);
    this.end(exchange);
    exchange.isLast = true;
    exchange.res!.cork(() => writeAnswer(exchange, answer));
  }

  release(exchange: HttpExchange): void {
    if (this.#idle.length < IDLE_MAX) this.#idle.push(exchange);
  }

  end(exchange: HttpExchange): void {
    if (exchange.isOver) return;
    exchange.isOver = true;
    this.#keptBytes -= exchange.keptBytes;
    this.#open -= 1;
    if (this.#open === 0) this.#onAllAnswered?.();
  }

  /** Settles when no request is open, now or later. */
  allAnswered(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#open === 0) resolve();
      else this.#onAllAnswered = resolve;
    });
  }
}

/** @returns Why the body is refused before any of it is read; null when it is read. */
function problemOfHead(
  { transferEncoding, contentLength }: HttpExchange,
  found: Found,
): Problem | null {
  if (transferEncoding !== "") return NO_LENGTH;
  return Number(contentLength) > found.bodyBytesMax ? tooLarge(found) : null;
}

/** @param last - The last chunk, valid only during this call: the handler parses it at once. */
function handleBody(exchange: HttpExchange, last: ArrayBuffer): void {
  const { chunks } = exchange;
  if (chunks === null) exchange.handle(Buffer.from(last));
  else exchange.handle(NO_BODY, [...chunks, ownCopy(last)]);
}

/** The library uses the memory of a chunk again. */
function ownCopy(chunk: ArrayBuffer): Buffer {
  return Buffer.from(chunk.slice(0));
}

/** To be called in the library's cork, which makes an answer one write. */
function writeAnswer(exchange: HttpExchange, { status, type, headers, body }: Answer): void {
  const { method, isLast } = exchange;
  const res = exchange.res!;
  // Status 200 is what the library writes by default.
  if (status !== 200) res.writeStatus(STATUS_LINES.get(status) ?? String(status));
  if (type !== "") res.writeHeader(CONTENT_TYPE_NAME, isLast ? type : typeAndKeepAlive(type));
  else if (!isLast) res.writeHeader(KEEP_ALIVE_NAME, KEEP_ALIVE);
  for (const [name, value] of headers) {
    // The library writes values as they are: a line break would begin a new header.
    if (PRINTABLE.test(value)) res.writeHeader(name, value);
  }
  if (method === "head" && status !== 204) {
    res.writeHeader("Content-Length", String(lengthOf(body)));
    res.endWithoutBody();
  } else if (status === 204) {
    res.endWithoutBody();
  } else {
    res.end(body, isLast);
  }
}

const typesAndKeepAlive = new Map<string, ArrayBuffer>();

/** A content type and the header `Keep-Alive` as one value: each call of the library costs time. */
function typeAndKeepAlive(type: string): ArrayBuffer {
  let bytes = typesAndKeepAlive.get(type);
  if (bytes === undefined) {
    bytes = bytesOf(`${type}\r\nKeep-Alive: ${KEEP_ALIVE}`);
    typesAndKeepAlive.set(type, bytes);
  }
  return bytes;
}

function tooLarge({ bodyBytesMax }: Found): Problem {
  const detail = `The body is larger than ${bodyBytesMax} bytes.`;
  return { refused: FrontResult.PAYLOAD_TOO_LARGE, detail };
}

function bytesOf(text: string): ArrayBuffer {
  return new TextEncoder().encode(text).buffer;
}

function lengthOf(body: Answer["body"]): number {
  return typeof body === "string" ? Buffer.byteLength(body) : body.length;
}
