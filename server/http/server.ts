/**
 * HTTP and WebSockets on uWebSockets.js: it takes bytes and gives bytes; `dispatch` decides what
 * they mean. Only this file touches the library.
 *
 * The library ends the process when a handler throws or does not answer. So one wrapper attaches
 * `onAborted` first, copies what it needs of the request before anything else, and passes every
 * error to `onBroken`.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import net from "node:net";
import uws, {
  type HttpRequest,
  type HttpResponse,
  type us_listen_socket,
  type WebSocket,
} from "uWebSockets.js";
import { Broken } from "../../engine/assert.ts";
import { Result } from "../../engine/results.ts";
import { AMBIGUOUS_TARGET, isAmbiguous } from "./target.ts";
import { type Answer, FrontResult, type Problem } from "./answers.ts";
import { TrustedProxies } from "./client-address.ts";
import { Connections } from "./connections.ts";
import {
  type Exchanges,
  type Handshake,
  handshakeOf,
  HttpExchange,
  isHandshake,
  type OnAnswer,
} from "./exchange.ts";
import { type Found, type Front, NO_BODY } from "./front.ts";
import {
  BODY_LIMITS,
  BodyBudget,
  type BodyLimits,
  BodyPieces,
  TokenBuckets,
  Transfers,
  TURN_BYTES,
} from "./limits.ts";
import { type Named, Sockets } from "./sockets.ts";

export interface HttpServer {
  readonly port: number;
  readonly stats: HttpStats;
  /** Answers the requests; may be replaced between two of them. */
  front: Front;
  /**
   * Takes no new connections. Settles when every request that came whole has been answered; one
   * whose body is still on its way might never come whole. And when every WebSocket has closed,
   * after it has sent what it owes.
   */
  drain(): Promise<void>;
  /** Closes every connection. */
  close(): void;
}

/** Counters of the sockets, for the metrics. */
export interface HttpStats {
  /** Open now. */
  readonly connections: number;
  readonly connectionsMax: number;
  /** Closed at once, because there were too many, or too many of their address. */
  readonly connectionsRefused: number;
  /** Closed after an answer, because all were open and their address had most. */
  readonly connectionsShed: number;
  /** Answers that wait until the client reads, and what they hold. */
  readonly answers: Pick<Transfers, "count" | "heldBytes" | "abandoned">;
  /** Bodies that have not come whole. */
  readonly bodies: Pick<Transfers, "count" | "abandoned">;
  readonly bodyBudget: Pick<BodyBudget, "bytes" | "refused">;
  readonly exchanges: ExchangeCounts;
  readonly sockets: Pick<Sockets, "count">;
}

export interface ExchangeCounts {
  /** Requests that have begun and are not answered. */
  readonly open: number;
  /** Exchanges that are kept for later requests. */
  readonly idle: number;
  /** Answers without a body that were not sent, because there were too many. */
  readonly unmeasuredRefused: number;
  /** Token buckets that limit them. */
  readonly unmeasuredBuckets: number;
}

export interface HttpOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Files with the certificate and its private key; without them, HTTP is in clear text. */
  readonly tls?: { readonly certificate: string; readonly key: string } | undefined;
  /** Called with an error that must end the process. */
  readonly onBroken: (error: unknown) => void;
  /** Open connections, at most. */
  readonly connectionsMax?: number;
  readonly bodyLimits?: Partial<BodyLimits>;
  /** Proxies whose `X-Forwarded-For` names the client; none by default. */
  readonly trustedProxies?: readonly string[];
  /** Called once, with the first address that sends `X-Forwarded-For` without being named. */
  readonly onUntrustedProxy?: (address: string) => void;
  /** Bytes of all answers that wait for their client, at most. */
  readonly answerBytesMax?: number;
  /** Exchanges that are kept for later requests, at most. */
  readonly idleMax?: number;
  /** Called with every answer before it is sent. */
  readonly onAnswer?: OnAnswer | undefined;
  /** A monotonic clock, for the deadlines of slow clients. */
  readonly nowMs?: () => number;
}

