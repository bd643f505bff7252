/** Writes an answer to the socket, or as much of it as the socket takes. */
import { STATUS_CODES } from "node:http";
import { type Answer, SAFE_HEADERS } from "./answers.ts";

type Bytes = string | ArrayBuffer | Uint8Array;

/** The side of the library that takes an answer. */
export interface AnswerSocket {
  writeStatus(status: Bytes): unknown;
  writeHeader(name: Bytes, value: Bytes): unknown;
  end(body: Bytes, closesConnection: boolean): unknown;
  endWithoutBody(): unknown;
  /** @returns Whether more may be written, and whether the answer is complete. */
  tryEnd(body: Bytes, totalBytes?: number): [boolean, boolean];
}

/** What of a request decides how its answer is written. */
export interface Outgoing {
  readonly method: string;
  /** Whether the connection is closed after the answer. */
  readonly isLast: boolean;
  /** Whether that is decided here; the client does not know yet. */
  readonly isCutOff: boolean;
  /** The header `X-Request-Id` of the answer; empty for none. */
  readonly answerId: string;
}

const STATUS_LINES = new Map(
  Object.entries(STATUS_CODES).map(([code, text]) => [Number(code), `${code} ${text ?? ""}`]),
);
const PRINTABLE = /^[\x20-\x7e]*$/;
/** Header names as bytes: the library would encode a text at every call. */
const CONTENT_TYPE_NAME = bytesOf("Content-Type");
const KEEP_ALIVE_NAME = bytesOf("Keep-Alive");
const REQUEST_ID_NAME = bytesOf("X-Request-Id");
/**
 * The library closes a connection that has been idle for a little more than 8 seconds. A client
 * that knows sends no request on a connection that is about to close.
 */
const KEEP_ALIVE = "timeout=8";
/** Answers of at most this length are usually written without asking whether the socket is full. */
const TINY_LENGTH_MAX = 5;
/** The share of tiny answers that do ask: asking takes about a microsecond. */
const ASKED_SHARE = 1 / 64;

/**
 * To be called in the library's cork, which makes an answer one write.
 *
 * @returns Null when the answer is complete, otherwise its whole body: the library has taken a part
 * of it and says with `onWritable` from where to continue.
 */
export function writeAnswer(
  socket: AnswerSocket,
  answer: Answer,
  { method, isLast, isCutOff, answerId }: Outgoing,
): Uint8Array | null {
  const { status, body } = answer;
  writeHead(socket, answer, isLast);
  if (answerId !== "") socket.writeHeader(REQUEST_ID_NAME, answerId);
  if (isCutOff) {
    socket.end(method === "head" ? "" : body, true);
    return null;
  }
  if (method === "head" && status !== 204) {
    socket.writeHeader("Content-Length", String(answer.length ?? lengthOf(body)));
    socket.endWithoutBody();
    return null;
  }
  if (status === 204) {
    socket.endWithoutBody();
    return null;
  }
  // A socket that is full is noticed after a few tiny answers, which take little memory.
  const isUnasked = body.length <= TINY_LENGTH_MAX && Math.random() > ASKED_SHARE;
  if (isUnasked) {
    socket.end(body, false);
    return null;
  }
  const written = socket.tryEnd(body);
  if (written[1]) return null;
  return typeof body === "string" ? Buffer.from(body) : body;
}

/** Writes status and headers. */
export function writeHead(
  socket: AnswerSocket,
  { status, type, headers }: Answer,
  isLast: boolean,
): void {
  // Status 200 is what the library writes by default.
  if (status !== 200) socket.writeStatus(STATUS_LINES.get(status) ?? String(status));
  if (headers === SAFE_HEADERS && !isLast && type !== "") {
    socket.writeHeader(CONTENT_TYPE_NAME, usualHead(type));
    return;
  }
  if (type !== "") socket.writeHeader(CONTENT_TYPE_NAME, type);
  if (!isLast) socket.writeHeader(KEEP_ALIVE_NAME, KEEP_ALIVE);
  for (const [name, value] of headers) {
    // The library writes values as they are: a line break would begin a new header.
    if (PRINTABLE.test(value)) socket.writeHeader(name, value);
  }
}

const usualHeads = new Map<string, ArrayBuffer>();
/** The type of the last answer: most answers have the same one. */
let lastType = "";
let lastHead = bytesOf("");

/** A content type and the headers of most answers as one value: each call of uWS costs time. */
function usualHead(type: string): ArrayBuffer {
  if (type !== lastType) {
    lastType = type;
    lastHead = bytesOfHead(type);
  }
  return lastHead;
}

function bytesOfHead(type: string): ArrayBuffer {
  let bytes = usualHeads.get(type);
  if (bytes === undefined) {
    const others = [["Keep-Alive", KEEP_ALIVE], ...SAFE_HEADERS];
    bytes = bytesOf(type + others.map(([name, value]) => `\r\n${name}: ${value}`).join(""));
    usualHeads.set(type, bytes);
  }
  return bytes;
}

function bytesOf(text: string): ArrayBuffer {
  return new TextEncoder().encode(text).buffer;
}

function lengthOf(body: Answer["body"]): number {
  return typeof body === "string" ? Buffer.byteLength(body) : body.length;
}
