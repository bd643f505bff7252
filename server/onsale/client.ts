/** Typed reads and writes of everything except bookings. Reads are retried. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Dispatcher, Pool } from "undici";
import { type BestRequest, type Call, CommandClient, ConnectionRefused } from "../client/client.ts";
import {
  API_PATH,
  type AreaCounters,
  type ListedSeat,
  type Page,
  PAGE_SIZE_MAX,
  type Problem,
  READY_PATH,
  STATUS_CREATED,
  STATUS_OK,
  STATUS_SERVER_ERROR_MIN,
  STATUS_TEMPORARY_REDIRECT,
  STATUS_TOO_MANY_REQUESTS,
} from "./contract.ts";
import type { Random } from "./random.ts";
import type { Statistics } from "./statistics.ts";

export class ApiClient {
  readonly #transport: Transport;
  readonly #retryPolicy: RetryPolicy;

  constructor(transport: Transport, retryPolicy: RetryPolicy) {
    this.#transport = transport;
    this.#retryPolicy = retryPolicy;
  }

  /**
   * Reads a resource, as `ask`.
   * @throws FatalError for any other answer than 200, and at the deadline.
   */
  async read<Body>(path: string): Promise<Body> {
    const request = { method: "GET", path: API_PATH + path } as const;
    return parseSuccess(request, await this.ask(request)) as Body;
  }

  /**
   * Sends a repeatable request, again while the answer is lost, 429 or 5xx.
   * @throws FatalError at the deadline.
   */
  async ask(request: HttpRequest): Promise<Answer> {
    for (let attempt = 0; ; attempt++) {
      const result = await this.#transport.send(request);
      if (result.kind === "answer" && !isTransient(result.status)) return result;
      await this.#retryPolicy.waitAfter(result, attempt);
    }
  }

  /**
   * Creates or replaces something in one attempt: a write of unknown outcome is not repeated.
   * @throws FatalError for any answer except 200 and 201, and for a lost one.
   */
  async write<Body>(method: "POST" | "PUT", path: string, body: string): Promise<Body> {
    const request = { method, path: API_PATH + path, body };
    const result = await this.#transport.send(request);
    if (result.kind === "answer") return parseSuccess(request, result) as Body;
    throw new FatalError(`${method} ${request.path}: no answer (${result.reason})`);
  }
}

function isTransient(status: number): boolean {
  return status === STATUS_TOO_MANY_REQUESTS || status >= STATUS_SERVER_ERROR_MIN;
}

function parseSuccess(request: HttpRequest, answer: Answer): unknown {
  if (answer.status !== STATUS_OK && answer.status !== STATUS_CREATED) {
    throw unexpectedAnswer(request, answer);
  }
  return JSON.parse(answer.body.toString());
}

// Reads the state of the event from the server: everything, or the recent changes.

/** Enough for a fast read, few enough to leave connections to the buyers. */
const PAGES_AT_ONCE = 16;

/** The complete state of one event. */
export interface Inventory {
  readonly seats: readonly ListedSeat[];
  readonly areas: readonly AreaCounters[];
}

export class InventoryReader {
  readonly #client: ApiClient;
  readonly #eventPath: string;
  /** `updatedAt` of the newest change that has been read. */
  #newestUpdate = "";

  constructor(client: ApiClient, eventId: string) {
    this.#client = client;
    this.#eventPath = `/events/${eventId}`;
  }

  readAreas(): Promise<readonly AreaCounters[]> {
    return this.#client.read(`${this.#eventPath}/areas/`);
  }

  async readAll(): Promise<Inventory> {
    return { seats: await this.readSeats(), areas: await this.readAreas() };
  }

  /**
   * Reads the seats that changed since the last read, or all seats the first time. A seat may
   * appear more than once.
   *
   * Ordering: newest first. A seat that changes during the read moves to the front and pushes other
   * seats to later pages, never to earlier ones, so the read misses nothing.
   */
  async readChanges(): Promise<readonly ListedSeat[]> {
    const since = this.#newestUpdate === "" ? "" : `&lastUpdated=${this.#newestUpdate}`;
    const seats: ListedSeat[] = [];
    for (let number = 0; ; number++) {
      const page = await this.#readPage(number, `updatedAt,desc${since}`);
      seats.push(...page.content);
      if (number === 0) this.#noteNewest(page);
      if (page.last) return seats;
    }
  }