export const ANSWER_BYTES_MAX = 256 * 1_024 * 1_024;
const TOO_MANY_BODIES: Problem = {
  refused: Result.OVERLOADED,
  detail: "Too many large requests are on their way; try again shortly.",
};
const CHUNKED_HANDSHAKE: Problem = {
  refused: FrontResult.MALFORMED_REQUEST,
  detail: "A WebSocket handshake has no body; send it without a Transfer-Encoding.",
};
/** A method is compared as it is written; the library takes any text for one. */
const METHOD = /^[A-Z]+$/;
/** Monitors ask these with `HEAD`, from the address of a flood, too. */
const HEALTH_PATH = /^\/(?:healthz|readyz)\/?$/;
/** Answers without a body, of an address; beyond it the connection is closed instead. */
export const UNMEASURED_PER_SECOND_MAX = 1_000;
/** Exchanges that are kept for later requests. */
export const IDLE_MAX = 10_000;

/** @throws Error when the address cannot be listened on. */
export async function listen(front: Front, options: HttpOptions): Promise<HttpServer> {
  const { tls } = options;
  const app =
    tls === undefined
      ? uws.App()
      : uws.SSLApp({ cert_file_name: tls.certificate, key_file_name: tls.key });
  const own = await connectToItself(options.onBroken);
  const exchanges = new OpenExchanges(front, options, own);
  const { connections } = exchanges;
  connections.watch(app);
  app.ws<Named>("/*", {
    ...exchanges.sockets.behavior(options.onBroken, () => connections.closed()),
    compression: uws.DISABLED,
    // Called for every GET with a key of a handshake. The front answers it like any other request.
    upgrade: (res, req, context) => {
      if (isHandshake(req)) exchanges.begin(res, req, "get", handshakeOf(req, context));
      else req.setYield(true);
    },
  });
  // The usual methods have handlers of their own, so that they need not be read.
  app.get("/*", (res, req) => exchanges.begin(res, req, "get"));
  app.post("/*", (res, req) => exchanges.begin(res, req, "post"));
  app.any("/*", (res, req) => exchanges.begin(res, req, methodOf(req)));
  const socket = await new Promise<us_listen_socket | false>((resolve) => {
    (app as unknown as ListensOnHost).listen(options.host, options.port, EXCLUSIVE, resolve);
  });
  if (socket === false) {
    own.close();
    throw new Error(
      `cannot listen on ${options.host}:${options.port}: the port is in use, or the address is ` +
        "not one of this machine; choose another with --port or --host",
    );
  }
  connections.port = uws.us_socket_local_port(socket);
  return {
    port: connections.port,
    stats: Object.assign(connections, exchanges.stats),
    get front() {
      return exchanges.front;
    },
    set front(next) {
      exchanges.front = next;
    },
    drain: async () => {
      uws.us_listen_socket_close(socket);
      await Promise.all([exchanges.allAnswered(), exchanges.sockets.stop()]);
    },
    close: () => {
      own.close();
      app.close();
    },
  };
}

const EMPTY = new ArrayBuffer(0);

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

/** Lower case, as the handlers compare it; empty for what is not a method of a path. */
function methodOf(req: HttpRequest): string {
  const method = req.getCaseSensitiveMethod();
  // CONNECT names a host: a client would take a 2xx for a tunnel to it.
  return METHOD.test(method) && method !== "CONNECT" ? method.toLowerCase() : "";
}

class OpenExchanges implements Exchanges {
  readonly #onBroken: (error: unknown) => void;
  readonly #own: OwnConnection;
  readonly proxies: TrustedProxies;
  readonly connections: Connections;
  front: Front;
  readonly answers: Transfers;
  readonly answerBytesMax: number;
  readonly onAnswer: OnAnswer | null;
  /** Exchanges that wait for a request. */
  readonly #idle: HttpExchange[] = [];
  readonly #idleMax: number;
  /** Requests that have begun and are not answered. */
  open = 0;
  /** Those of them that came whole. */
  #whole = 0;
  /** Bodies that come in pieces. */
  readonly #bodies: Transfers;
  readonly #bodyBudget: BodyBudget;
  readonly sockets: Sockets;
  #onAllAnswered: (() => void) | null = null;
  /** By source address, and for checks of health apart. */
  readonly #unmeasured = new TokenBuckets();
  unmeasuredRefused = 0;

  get unmeasuredBuckets(): number {
    return this.#unmeasured.count;
  }

