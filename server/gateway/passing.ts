/** The relay: passes requests on to the engine over HTTP. */
import {
  Agent as HttpAgent,
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
} from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { NodeSocket, SILENT_MS_MAX } from "../client/node-socket.ts";
import { CLOSED_WITHOUT_CODE } from "../client/socket.ts";
import {
  type Answer,
  FrontResult,
  type Problem,
  upgrade,
  wantsStrict,
  withStrict,
} from "../http/answers.ts";
import { sourceOf } from "../http/client-address.ts";
import type { Exchange } from "../http/front.ts";
import type { Peer, SocketHandler } from "../http/sockets.ts";
import type { Engines } from "./engine-link.ts";

/** Headers of a connection, and those the gateway sends by itself. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "content-type",
  "date",
  "keep-alive",
  "transfer-encoding",
  "uwebsockets",
  "x-request-id",
]);

/**
 * Every header the engine reads. The client's address replaces its own claim; an engine that trusts
 * the gateway believes it.
 */
function headersOf(exchange: Exchange): Record<string, string | string[]> {
  const { idempotencyKey, repeatedHeader } = exchange;
  const given: Readonly<Record<string, string>> = {
    host: exchange.host,
    "x-api-key": exchange.apiKey,
    authorization: exchange.authorization,
    "x-organization-id": exchange.organizationId,
    "content-type": exchange.contentType,
    "content-encoding": exchange.contentEncoding,
    prefer: exchange.prefer,
    "if-match": exchange.ifMatch,
    "if-none-match": exchange.ifNoneMatch,
    accept: exchange.accept,
    "accept-encoding": exchange.acceptEncoding,
    "last-event-id": exchange.lastEventId,
    origin: exchange.origin,
    "sec-websocket-protocol": exchange.protocols ?? "",
    "x-request-id": exchange.requestId,
    "x-forwarded-for": exchange.address(),
  };
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(given)) if (value !== "") headers[name] = value;
  if (idempotencyKey !== null) headers["idempotency-key"] = idempotencyKey;
  // The engine refuses it, as it would without a gateway.
  if (repeatedHeader !== "") headers[repeatedHeader] = ["?", "?"];
  return headers;
}

/** A request as `node:http` takes it. */
export interface Forwarded {
  /** Never resolved as a URL: it names a resource of the engine. */
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
}

/** RFC 9110 allows no control character in a header but the tab; `node:http` throws for others. */
const NO_HEADER = /[^\t\x20-\x7e\x80-\xff]/;
const NO_TARGET = /[^\x21-\xff]/;
const BEYOND_ASCII = /[^\0-\x7f]/;

const UNFORWARDABLE: Problem = {
  refused: FrontResult.MALFORMED_REQUEST,
  detail: "The path or a header has characters that HTTP does not allow.",
};

/** @returns Null when HTTP cannot carry the request: `UNFORWARDABLE`. */
function forwarded(exchange: Exchange): Forwarded | null {
  const { path, query } = exchange;
  const target = utf8Of(query === "" ? path : `${path}?${query}`);
  if (NO_TARGET.test(target)) return null;
  const headers = headersOf(exchange);
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== "string") continue;
    const bytes = utf8Of(value);
    if (NO_HEADER.test(bytes)) return null;
    headers[name] = bytes;
  }
  return { path: target, headers };
}

/** UTF-8 with one character for each byte, so the engine reads the client's bytes. */
function utf8Of(text: string): string {
  return BEYOND_ASCII.test(text) ? Buffer.from(text).toString("latin1") : text;
}

/** Bytes of answers being read from the engine. */
export const ANSWERS_BYTES_MAX = 128 * 1_024 * 1_024;

/** Memory for incoming answers. Without room an answer is not read yet. */
export class AnswerRoom {
  readonly #bytesMax: number;
  readonly #queue: { readonly bytes: number; readonly begin: () => void }[] = [];
  #isGiving = false;
  bytes = 0;

