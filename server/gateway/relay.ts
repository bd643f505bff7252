/**
 * Passes requests on to the engine over HTTP: everything but booking. A body goes on as it comes
 * and as fast as the engine reads it; an answer is read whole before it goes to the client, unless
 * it has no end.
 */
import { Agent as HttpAgent, type ClientRequest, type IncomingMessage, request } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import type { Answer, Problem } from "../wire/answers.ts";
import type { Exchange } from "../wire/front.ts";
import type { Peer, SocketHandler } from "../wire/sockets.ts";
import type { Engines } from "./engines.ts";
import { type AnswerRoom, answerOf, collect, forwarded, keepId, UNFORWARDABLE } from "./passing.ts";

/** The engine closes idle connections after 8 seconds. */
const IDLE_MS = 5_000;
const EVENT_STREAM = "text/event-stream";
/** What a request gets whose connection is closed: nobody sees it. */
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
  /** Those whose body does not come until the engine has read more. */
  readonly #paused = new Set<Exchange>();

  constructor(options: RelayOptions) {
    this.#options = options;
    const keep = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: 1_024 };
    this.#agent = isSecure(options.engines.present) ? new HttpsAgent(keep) : new HttpAgent(keep);
  }

  /** Requests without an answer. */
  get count(): number {
    return this.#open.size;
  }

  /** Whether the engine has a part of the request, and has not answered. */
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
    const { contentLength, protocols } = exchange;
    const carried = forwarded(exchange);
    if (carried === null) {
      this.#answer(exchange, this.#options.refuse(UNFORWARDABLE, exchange));
      return null;
    }
    const { path, headers } = carried;
    // No body is read after a handshake, whatever it announces.
    if (contentLength !== null && protocols === null) headers["content-length"] = contentLength;
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
    // The library of the engine refuses a `HEAD` that is too long with a body, which is an error
    // here. An answer that breaks off is noticed where it is read.
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

  /** Nobody knows what became of the request, so the client gets no answer. */
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
    // The engine may have refused a body that it did not read.
    if (!upstream.writableEnded) upstream.destroy();
    this.#answer(exchange, answer);
  }

  #answer(exchange: Exchange, answer: Answer): void {
    this.#options.onAnswer(exchange, answer.status);
    exchange.respond(answer);
  }

  /** The engine is lost: its connections may stay silent for long. */
  lose(): void {
    for (const upstream of this.#open.values()) upstream.destroy(new Error("the engine is lost"));
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
