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
import { type Answer, JSON_TYPE, type Problem } from "./answers.ts";
import { Exchange, type Found, type Front } from "./front.ts";
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
/** Header names as bytes: the library would encode a text at every call. */
const API_KEY = bytesOf("x-api-key");
const AUTHORIZATION = bytesOf("authorization");
const ORGANIZATION_ID = bytesOf("x-organization-id");
const CONTENT_TYPE = bytesOf("content-type");
const CONTENT_TYPE_NAME = bytesOf("Content-Type");
const JSON_TYPE_BYTES = bytesOf(JSON_TYPE);
const IDEMPOTENCY_KEY = bytesOf("idempotency-key");
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
  readonly #exchanges: Exchanges;
  readonly address = () => Buffer.from(this.res!.getRemoteAddressAsText()).toString();
  readonly abort = () => this.#exchanges.end(this);
  readonly take = (chunk: ArrayBuffer, isLast: boolean) =>
    this.#exchanges.take(this, chunk, isLast);
  readonly write = () => writeAnswer(this.res!, this.method, this.answer!);

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
    this.apiKey = req.getHeader(API_KEY);
    this.authorization = req.getHeader(AUTHORIZATION);
    this.organizationId = req.getHeader(ORGANIZATION_ID);
    this.contentType = req.getHeader(CONTENT_TYPE);
    this.idempotencyKey = req.getHeader(IDEMPOTENCY_KEY);
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
      exchange.find(this.front);
      res.onData(exchange.take);
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
      else exchange.handle(wholeBody(exchange, Buffer.from(chunk)));
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
    exchange.chunks.push(Buffer.from(Buffer.from(chunk)));
    exchange.keptBytes += chunk.byteLength;
    this.#keptBytes += chunk.byteLength;
  }

  #refusal(exchange: HttpExchange, problem: Problem): Answer {
    return exchange.front!.refuse(problem, exchange.path);
  }

  /** Answers before the whole body has come, and closes the connection: the rest is not needed. */
  #refuse(exchange: HttpExchange, problem: Problem): void {
    const { res } = exchange;
    const answer = this.#refusal(exchange, problem);
    this.end(exchange);
    res!.cork(() => writeAnswer(res!, exchange.method, answer, true));
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

/** @param last - Valid only during this call: the handler parses it at once. */
function wholeBody({ chunks }: HttpExchange, last: Buffer): Buffer {
  return chunks === null ? last : Buffer.concat([...chunks, last]);
}

/** To be called in the library's cork, which makes an answer one write. */
function writeAnswer(res: HttpResponse, method: string, answer: Answer, isLast = false): void {
  const { status, type, headers, body } = answer;
  // Status 200 is what the library writes by default.
  if (status !== 200) res.writeStatus(STATUS_LINES.get(status) ?? String(status));
  if (type === JSON_TYPE) res.writeHeader(CONTENT_TYPE_NAME, JSON_TYPE_BYTES);
  else if (type !== "") res.writeHeader(CONTENT_TYPE_NAME, type);
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