  constructor(bytesMax = ANSWERS_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** Answers waiting for room. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** @param begin - Called when there is room; to be followed by `giveBack`. */
  take(bytes: number, begin: () => void): void {
    this.#queue.push({ bytes, begin });
    this.#next();
  }

  giveBack(bytes: number): void {
    this.bytes -= bytes;
    this.#next();
  }

  #next(): void {
    // `begin` may give back at once: loop instead of recursing.
    if (this.#isGiving) return;
    this.#isGiving = true;
    for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) {
      // An answer beyond all the room comes alone.
      if (this.bytes > 0 && this.bytes + first.bytes > this.#bytesMax) break;
      this.#queue.shift();
      this.bytes += first.bytes;
      first.begin();
    }
    this.#isGiving = false;
  }
}

/** uWS refuses unreadable requests without a `Content-Length`, and closes the connection. */
const UNANNOUNCED_BYTES_MAX = 1_024;

/**
 * Reads an answer whole, and never beyond its announced length. Calls `done` with null when it
 * breaks off or exceeds it.
 */
function collect(
  response: IncomingMessage,
  room: AnswerRoom,
  done: (answer: Answer | null) => void,
): void {
  const bytes = Number(response.headers["content-length"] ?? UNANNOUNCED_BYTES_MAX);
  const parts: Buffer[] = [];
  let left = bytes;
  let [hasRoom, isDone] = [false, false];
  const end = (answer: Answer | null) => {
    if (isDone) return;
    isDone = true;
    if (hasRoom) room.giveBack(bytes);
    done(answer);
  };
  // The engine may be lost while the answer waits for room.
  response
    .pause()
    .on("data", (part: Buffer) => {
      left -= part.length;
      if (left >= 0) parts.push(part);
      else response.destroy();
    })
    .on("end", () => end(answerOf(response, parts)))
    .on("error", () => end(null))
    .on("close", () => end(null));
  room.take(bytes, () => {
    hasRoom = true;
    if (isDone) room.giveBack(bytes);
    else response.resume();
  });
}

export function answerOf(response: IncomingMessage, parts: readonly Buffer[]): Answer {
  const { headers, rawHeaders } = response;
  const others: (readonly [string, string])[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = "", value = ""] = rawHeaders.slice(i, i + 2);
    if (!OWN_HEADERS.has(name.toLowerCase())) others.push([name, value]);
  }
  return {
    status: response.statusCode!,
    type: headers["content-type"] ?? "",
    body: parts.length === 1 ? parts[0]! : Buffer.concat(parts),
    length: Number(headers["content-length"] ?? 0),
    headers: others,
  };
}

/** A refusal keeps the engine's request id. */
function keepId(exchange: Exchange, response: IncomingMessage): void {
  const { "x-request-id": id } = response.headers;
  if (exchange.requestId === "" && typeof id === "string") exchange.requestId = id;
}

// Everything but booking is relayed. A body goes on as it comes and as fast as the engine reads it;
// an answer is read whole first, unless it has no end. A stream or command socket has its own
// WebSocket to the engine, which authorizes it.

/** The engine closes idle connections after 8 seconds. */
const IDLE_MS = 5_000;
const EVENT_STREAM = "text/event-stream";
/** The answer of a closed connection: nobody sees it. */
const NOTHING: Answer = { status: 503, type: "", body: "", headers: [] };

export interface RelayOptions {
  readonly engines: Engines;
  readonly room: AnswerRoom;
  /** The answer when the engine cannot be reached. */
  readonly refuse: (problem: Problem | null, exchange: Exchange) => Answer;
  readonly onAnswer: (exchange: Exchange, status: number) => void;
}

export class Relay {
  readonly #options: RelayOptions;
  readonly #agent: HttpAgent;
  readonly #open = new Map<Exchange, ClientRequest>();
  /** Bodies paused until the engine has read more. */
  readonly #paused = new Set<Exchange>();
  /** WebSockets with a handshake under way. */
  readonly #opening = new Set<NodeSocket>();

