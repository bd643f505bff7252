/** The part of HTTP/1.1 that the load generator needs: prebuilt requests, a reader of answers. */
import type { EventOnSale } from "./plan.ts";
import { type AnswerReader, type BookingKind, Outcome, type Wire } from "./wire.ts";

const STATUS_AT = "HTTP/1.1 ".length;
const LINE_END = 13;
const LENGTH_NAME = "content-length: ";
const NAME_LETTERS = Buffer.from(LENGTH_NAME);
/** Setting this bit makes a letter lower case; hyphen, colon, space and digits have it already. */
const LOWER_CASE_BIT = 0x20;
const DIGIT_0 = 48;
const LETTER_F = 102;
const PAGE_SIZE = 100;

export class HttpWire implements Wire {
  readonly #event: EventOnSale;
  readonly #isGet: boolean;

  /** @param isGet - Sends GET without a body, for handlers that do not read one. */
  constructor(event: EventOnSale, isGet: boolean) {
    this.#event = event;
    this.#isGet = isGet;
  }

  booking(kind: BookingKind, pair: number, session: string): Buffer {
    const { key, eventId, seatIds } = this.#event;
    const path = `/api/private/v2.0/booking/${kind}?eventId=${eventId}`;
    const head = `Host: bench\r\nX-API-Key: ${key}\r\n`;
    if (this.#isGet) return Buffer.from(`GET ${path} HTTP/1.1\r\n${head}\r\n`);
    const seats = `[{"id":${seatIds[pair * 2]}},{"id":${seatIds[pair * 2 + 1]}}]`;
    const body = `{"sessionId":"${session}","seats":${seats}}`;
    return Buffer.from(
      `POST ${path} HTTP/1.1\r\n${head}Content-Type: application/json\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body}`,
    );
  }

  page(turn: number): Buffer {
    const { key, eventId, seatIds } = this.#event;
    const number = turn % Math.ceil(seatIds.length / PAGE_SIZE);
    const path = `/api/private/v2.0/events/${eventId}/seats/?size=${PAGE_SIZE}&page=${number}`;
    return Buffer.from(`GET ${path} HTTP/1.1\r\nHost: bench\r\nX-API-Key: ${key}\r\n\r\n`);
  }

  reader(): AnswerReader {
    return new HttpReader();
  }
}

/** Reads one answer at a time: the next request is sent only after the whole answer. */
class HttpReader implements AnswerReader {
  /** The first part of an answer that has not arrived whole. */
  #early: Buffer | null = null;

  read(chunk: Buffer, chunkLength: number): Outcome {
    let [bytes, length] = [chunk, chunkLength];
    if (this.#early !== null) {
      bytes = Buffer.concat([this.#early, chunk.subarray(0, chunkLength)]);
      length = bytes.length;
      this.#early = null;
    }
    const bodyAt = bodyStartOf(bytes, length);
    const end = bodyAt < 0 ? Infinity : bodyAt + bodyLengthOf(bytes, bodyAt);
    if (length > end) throw new Error("more bytes than Content-Length says");
    if (length === end) return outcomeOf(bytes, bodyAt, end);
    this.#early = Buffer.from(bytes.subarray(0, length));
    return Outcome.PENDING;
  }
}

/** @returns Where the body begins; -1 while the head is incomplete. */
function bodyStartOf(bytes: Buffer, length: number): number {
  for (let at = STATUS_AT; at + 3 < length; at++) {
    if (bytes[at] === LINE_END && bytes[at + 2] === LINE_END) return at + 4;
  }
  return -1;
}

/** A body that begins with f is `false`. */
function outcomeOf(bytes: Buffer, bodyAt: number, end: number): Outcome {
  const hundreds = bytes[STATUS_AT]! - DIGIT_0;
  if (hundreds === 4) return Outcome.REFUSED;
  if (hundreds !== 2) return Outcome.FAILED;
  return bodyAt < end && bytes[bodyAt] === LETTER_F ? Outcome.REFUSED : Outcome.DONE;
}

function bodyLengthOf(bytes: Buffer, bodyAt: number): number {
  for (let at = STATUS_AT; at < bodyAt; at++) {
    if (bytes[at] !== LINE_END || !isLengthLine(bytes, at + 2)) continue;
    let value = 0;
    for (let digit = at + 2 + LENGTH_NAME.length; bytes[digit] !== LINE_END; digit++) {
      value = value * 10 + bytes[digit]! - DIGIT_0;
    }
    return value;
  }
  throw new Error(`the answer has no Content-Length: ${bytes.toString("latin1", 0, bodyAt)}`);
}

function isLengthLine(bytes: Buffer, at: number): boolean {
  for (let i = 0; i < NAME_LETTERS.length; i++) {
    if ((bytes[at + i]! | LOWER_CASE_BIT) !== NAME_LETTERS[i]) return false;
  }
  return true;
}
