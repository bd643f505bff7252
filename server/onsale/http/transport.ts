/**
 * Sends one HTTP request over a bounded pool of connections and measures its duration. It neither
 * retries nor throws when the network fails: a lost answer is a result like any other.
 */
import { type Dispatcher, Pool } from "undici";
import { STATUS_SERVER_ERROR_MIN, STATUS_TEMPORARY_REDIRECT } from "../contract.ts";
import type { Statistics } from "../statistics.ts";
import { ConnectionLimiter } from "./connection-limiter.ts";

const CONNECT_TIMEOUT_MS = 5_000;
/** Longer than any pause of a healthy server. After it, the outcome is unknown. */
const ANSWER_TIMEOUT_MS = 30_000;

export interface ServerOptions {
  /** The servers, of which one is ready. */
  readonly url: readonly URL[];
  readonly key: string;
  /** The largest number of open connections, and therefore of requests in flight. */
  readonly connections: number;
}

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  readonly body?: string | undefined;
  /** Called when a connection takes the request, before its first byte is sent. */
  readonly onSend?: (() => void) | undefined;
}

/**
 * `lost`: no complete answer arrived. If the request `wasSent`, the server may have executed it;
 * otherwise it certainly has not.
 */
export type HttpResult =
  | Answer
  | { readonly kind: "lost"; readonly wasSent: boolean; readonly reason: string };

export interface Answer {
  readonly kind: "answer";
  readonly status: number;
  /** Of a redirect. */
  readonly location?: string | undefined;
  readonly body: Buffer;
  /** From the moment when a connection took the request, without the time in the queue. */
  readonly durationMs: number;
}

export class Transport {
  /** By origin: where organizations have moved to is added. */
  readonly #pools = new Map<string, Pool>();
  readonly #connections: number;
  readonly #urls: readonly URL[];
  /** The position of the server that gets the requests. */
  #present = 0;
  #origin: string;
  /**
   * Thousands of buyers wait here instead of in the pool's queue, where the garbage collector would
   * copy a whole request again and again.
   */
  readonly #limiter: ConnectionLimiter;
  readonly #statistics: Statistics;
  readonly #basePath: string;
  readonly #headers: Record<string, string>;

  constructor({ url, key, connections }: ServerOptions, statistics: Statistics) {
    this.#urls = url;
    this.#origin = url[0]!.origin;
    this.#connections = connections;
    this.#limiter = new ConnectionLimiter(connections);
    this.#statistics = statistics;
    this.#basePath = url[0]!.pathname.replace(/\/+$/, "");
    this.#headers = { "x-api-key": key, "content-type": "application/json" };
  }

  async send(request: HttpRequest): Promise<HttpResult> {
    await this.#limiter.acquire();
    let result = await this.#dispatch(request);
    // The organization is in another cell, so the request has had no effect.
    if (result.kind === "answer" && result.location !== undefined) {
      this.#origin = new URL(result.location).origin;
      result = await this.#dispatch(request);
    }
    this.#limiter.release();
    if (result.kind === "lost") return result;
    this.#statistics.requests += 1;
    if (result.status >= STATUS_SERVER_ERROR_MIN) {
      this.#statistics.serverErrors.increment(result.status);
    }
    return result;
  }

  /** Sends the next requests to another of the servers. */
  tryAnother(): void {
    this.#present = (this.#present + 1) % this.#urls.length;
    this.#origin = this.#urls[this.#present]!.origin;
  }

  /** Closes every connection at once, even those with a request in flight. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }

  #pool(): Pool {
    let pool = this.#pools.get(this.#origin);
    if (pool !== undefined) return pool;
    pool = new Pool(this.#origin, {
      connections: this.#connections,
      pipelining: 1,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      headersTimeout: ANSWER_TIMEOUT_MS,
      bodyTimeout: ANSWER_TIMEOUT_MS,
    });
    this.#pools.set(this.#origin, pool);
    return pool;
  }

  #dispatch(request: HttpRequest): Promise<HttpResult> {
    const { method, path, body = null, onSend } = request;
    const target = { method, path: this.#basePath + path, headers: this.#headers, body };
    return new Promise((resolve) => {
      const chunks: Buffer[] = [];
      let sentAtMs: number | undefined;
      let status = 0;
      let location: string | undefined;
      const handler: Dispatcher.DispatchHandler = {
        onRequestStart: () => {
          onSend?.();
          sentAtMs = performance.now();
        },
        onResponseStart: (_controller, code, headers) => {
          status = code;
          if (code === STATUS_TEMPORARY_REDIRECT) location = String(headers["location"]);
        },
        onResponseData: (_controller, chunk) => {
          chunks.push(chunk);
        },
        onResponseEnd: () => {
          const durationMs = performance.now() - sentAtMs!;
          resolve({ kind: "answer", status, location, body: Buffer.concat(chunks), durationMs });
        },
        onResponseError: (_controller, error) => {
          const reason = error.message || error.name;
          resolve({ kind: "lost", wasSent: sentAtMs !== undefined, reason });
        },
      };
      this.#pool().dispatch(target, handler);
    });
  }
}