  constructor(options: RelayOptions) {
    this.#options = options;
    const keep = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: 1_024 };
    this.#agent = isSecure(options.engines.present) ? new HttpsAgent(keep) : new HttpAgent(keep);
  }

  /** Requests without an answer. */
  get count(): number {
    return this.#open.size + this.#opening.size;
  }

  /** True from the first piece until the answer. */
  has(exchange: Exchange): boolean {
    return this.#open.has(exchange);
  }

  /** Takes a piece of a body, and begins with the first. */
  pass(exchange: Exchange, piece: Uint8Array, isLast: boolean): void {
    const upstream = this.#open.get(exchange) ?? this.#begin(exchange);
    if (upstream === null) return;
    // The library uses the memory of the piece again.
    const isFull = piece.length > 0 && !upstream.write(Uint8Array.from(piece));
    if (isLast) {
      upstream.end();
      this.#resume(exchange);
    } else if (isFull && !this.#paused.has(exchange)) {
      this.#paused.add(exchange);
      exchange.pauseBody();
      upstream.once("drain", () => this.#resume(exchange));
    }
  }

  /** The client's connection must not stay paused: its next request would never come. */
  #resume(exchange: Exchange): void {
    if (this.#paused.delete(exchange)) exchange.resumeBody();
  }

  #begin(exchange: Exchange): ClientRequest | null {
    const { contentLength, isChunked, protocols } = exchange;
    const carried = forwarded(exchange);
    if (carried === null) {
      this.#answer(exchange, this.#options.refuse(UNFORWARDABLE, exchange));
      return null;
    }
    const { path, headers } = carried;
    // No body is read after a handshake, whatever it announces.
    if (contentLength !== null && protocols === null) headers["content-length"] = contentLength;
    // Without it, `node:http` sends the body of a GET or DELETE as bytes of the next request.
    else if (isChunked) headers["transfer-encoding"] = "chunked";
    const [engine, agent] = [this.#options.engines.present, this.#agent];
    const options = { agent, method: exchange.method.toUpperCase(), headers, path };
    const upstream = (isSecure(engine) ? requestHttps : request)(engine, options);
    this.#open.set(exchange, upstream);
    exchange.onGone = () => {
      this.#open.delete(exchange);
      this.#paused.delete(exchange);
      upstream.destroy();
    };
    upstream
      .on("response", (response) => this.#take(exchange, upstream, response))
      .on("error", (error) => {
        if (this.#open.get(exchange) === upstream) this.#fail(exchange, error);
      });
    return upstream;
  }

  #take(exchange: Exchange, upstream: ClientRequest, response: IncomingMessage): void {
    if (this.#open.get(exchange) !== upstream) {
      response.destroy();
      return;
    }
    // uWS refuses an overlong `HEAD` with a body, an error here. A broken answer is noticed where
    // it is read.
    upstream.removeAllListeners("error").on("error", () => {});
    keepId(exchange, response);
    if (response.headers["content-type"] === EVENT_STREAM) {
      this.#open.delete(exchange);
      exchange.onGone = null;
      const following = new ForwardedStream(response);
      this.#answer(exchange, { ...answerOf(response, []), body: "", following });
      return;
    }
    collect(response, this.#options.room, (answer) => {
      if (this.#open.get(exchange) !== upstream) return;
      if (answer === null) this.#fail(exchange, new Error("the answer broke off"));
      else this.#end(exchange, answer);
    });
  }

  /** The engine is lost, or closed the connection. */
  #fail(exchange: Exchange, error: Error): void {
    const { method } = exchange;
    const { syscall } = error as NodeJS.ErrnoException;
    const changesNothing = method === "get" || method === "head" || syscall === "connect";
    if (changesNothing) this.#end(exchange, this.#options.refuse(null, exchange));
    else this.#cut(exchange);
  }

  /** Unknown outcome: the client gets no answer. */
  #cut(exchange: Exchange): void {
    this.#open.delete(exchange);
    this.#paused.delete(exchange);
    exchange.onGone = null;
    exchange.abandon();
    exchange.respond(NOTHING);
  }

  #end(exchange: Exchange, answer: Answer): void {
    const upstream = this.#open.get(exchange)!;
    this.#open.delete(exchange);
    this.#paused.delete(exchange);
    exchange.onGone = null;
    // The engine may have refused an unread body.
    if (!upstream.writableEnded) upstream.destroy();
    this.#answer(exchange, answer);
  }

  #answer(exchange: Exchange, answer: Answer): void {
    this.#options.onAnswer(exchange, answer.status);
    exchange.respond(answer);
  }

  /** Opens the engine's side of a tunnel. */
  openTunnel(exchange: Exchange): void {
    const { engines, room, refuse } = this.#options;
    const carried = forwarded(exchange);
    if (carried === null) {
      this.#answer(exchange, refuse(UNFORWARDABLE, exchange));
      return;
    }
    const answer = (given: Answer) => {
      this.#opening.delete(upstream);
      exchange.onGone = null;
      this.#answer(exchange, given);
    };
    const name = exchange.apiKey || sourceOf(exchange.address());
    const sender = { name, hasKey: exchange.apiKey !== "" };
    const tunnel = new Tunnel();
    let isAnswered = false;
    const upstream = new NodeSocket(
      { server: engines.present, ...carried },
      {
        opened: (protocol) => {
          isAnswered = true;
          upstream.pause();
          upstream.limitSilence(SILENT_MS_MAX);
          const opened = upgrade({ protocol, sender, handler: tunnel });
          answer(wantsStrict(exchange.prefer) ? withStrict(opened) : opened);
        },
        message: (payload, isBinary) => tunnel.fromEngine(payload, isBinary),
        refused: (response) => {
          keepId(exchange, response);
          collect(response, room, (given) => answer(given ?? refuse(null, exchange)));
        },
        closed: (code, reason) => {
          if (isAnswered) tunnel.engineClosed(code, reason);
          else answer(refuse(null, exchange));
        },
      },
    );
    tunnel.upstream = upstream;
    this.#opening.add(upstream);
    exchange.onGone = () => upstream.destroy();
  }

  /** The engine is lost: its connections may stay silent for long. */
  lose(): void {
    for (const upstream of this.#open.values()) upstream.destroy(new Error("the engine is lost"));
    for (const upstream of this.#opening) upstream.destroy();
  }

  stop(): void {
    this.#agent.destroy();
  }
}

function isSecure({ protocol }: URL): boolean {
  return protocol === "https:";
}

/** Server-sent events of the engine, as fast as the client reads them. */
class ForwardedStream implements SocketHandler {
  readonly #response: IncomingMessage;

  constructor(response: IncomingMessage) {
    this.#response = response.pause().on("error", () => {});
  }

  opened(peer: Peer): void {
    if (this.#response.closed) {
      peer.close(1000, "");
      return;
    }
    this.#response
      .on("data", (piece: Buffer) => {
        if (!peer.send(piece, false)) this.#response.pause();
      })
      .on("close", () => peer.close(1000, ""))
      .resume();
  }

  drained(): void {
    this.#response.resume();
  }

  closed(): void {
    this.#response.destroy();
  }

  stop(): void {
    this.#response.destroy();
  }

  message(): void {}
}

// Tunnels: messages and close codes go through unchanged.

const [GOING_AWAY, STOPPING, NO_MEMORY] = [1001, 1012, 1013];

class Tunnel implements SocketHandler {
  upstream: NodeSocket | null = null;
  #peer: Peer | null = null;
  #isClosed = false;

  opened(peer: Peer): void {
    this.#peer = peer;
    this.upstream!.resume();
  }

  fromEngine(payload: Buffer, isBinary: boolean): void {
    const message = isBinary ? payload : payload.toString();
    if (this.#peer?.send(message, isBinary) === false) this.upstream!.pause();
  }

  drained(): void {
    this.upstream!.resume();
  }

  /** Unread bytes count as memory of the client. */
  message(bytes: ArrayBuffer, isBinary: boolean): void {
    const { byteLength } = bytes;
    if (this.#isClosed || this.#peer === null) return;
    if (!this.#peer.keep(byteLength)) {
      this.#peer.close(NO_MEMORY, "too much waits for the engine; try again later");
      return;
    }
    this.upstream!.send(new Uint8Array(bytes), isBinary, () => this.#peer?.release(byteLength));
  }

  engineClosed(code: number, reason: string): void {
    this.#isClosed = true;
    const isLost = code === CLOSED_WITHOUT_CODE;
    this.#peer?.close(isLost ? STOPPING : code, isLost ? "the engine was lost" : reason);
  }

  closed(): void {
    this.#peer = null;
    if (!this.#isClosed) this.upstream!.close(GOING_AWAY);
    this.#isClosed = true;
  }

  stop(): void {
    this.#peer?.close(STOPPING, "the gateway is stopping");
  }
}
