/**
 * HTTP on uWebSockets.js: the only file that touches it. It takes bytes and gives bytes; what they
 * mean is decided in `dispatch`.
 *
 * The library ends the process when a handler throws or forgets to answer, so one wrapper attaches
 * `onAborted` first, copies what it needs of the request before anything else, and hands every
 * error to `onBroken`.
 */
import { STATUS_CODES } from "node:http";
import uws, { type HttpRequest, type HttpResponse, type us_listen_socket } from "uWebSockets.js";
import { Result } from "../engine/results.ts";
import type { Answer, Problem } from "./answers.ts";
import type { Found, Front, RequestHead } from "./front.ts";
import { FrontResult } from "./replies.ts";

export interface HttpServer {
  readonly port: number;
  /** Who answers; may be replaced between two requests. */
  front: Front;
  /** Takes no new connections; settles when the requests in flight have been answered. */
  drain(): Promise<void>;
  /** Closes every connection. */
  close(): void;
}

export interface HttpOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Told of an error that must end the process. */
  readonly onBroken: (error: unknown) => void;
}

const STATUS_LINES = new Map(
  Object.entries(STATUS_CODES).map(([code, text]) => [Number(code), `${code} ${text ?? ""}`]),
);
const PRINTABLE = /^[\x20-\x7e]*$/;
/** A few layouts of the largest size at once. */
const KEPT_BYTES_MAX = 512 * 1_024 * 1_024;
const TOO_MANY_BODIES: Problem = {
  refused: Result.OVERLOADED,
  detail: "Too many large requests are on their way; try again shortly.",
};
const NO_BODY = Buffer.alloc(0);

/** @throws Error when the address cannot be listened on. */
export async function listen(front: Front, options: HttpOptions): Promise<HttpServer> {
  const app = uws.App();
  const exchanges = new Exchanges(front, options.onBroken);
  app.any("/*", (res, req) => exchanges.begin(res, req));
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

/** A second server on the port must fail, not share it. */
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

/** One request and its answer. */
interface Exchange {
  readonly res: HttpResponse;
  readonly request: RequestHead;
  isOver: boolean;
  /** Bytes of an unfinished body. */
  keptBytes: number;
}

class Exchanges {
  readonly #onBroken: (error: unknown) => void;
  front: Front;
  /** Requests that have not been answered. */
  #open = 0;
  /** Bytes of all unfinished bodies. */
  #keptBytes = 0;
  #onAllAnswered: (() => void) | null = null;

  constructor(front: Front, onBroken: (error: unknown) => void) {
    this.front = front;
    this.#onBroken = onBroken;
  }

  begin(res: HttpResponse, req: HttpRequest): void {
    const request = headOf(res, req);
    const exchange: Exchange = { res, request, isOver: false, keptBytes: 0 };
    this.#open += 1;
    res.onAborted(() => this.#end(exchange));
    try {
      this.#collect(exchange, this.front.find(request));
    } catch (error) {
      this.#onBroken(error);
    }
  }

  #collect(exchange: Exchange, found: Found): void {
    const chunks: Buffer[] = [];
    let length = 0;
    exchange.res.onData((chunk, isLast) => {
      if (exchange.isOver) return;
      try {
        length += chunk.byteLength;
        if (length > found.bodyBytesMax) this.#refuse(exchange, tooLarge(found), true);
        else if (!isLast) this.#keep(exchange, found, chunks, Buffer.from(chunk));
        else if (found.refusal !== null) this.#refuse(exchange, found.refusal);
        else if (chunks.length === 0) this.#handle(exchange, found, Buffer.from(chunk));
        else this.#handle(exchange, found, Buffer.concat([...chunks, Buffer.from(chunk)]));
      } catch (error) {
        this.#onBroken(error);
      }
    });
  }

  /** Nothing is kept of a body that will be refused; and all bodies together are bounded. */
  #keep(exchange: Exchange, found: Found, chunks: Buffer[], chunk: Buffer): void {
    if (found.refusal !== null) return;
    if (this.#keptBytes + chunk.length > KEPT_BYTES_MAX) {
      this.#refuse(exchange, TOO_MANY_BODIES, true);
      return;
    }
    chunks.push(Buffer.from(chunk));
    exchange.keptBytes += chunk.length;
    this.#keptBytes += chunk.length;
  }

  /** @param body - Valid only during this call: the handler parses it at once. */
  #handle(exchange: Exchange, found: Found, body: Buffer): void {
    const request = { ...exchange.request, body: body.length === 0 ? NO_BODY : body };
    this.front.handle(found, request, (answer) => this.#respond(exchange, answer));
  }

  #refuse(exchange: Exchange, problem: Problem, isLast = false): void {
    this.#respond(exchange, this.front.refuse(problem, exchange.request.path), isLast);
  }

  #respond(exchange: Exchange, answer: Answer, isLast = false): void {
    if (exchange.isOver) return;
    const { res } = exchange;
    this.#end(exchange);
    res.cork(() => {
      res.writeStatus(STATUS_LINES.get(answer.status) ?? String(answer.status));
      if (answer.type !== "") res.writeHeader("Content-Type", answer.type);
      for (const [name, value] of answer.headers) {
        // The library writes what it is given: a line break would begin a new header.
        if (PRINTABLE.test(value)) res.writeHeader(name, value);
      }
      if (exchange.request.method === "head" && answer.status !== 204) {
        res.writeHeader("Content-Length", String(lengthOf(answer.body)));
        res.endWithoutBody();
      } else if (answer.status === 204) {
        res.endWithoutBody();
      } else {
        res.end(answer.body, isLast);
      }
    });
  }

  #end(exchange: Exchange): void {
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

function tooLarge({ bodyBytesMax }: Found): Problem {
  const detail = `The body is larger than ${bodyBytesMax} bytes.`;
  return { refused: FrontResult.PAYLOAD_TOO_LARGE, detail };
}

function lengthOf(body: Answer["body"]): number {
  return typeof body === "string" ? Buffer.byteLength(body) : body.length;
}

function headOf(res: HttpResponse, req: HttpRequest): RequestHead {
  return {
    method: req.getMethod(),
    path: req.getUrl(),
    query: req.getQuery(),
    apiKey: req.getHeader("x-api-key"),
    authorization: req.getHeader("authorization"),
    organizationId: req.getHeader("x-organization-id"),
    contentType: req.getHeader("content-type"),
    idempotencyKey: req.getHeader("idempotency-key"),
    address: () => Buffer.from(res.getRemoteAddressAsText()).toString(),
  };
}
