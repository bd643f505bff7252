/**
 * Sends one HTTP request over a bounded pool of connections and measures its duration. It neither
 * retries nor throws when the network fails: a lost answer is a result like any other.
 */
import { type Dispatcher, Pool } from "undici";
import { STATUS_SERVER_ERROR_MIN } from "../contract.ts";
import type { Statistics } from "../statistics.ts";
import { ConnectionLimiter } from "./connection-limiter.ts";

const CONNECT_TIMEOUT_MS = 5_000;
/** Longer than any pause of a healthy server. After it, the outcome is unknown. */
const ANSWER_TIMEOUT_MS = 30_000;

export interface ServerOptions {
  readonly url: URL;
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
  readonly body: Buffer;
  /** From the moment when a connection took the request, without the time in the queue. */
  readonly durationMs: number;
}

export class Transport {
  readonly #pool: Pool;
  /**
   * Thousands of buyers wait here instead of in the pool's queue, where the garbage collector would
   * copy a whole request again and again.
   */
  readonly #limiter: ConnectionLimiter;
  readonly #statistics: Statistics;
  readonly #basePath: string;
  readonly #headers: Record<string, string>;

  constructor({ url, key, connections }: ServerOptions, statistics: Statistics) {
    this.#pool = new Pool(url.origin, {
      connections,
      pipelining: 1,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      headersTimeout: ANSWER_TIMEOUT_MS,
      bodyTimeout: ANSWER_TIMEOUT_MS,
    });
    this.#limiter = new ConnectionLimiter(connections);
    this.#statistics = statistics;
    this.#basePath = url.pathname.replace(/\/+$/, "");
    this.#headers = { "x-api-key": key, "content-type": "application/json" };
  }

  async send(request: HttpRequest): Promise<HttpResult> {
    await this.#limiter.acquire();
    const result = await this.#dispatch(request);
    this.#limiter.release();
    if (result.kind === "lost") return result;
    this.#statistics.requests += 1;
    if (result.status >= STATUS_SERVER_ERROR_MIN) {
      this.#statistics.serverErrors.increment(result.status);
    }
    return result;
  }

  /** Closes every connection at once, even those with a request in flight. */
  destroy(): Promise<void> {
    return this.#pool.destroy();
  }

  #dispatch(request: HttpRequest): Promise<HttpResult> {
    const { method, path, body = null, onSend } = request;
    const target = { method, path: this.#basePath + path, headers: this.#headers, body };
    return new Promise((resolve) => {
      const chunks: Buffer[] = [];
      let sentAtMs: number | undefined;
      let status = 0;
      const handler: Dispatcher.DispatchHandler = {
        onRequestStart: () => {
          onSend?.();
          sentAtMs = performance.now();
        },
        onResponseStart: (_controller, code) => {
          status = code;
        },
        onResponseData: (_controller, chunk) => {
          chunks.push(chunk);
        },
        onResponseEnd: () => {
          const durationMs = performance.now() - sentAtMs!;
          resolve({ kind: "answer", status, body: Buffer.concat(chunks), durationMs });
        },
        onResponseError: (_controller, error) => {
          const reason = error.message || error.name;
          resolve({ kind: "lost", wasSent: sentAtMs !== undefined, reason });
        },
      };
      this.#pool.dispatch(target, handler);
    });
  }
}
