/** What of a request is passed on to the engine over HTTP, and how its answer comes back. */
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import type { Answer } from "../wire/answers.ts";
import type { Exchange } from "../wire/front.ts";

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
export function headersOf(exchange: Exchange): OutgoingHttpHeaders {
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
    "x-request-id": exchange.requestId,
    "x-forwarded-for": exchange.address(),
  };
  const headers: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(given)) if (value !== "") headers[name] = value;
  if (idempotencyKey !== null) headers["idempotency-key"] = idempotencyKey;
  // The engine refuses it, as it would without a gateway.
  if (repeatedHeader !== "") headers[repeatedHeader] = ["?", "?"];
  return headers;
}

export function targetOf({ path, query }: Exchange): string {
  return query === "" ? path : `${path}?${query}`;
}

/** Bytes of answers that are being read from the engine, in all gateways' requests. */
export const ANSWERS_BYTES_MAX = 128 * 1_024 * 1_024;

/** Memory for answers while they come. One that has no room is not read yet. */
export class AnswerRoom {
  readonly #bytesMax: number;
  readonly #queue: { readonly bytes: number; readonly begin: () => void }[] = [];
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
    for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) {
      // One that is longer than all the room comes alone.
      if (this.bytes > 0 && this.bytes + first.bytes > this.#bytesMax) return;
      this.#queue.shift();
      this.bytes += first.bytes;
      first.begin();
    }
  }
}

/** Reads an answer whole. Calls `done` with null when it breaks off. */
export function collect(
  response: IncomingMessage,
  room: AnswerRoom,
  done: (answer: Answer | null) => void,
): void {
  const bytes = Number(response.headers["content-length"] ?? 0);
  response.pause();
  room.take(bytes, () => {
    const parts: Buffer[] = [];
    let isDone = false;
    const end = (answer: Answer | null) => {
      if (isDone) return;
      isDone = true;
      room.giveBack(bytes);
      done(answer);
    };
    response
      .on("data", (part: Buffer) => parts.push(part))
      .on("end", () => end(answerOf(response, parts)))
      .on("error", () => end(null))
      .on("close", () => end(null))
      .resume();
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