  constructor(front: Front, options: HttpOptions, own: OwnConnection) {
    this.front = front;
    this.#own = own;
    this.#onBroken = options.onBroken;
    this.proxies = new TrustedProxies(options.trustedProxies ?? [], options.onUntrustedProxy);
    this.connections = new Connections(options.connectionsMax ?? Infinity, this.proxies);
    this.answers = new Transfers(options.nowMs);
    this.answerBytesMax = options.answerBytesMax ?? ANSWER_BYTES_MAX;
    this.#idleMax = options.idleMax ?? IDLE_MAX;
    this.onAnswer = options.onAnswer ?? null;
    this.#bodies = new Transfers(options.nowMs);
    this.#bodyBudget = new BodyBudget({ ...BODY_LIMITS, ...options.bodyLimits });
    this.sockets = new Sockets(this.answers, this.answerBytesMax, this.#bodyBudget);
  }

  get stats() {
    const { answers, sockets } = this;
    return {
      answers,
      sockets,
      bodies: this.#bodies,
      bodyBudget: this.#bodyBudget,
      exchanges: this,
    };
  }

  get idle(): number {
    return this.#idle.length;
  }

  /** @param method - Lower case. */
  begin(res: HttpResponse, req: HttpRequest, method: string, handshake?: Handshake): void {
    const exchange = this.#idle.pop() ?? new HttpExchange(this);
    exchange.begin(res, req, method);
    this.open += 1;
    if (handshake !== undefined) {
      exchange.handshake = handshake;
      exchange.protocols = handshake.protocols;
      if (exchange.isChunked) exchange.headProblem = CHUNKED_HANDSHAKE;
    } else if (this.connections.sheds(res)) {
      exchange.isLast = true;
      exchange.closesAfter = true;
    }
    res.onAborted(exchange.abort);
    try {
      const found = exchange.find(this.front);
      const problem = problemOfHead(exchange, found);
      // After an upgrade the library has no body to give; a handshake has none.
      if (problem === null && handshake !== undefined) {
        exchange.isBeingRead = true;
        exchange.take(EMPTY, true);
        exchange.isBeingRead = false;
      } else if (problem !== null) this.#refuseSoon(exchange, problem);
      else if (!exchange.isChunked) res.onData(exchange.take);
      else res.onData((chunk, isLast) => this.#takeChunk(exchange, chunk, isLast));
    } catch (error) {
      this.#onBroken(error);
    }
  }

  take(exchange: HttpExchange, chunk: ArrayBuffer, isLast: boolean): void {
    if (exchange.isOver) return;
    try {
      const found = exchange.found!;
      exchange.bodyBytes += chunk.byteLength;
      if (isLast) {
        exchange.isWhole = true;
        this.#whole += 1;
      }
      if (exchange.bodyBytes > found.bodyBytesMax)
        exchange.cutOff(this.#refusal(exchange, tooLarge(found)));
      else if (found.isPassedOn === true)
        exchange.front!.pass!(exchange, new Uint8Array(chunk), isLast);
      else if (!isLast) this.#keep(exchange, chunk);
      else if (exchange.sender !== null) this.#takeLast(exchange, Buffer.from(chunk));
      else if (chunk.byteLength <= TURN_BYTES) exchange.handle(Buffer.from(chunk));
      else this.#takeWhole(exchange, chunk);
    } catch (error) {
      this.#onBroken(error);
    }
  }

  /**
   * Takes a piece of a chunked body. Nothing is answered, closed or carried out during this call:
   * uWS goes on with the bytes it has read, also on a connection that is closed.
   */
  #takeChunk(exchange: HttpExchange, chunk: ArrayBuffer, isLast: boolean): void {
    if (exchange.isOver || exchange.isCutOff) return;
    try {
      const found = exchange.found!;
      exchange.bodyBytes += chunk.byteLength;
      // Deferred one tick: uWS closes the connection if any byte follows the body, also when it
      // ends the body too early, as before trailers.
      if (isLast) setImmediate(() => this.#endChunked(exchange));
      else if (exchange.bodyBytes > found.bodyBytesMax)
        exchange.cutOff(this.#refusal(exchange, tooLarge(found)));
      else if (found.isPassedOn === true)
        exchange.front!.pass!(exchange, new Uint8Array(chunk), false);
      else this.#keep(exchange, chunk);
    } catch (error) {
      this.#onBroken(error);
    }
  }

  /** The whole body has come, and nothing after it. */
  #endChunked(exchange: HttpExchange): void {
    if (exchange.isOver || exchange.isCutOff) return;
    try {
      exchange.isWhole = true;
      this.#whole += 1;
      exchange.isLast = true;
      exchange.closesAfter = true;
      // A gateway chooses the way to the engine by the length.
      exchange.contentLength = exchange.bodyBytes;
      const { isPassedOn } = exchange.find(exchange.front!);
      if (isPassedOn === true && exchange.refusal === null) this.#passRest(exchange);
      else if (exchange.sender === null) exchange.handle(NO_BODY);
      else this.#takeLast(exchange, NO_BODY);
    } catch (error) {
      this.#onBroken(error);
    }
  }

  /** Passes on a chunked body, or its end. */
  #passRest(exchange: HttpExchange): void {
    const front = exchange.front!;
    this.#bodies.end(exchange);
    for (const part of exchange.pieces?.parts ?? []) front.pass!(exchange, part, false);
    front.pass!(exchange, NO_BODY, true);
  }

  /** Keeps a piece of a body, but nothing of one that will be refused. */
  #keep(exchange: HttpExchange, chunk: ArrayBuffer): void {
    const { byteLength } = chunk;
    // The head has come alone: the body may still come in one piece.
    if (byteLength === 0) return;
    let hasRoom = exchange.sender !== null || this.#beginBody(exchange);
    if (hasRoom && exchange.isChunked) {
      this.#bodies.extend(exchange, byteLength);
      hasRoom = this.#reserve(exchange, byteLength);
    }
    if (!hasRoom) {
      exchange.cutOff(this.#refusal(exchange, TOO_MANY_BODIES));
      return;
    }
    if (exchange.refusal !== null) return;
    exchange.pieces ??= new BodyPieces(exchange.contentLength ?? exchange.found!.bodyBytesMax);
    exchange.pieces.add(new Uint8Array(chunk));
  }

  /** @returns False when there is no room for what was announced. */
  #beginBody(exchange: HttpExchange): boolean {
    const { refusal, organization } = exchange.front!.judge(exchange);
    const sender = { name: organization ?? exchange.holder, hasKey: organization !== null };
    exchange.refusal = refusal;
    exchange.sender = sender;
    const bytes = exchange.contentLength ?? 0;
    this.#bodies.begin(exchange, bytes);
    return this.#reserve(exchange, bytes);
  }

  /** @returns False when there is no room. A body that will be refused needs none. */
  #reserve(exchange: HttpExchange, bytes: number): boolean {
    const { sender, refusal } = exchange;
    if (refusal !== null) return true;
    const hasRoom = this.#bodyBudget.take(sender!, bytes);
    if (hasRoom) exchange.budgetBytes += bytes;
    return hasRoom;
  }