  /**
   * Reads every seat of the event, ordered by id. The newest change is read first, so the next
   * `readChanges` begins where this read began.
   */
  async readSeats(): Promise<readonly ListedSeat[]> {
    this.#noteNewest(await this.#readPage(0, "updatedAt,desc", 1));
    const first = await this.#readPage(0, "seatId");
    const seats = [...first.content];
    for (let start = 1; start < first.totalPages; start += PAGES_AT_ONCE) {
      const count = Math.min(PAGES_AT_ONCE, first.totalPages - start);
      const numbers = Array.from({ length: count }, (_, offset) => start + offset);
      const pages = await Promise.all(numbers.map((number) => this.#readPage(number, "seatId")));
      for (const page of pages) seats.push(...page.content);
    }
    return seats;
  }

  #noteNewest(newestFirst: Page<ListedSeat>): void {
    this.#newestUpdate = newestFirst.content[0]?.updatedAt ?? this.#newestUpdate;
  }

  #readPage(number: number, order: string, size = PAGE_SIZE_MAX): Promise<Page<ListedSeat>> {
    const query = `size=${size}&page=${number}&sort=${order}`;
    return this.#client.read(`${this.#eventPath}/seats/?${query}`);
  }
}

// Sends one HTTP request over a bounded pool of connections and measures its duration. It neither
// retries nor throws when the network fails: a lost answer is a result like any other.

const CONNECT_TIMEOUT_MS = 5_000;
/** Longer than any pause of a healthy server. */
const ANSWER_MS = 30_000;

interface ServerOptions {
  /** The servers, of which one is ready. */
  readonly url: readonly URL[];
  readonly key: string;
  /** The largest number of open connections, and therefore of requests in flight. */
  readonly connections: number;
  /** Time limit of an answer; after it, the outcome is unknown. */
  readonly answerMs?: number;
}

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  /** Sent without the key, as by a browser. */
  readonly isPublic?: boolean;
  readonly body?: string | undefined;
  /** Called when a connection takes the request, before its first byte is sent. */
  readonly onSend?: (() => void) | undefined;
  /** Asked when a connection is free; if true, the request is not sent. */
  readonly isMoot?: (() => boolean) | undefined;
}

/**
 * `lost`: no complete answer arrived. If the request `wasSent`, the server may have executed it;
 * otherwise it certainly has not.
 */
type HttpResult =
  | Answer
  | { readonly kind: "lost"; readonly wasSent: boolean; readonly reason: string };

