/** What of a request is passed on to the engine over HTTP, and how its answer comes back. */
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import type { Answer, Problem } from "../wire/answers.ts";
import type { Exchange } from "../wire/front.ts";
import { FrontResult } from "../wire/replies.ts";

/** Headers of an answer that belong to its connection, or that the gateway sends by itself. */
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
 * Every header that the engine looks at. The address of the client takes the place of what the
 * client itself claims; the engine believes it if it trusts the gateway.
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

export const UNFORWARDABLE: Problem = {
  refused: FrontResult.MALFORMED_REQUEST,
  detail: "The path or a header has characters that HTTP does not allow.",
};

/** @returns Null for a request that HTTP cannot carry: `UNFORWARDABLE`. */
export function forwarded(exchange: Exchange): Forwarded | null {
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

/** UTF-8 with one character for each byte: the engine reads what the client has sent. */
function utf8Of(text: string): string {
  return BEYOND_ASCII.test(text) ? Buffer.from(text).toString("latin1") : text;
}

/** Bytes of answers that are being read from the engine, in all gateways' requests. */
export const ANSWERS_BYTES_MAX = 128 * 1_024 * 1_024;

/** Memory for answers while they come. One that has no room is not read yet. */
export class AnswerRoom {
  readonly #bytesMax: number;
  readonly #queue: { readonly bytes: number; readonly begin: () => void }[] = [];
  #isGiving = false;
  bytes = 0;

  constructor(bytesMax = ANSWERS_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** Answers that wait. */
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
    // `begin` may give back at once: the loop goes on with that, instead of a call in a call.
    if (this.#isGiving) return;
    this.#isGiving = true;
    for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) {
      // One that is longer than all the room comes alone.
      if (this.bytes > 0 && this.bytes + first.bytes > this.#bytesMax) break;
      this.#queue.shift();
      this.bytes += first.bytes;
      first.begin();
    }
    this.#isGiving = false;
  }
}

/** uWS refuses what it cannot read without a `Content-Length`, and closes the connection. */
const UNANNOUNCED_BYTES_MAX = 1_024;

/**
 * Reads an answer whole, and never more than it announces. Calls `done` with null when it breaks
 * off or exceeds that.
 */
export function collect(
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

/** A refusal keeps the id that the engine gave it. */
export function keepId(exchange: Exchange, response: IncomingMessage): void {
  const { "x-request-id": id } = response.headers;
  if (exchange.requestId === "" && typeof id === "string") exchange.requestId = id;
}