  /** @param last - Valid only during this call: the handler parses it at once. */
  #takeLast(exchange: HttpExchange, last: Buffer): void {
    const { refusal, pieces } = exchange;
    this.#bodies.end(exchange);
    if (refusal !== null) exchange.handle(NO_BODY);
    else if (pieces === null) exchange.handle(last);
    else {
      pieces.add(last);
      exchange.handle(NO_BODY, pieces.parts);
    }
  }

  /** Takes a long body that has come in one piece: it is kept until its turn. */
  #takeWhole(exchange: HttpExchange, body: ArrayBuffer): void {
    this.#keep(exchange, body);
    if (!exchange.isCutOff) this.#takeLast(exchange, NO_BODY);
  }

  /**
   * Refuses a body before any of it is read. The library has read more than the head already. It
   * takes no request from there while this one has no answer, so the answer is not given at once.
   */
  #refuseSoon(exchange: HttpExchange, problem: Problem): void {
    setImmediate(() => exchange.cutOff(this.#refusal(exchange, problem)));
  }

  #refusal(exchange: HttpExchange, problem: Problem): Answer {
    return exchange.front!.refuse(problem, exchange);
  }

  admitsUnmeasured({ path, holder }: HttpExchange): boolean {
    const name = HEALTH_PATH.test(path) ? `health ${holder}` : holder;
    const seconds = this.#unmeasured.take(name, UNMEASURED_PER_SECOND_MAX, performance.now());
    const isAdmitted = seconds === 0;
    if (!isAdmitted) this.unmeasuredRefused += 1;
    return isAdmitted;
  }

  openSocket(open: () => void): void {
    this.#own.cork(open);
  }

  release(exchange: HttpExchange): void {
    if (this.#idle.length < this.#idleMax) this.#idle.push(exchange);
  }

  lose(exchange: HttpExchange): void {
    this.answers.lose(exchange);
    this.#bodies.lose(exchange);
    this.end(exchange);
  }

  end(exchange: HttpExchange): void {
    if (exchange.isOver) return;
    exchange.isOver = true;
    const { sender } = exchange;
    if (sender !== null) {
      this.#bodies.end(exchange);
      this.#bodyBudget.giveBack(sender, exchange.budgetBytes);
    }
    if (exchange.heldBytes > 0) this.answers.end(exchange);
    this.open -= 1;
    if (!exchange.isWhole) return;
    this.#whole -= 1;
    if (this.#whole === 0) this.#onAllAnswered?.();
  }

  /** Settles when no whole request waits for its answer, now or later. */
  allAnswered(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#whole === 0) resolve();
      else this.#onAllAnswered = resolve;
    });
  }
}