const NOT_SENT: HttpResult = { kind: "lost", wasSent: false, reason: "no longer wanted" };

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
  readonly #answerMs: number;
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
  readonly #publicHeaders: Record<string, string>;

  constructor(options: ServerOptions, statistics: Statistics) {
    const { url, key, connections, answerMs = ANSWER_MS } = options;
    this.#urls = url;
    this.#origin = url[0]!.origin;
    this.#connections = connections;
    this.#answerMs = answerMs;
    this.#limiter = new ConnectionLimiter(connections);
    this.#statistics = statistics;
    this.#basePath = url[0]!.pathname.replace(/\/+$/, "");
    const strict = { prefer: "handling=strict" };
    this.#publicHeaders = { "content-type": "application/json", ...strict };
    this.#headers = { "x-api-key": key, ...this.#publicHeaders };
  }

  async send(request: HttpRequest): Promise<HttpResult> {
    await this.#limiter.acquire();
    if (request.isMoot?.() === true) {
      this.#limiter.release();
      return NOT_SENT;
    }
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
      headersTimeout: this.#answerMs,
      bodyTimeout: this.#answerMs,
    });
    this.#pools.set(this.#origin, pool);
    return pool;
  }

  #dispatch(request: HttpRequest): Promise<HttpResult> {
    const { method, path, body = null, onSend, isPublic } = request;
    const access = isPublic === true ? this.#publicHeaders : this.#headers;
    const target = { method, path: this.#basePath + path, headers: access, body };
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

// Sends bookings as commands over one WebSocket. The results are those of requests.

export class SocketTransport {
  readonly #client: CommandClient;
  readonly #statistics: Statistics;

  constructor({ url, key }: ServerOptions, statistics: Statistics) {
    // The buyers find out about unknown outcomes themselves.
    this.#client = new CommandClient({ url: url.map(({ href }) => href), key, repeats: false });
    this.#statistics = statistics;
  }

  /** @throws FatalError when the server refuses the connection. */
  async send({ path, body = "{}", onSend, isMoot }: HttpRequest): Promise<HttpResult> {
    if (isMoot?.() === true) return NOT_SENT;
    const [resource = "", query] = path.split("?");
    const call = resource.slice(resource.lastIndexOf("/") + 1) as Call | "best";
    const eventId = new URLSearchParams(query).get("eventId")!;
    onSend?.();
    const sentAtMs = performance.now();
    try {
      const request = { eventId, ...(JSON.parse(body) as object) };
      const result = await (call === "best"
        ? this.#client.best(request as BestRequest)
        : this.#client.send(call, request));
      const durationMs = performance.now() - sentAtMs;
      const status = result.ok ? STATUS_OK : result.problem.status;
      this.#statistics.requests += 1;
      if (status >= STATUS_SERVER_ERROR_MIN) this.#statistics.serverErrors.increment(status);
      const answer = Buffer.from(JSON.stringify(result.ok ? result.value : result.problem));
      return { kind: "answer", status, body: answer, durationMs };
    } catch (error) {
      const { message } = error as Error;
      if (error instanceof ConnectionRefused) throw new FatalError(message);
      return { kind: "lost", wasSent: true, reason: message };
    }
  }

  /** Closes the connection at once. */
  destroy(): void {
    this.#client.destroy();
  }
}

/** Limits the requests in flight. Further requests wait in a queue: first in, first out. */
class ConnectionLimiter {
  #freeCount: number;
  /** The queue in two parts, so that neither end moves the others: the first to start is last. */
  #next: (() => void)[] = [];
  #arrived: (() => void)[] = [];

  constructor(connectionCount: number) {
    this.#freeCount = connectionCount;
  }

  /** Resolves when a connection is free. Each call needs one `release`. */
  acquire(): Promise<void> {
    if (this.#freeCount === 0) return new Promise((resolve) => this.#arrived.push(resolve));
    this.#freeCount -= 1;
    return Promise.resolve();
  }

  /** Gives the connection to the next request. Cost: constant on average for any queue length. */
  release(): void {
    if (this.#next.length === 0) {
      this.#next = this.#arrived.toReversed();
      this.#arrived = [];
    }
    const start = this.#next.pop();
    if (start === undefined) this.#freeCount += 1;
    else start();
  }
}

// Decides how long to wait for a server that is unavailable or overloaded: exponential backoff with
// jitter up to a maximum, and a deadline for the whole run.

const BACKOFF_MS_MIN = 10;
const BACKOFF_MS_MAX = 1_000;

export class RetryPolicy {
  readonly #transport: Transport;
  readonly #random: Random;
  #deadlineMs = 0;
  #recovery: Promise<void> | undefined;
  /** How often the client had to wait until the server was ready again. */
  outages = 0;

  constructor(transport: Transport, random: Random) {
    this.#transport = transport;
    this.#random = random;
  }

  /** Sets the deadline to `durationMs` from now. */
  allow(durationMs: number): void {
    this.#deadlineMs = performance.now() + durationMs;
  }

  /**
   * Waits before another attempt. After a lost answer or a 5xx, it also waits until the server is
   * ready.
   * @throws FatalError at the deadline.
   */
  async waitAfter(result: HttpResult, attempt: number): Promise<void> {
    await this.#backOff(attempt, result);
    if (result.kind === "lost" || result.status >= STATUS_SERVER_ERROR_MIN) {
      await this.#waitForRecovery();
    }
  }

  /** The maximum wait doubles with each attempt. */
  async #backOff(attempt: number, result: HttpResult): Promise<void> {
    const stepMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** Math.min(attempt, 16));
    const pauseMs = this.#random.between(stepMs / 2, stepMs);
    if (performance.now() + pauseMs > this.#deadlineMs) {
      const last = result.kind === "lost" ? result.reason : `status ${result.status}`;
      throw new FatalError(
        `The server did not answer in time (at last: ${last}). Is it running at this --url?`,
      );
    }
    await sleep(pauseMs);
  }

  /** All buyers share one check, so a thousand buyers cause no more requests than one. */
  #waitForRecovery(): Promise<void> {
    this.#recovery ??= this.waitUntilReady().finally(() => {
      this.#recovery = undefined;
      this.outages += 1;
    });
    return this.#recovery;
  }

  /**
   * Resolves when `/readyz` answers 200.
   * @throws FatalError at the deadline.
   */
  async waitUntilReady(): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const result = await this.#transport.send({ method: "GET", path: READY_PATH });
      if (result.kind === "answer" && result.status === STATUS_OK) return;
      this.#transport.tryAnother();
      await this.#backOff(attempt, result);
    }
  }
}

// Errors that end a run, and the content of problem documents.

/**
 * Ends the run: no retry helps against a wrong key, a missing event or a server that is gone. The
 * message tells the user in one line what happened.
 */
export class FatalError extends Error {
  override readonly name = "FatalError";
}

/** A body that is not JSON, such as a proxy's error page, counts as a problem without members. */
export function parseProblem(body: Buffer): Problem {
  try {
    return (JSON.parse(body.toString()) as Problem | null) ?? {};
  } catch {
    // Not JSON: only the status says what happened.
    return {};
  }
}

/** The error for an answer after which the run cannot continue. */
export function unexpectedAnswer(request: HttpRequest, answer: Answer): FatalError {
  const { errorCode = "no errorCode", detail = "no detail" } = parseProblem(answer.body);
  const call = `${request.method} ${request.path}`;
  return new FatalError(`${call}: ${answer.status} ${errorCode}: ${detail}`);
}
