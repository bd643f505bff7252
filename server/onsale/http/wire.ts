/**
 * One HTTP exchange over a bounded pool of connections, timed. It never retries and never throws
 * for what the network does: a lost exchange is an answer of its own.
 */

import { Pool, type Dispatcher } from "undici";
import { STATUS_SERVER_ERROR_MIN } from "../contract.ts";
import type { Tally } from "../tally.ts";
import { nowMs } from "./clock.ts";
import { Gate } from "./gate.ts";

const CONNECT_TIMEOUT_MS = 5_000;
/** Longer than any pause of a healthy server; past it the outcome counts as unknown. */
const ANSWER_TIMEOUT_MS = 30_000;

export interface Address {
  readonly url: URL;
  readonly key: string;
  /** The most connections that are open at once, and so the most requests in flight. */
  readonly connections: number;
}

export interface WireRequest {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  readonly body?: string | undefined;
  /** Called when a connection takes the request, before its first byte goes. */
  readonly onLeave?: (() => void) | undefined;
}

/**
 * `lost`: no complete answer came. With `sent` the request had been handed to a connection, so
 * the server may or may not have done it; without, it certainly has not.
 */
export type Exchanged =
  | Answered
  | { readonly kind: "lost"; readonly sent: boolean; readonly reason: string };

export interface Answered {
  readonly kind: "answered";
  readonly status: number;
  readonly body: Buffer;
  readonly durationMs: number;
}

export class Wire {
  readonly #pool: Pool;
  /**
   * Thousands of buyers wait here rather than in the pool: a place in this line is one function,
   * in the pool's queue a whole request, which the garbage collector would copy again and again.
   */
  readonly #gate: Gate;
  readonly #tally: Tally;
  readonly #basePath: string;
  readonly #headers: Record<string, string>;

  constructor({ url, key, connections }: Address, tally: Tally) {
    this.#pool = new Pool(url.origin, {
      connections,
      pipelining: 1,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      headersTimeout: ANSWER_TIMEOUT_MS,
      bodyTimeout: ANSWER_TIMEOUT_MS,
    });
    this.#tally = tally;
    this.#gate = new Gate(connections);
    this.#basePath = url.pathname.replace(/\/+$/, "");
    this.#headers = { "x-api-key": key, "content-type": "application/json" };
  }

  exchange(request: WireRequest): Promise<Exchanged> {
    return new Promise((resolve) => {
      this.#gate.enter(() => {
        this.#dispatch(request, (exchanged) => {
          this.#gate.leave();
          this.#count(exchanged);
          resolve(exchanged);
        });
      });
    });
  }

  /** Drops every connection, also those with a request in flight. */
  destroy(): Promise<void> {
    return this.#pool.destroy();
  }

  #dispatch(request: WireRequest, done: (exchanged: Exchanged) => void): void {
    const options = {
      method: request.method,
      path: this.#basePath + request.path,
      headers: this.#headers,
      body: request.body ?? null,
    };
    this.#pool.dispatch(options, new AnswerCollector(done, request.onLeave));
  }

  #count(exchanged: Exchanged): void {
    if (exchanged.kind === "lost") return;
    this.#tally.requests += 1;
    if (exchanged.status >= STATUS_SERVER_ERROR_MIN) this.#tally.addServerError(exchanged.status);
  }
}

/**
 * Collects one answer. The time runs from the moment a connection takes the request, not from
 * its place in the pool's queue, so that it tells of the server and not of the crowd before it.
 */
class AnswerCollector implements Dispatcher.DispatchHandler {
  readonly #done: (exchanged: Exchanged) => void;
  readonly #onLeave: (() => void) | undefined;
  #sentAtMs: number | undefined;
  #status = 0;
  readonly #chunks: Buffer[] = [];

  constructor(done: (exchanged: Exchanged) => void, onLeave: (() => void) | undefined) {
    this.#done = done;
    this.#onLeave = onLeave;
  }

  onRequestStart(): void {
    this.#onLeave?.();
    this.#sentAtMs = nowMs();
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    this.#status = status;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const [first] = this.#chunks;
    const body = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks);
    const durationMs = nowMs() - this.#sentAtMs!;
    this.#done({ kind: "answered", status: this.#status, body, durationMs });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const sent = this.#sentAtMs !== undefined;
    this.#done({ kind: "lost", sent, reason: error.message || error.name });
  }
}