/** @returns Why the body is refused before any of it is read; null when it is read. */
function problemOfHead(exchange: HttpExchange, found: Found): Problem | null {
  const { headProblem, contentLength, path } = exchange;
  if (headProblem !== null) return headProblem;
  // Booking has fixed paths, so it does not pay for the scan.
  if (found.isFixed !== true && isAmbiguous(path)) return AMBIGUOUS_TARGET;
  return contentLength !== null && contentLength > found.bodyBytesMax ? tooLarge(found) : null;
}

function tooLarge({ bodyBytesMax }: Found): Problem {
  const detail = `The body is larger than ${bodyBytesMax} bytes.`;
  return { refused: Result.PAYLOAD_TOO_LARGE, detail };
}

// A WebSocket from this process to itself; all others are opened in its cork.
//
// Opened in the cork of its own response, a WebSocket may be closed by the library, unless that
// happens during the call of the handler: the library then reads the state of the response from
// memory that has become the WebSocket's. Versions after the one used here do it right
// (https://github.com/uNetworking/uWebSockets/pull/1929). Within another cork, that of the response
// has no effect. Without any, the library writes a warning to standard error for each WebSocket.

const LOOPBACK = "127.0.0.1";
const NEVER = 0;

interface OwnConnection {
  /** Runs the work at once. Not to be called while a handler of the library runs. */
  cork(work: () => void): void;
  close(): void;
}

/** @param onLost - Called when the connection ends before it is closed. */
async function connectToItself(onLost: (error: unknown) => void): Promise<OwnConnection> {
  const app = uws.App();
  // Nobody else can open it.
  const path = `/${randomUUID()}`;
  let isClosed = false;
  const opened = new Promise<WebSocket<unknown>>((resolve) => {
    app.ws(path, {
      idleTimeout: NEVER,
      // The library would take the time for their answer from 0, and end up with 252 seconds.
      sendPingsAutomatically: false,
      open: resolve,
      close: () => {
        if (!isClosed) onLost(new Broken("the server has lost the connection to itself"));
      },
    });
  });
  const listening = await new Promise<us_listen_socket | false>((resolve) => {
    app.listen(LOOPBACK, 0, resolve);
  });
  if (listening === false) throw new Error(`cannot listen on ${LOOPBACK}, any port`);
  const client = net.connect(uws.us_socket_local_port(listening), LOOPBACK);
  // The other side sees that the connection has ended.
  client.on("error", () => {});
  await once(client, "connect");
  client.write(ownHandshake(path));
  const socket = await opened;
  uws.us_listen_socket_close(listening);
  client.unref();
  return {
    cork: (work) => void socket.cork(work),
    close: () => {
      isClosed = true;
      client.destroy();
      app.close();
    },
  };
}

function ownHandshake(path: string): string {
  const lines = [
    `GET ${path} HTTP/1.1`,
    `Host: ${LOOPBACK}`,
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    // Any 16 bytes; that of RFC 6455, section 1.3.
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  ];
  return [...lines, "", ""].join("\r\n");
}
