/** HTTP/1.1 as far as a load generator needs it: prebuilt requests, answers recognized by bytes. */
import type { Hall } from "./plan.ts";
import { type AnswerReader, Outcome, type RequestKind, type Wire } from "./wire.ts";

const STATUS_AT = "HTTP/1.1 ".length;
const LINE_END = 13;
const LENGTH_NAME = "content-length: ";
const NAME_LETTERS = Buffer.from(LENGTH_NAME);
/** Turns an upper-case letter to lower case, and leaves a hyphen, colon, blank and digit. */
const LOWER = 0x20;
const DIGIT_0 = 48;
const LETTER_F = 102;
const PAGE = 100;

export class HttpWire implements Wire {
  readonly #hall: Hall;
  readonly #isGet: boolean;

  /** @param isGet - Sends no body, for what answers without reading one. */
  constructor(hall: Hall, isGet: boolean) {
    this.#hall = hall;
    this.#isGet = isGet;
  }

  request(kind: RequestKind, pair: number, session: string): Buffer {
    const { key, eventId, seatIds } = this.#hall;
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
    const { key, eventId, seatIds } = this.#hall;
    const number = turn % Math.ceil(seatIds.length / PAGE);
    const path = `/api/private/v2.0/events/${eventId}/seats/?size=${PAGE}&page=${number}`;
    return Buffer.from(`GET ${path} HTTP/1.1\r\nHost: bench\r\nX-API-Key: ${key}\r\n\r\n`);
  }

  reader(): AnswerReader {
    return new HttpReader();
  }
}

/** One answer after the other; a request goes out only when the answer before is in. */
class HttpReader implements AnswerReader {
  #early: Buffer | null = null;
  #outcome: Outcome = Outcome.PENDING;
  #bodyMissing = 0;

  read(buffer: Buffer, length: number): Outcome {
    if (this.#outcome === Outcome.PENDING) return this.#readHead(buffer, length);
    return this.#readBody(length);
  }

  #readHead(chunk: Buffer, chunkLength: number): Outcome {
    let [bytes, length] = [chunk, chunkLength];
    if (this.#early !== null) {
      bytes = Buffer.concat([this.#early, chunk.subarray(0, chunkLength)]);
      length = bytes.length;
      this.#early = null;
    }
    const bodyAt = bodyOf(bytes, length);
    if (bodyAt < 0) {
      this.#early = Buffer.from(bytes.subarray(0, length));
      return Outcome.PENDING;
    }
    this.#outcome = outcomeOf(bytes, bodyAt, length);
    this.#bodyMissing = lengthOf(bytes, bodyAt);
    return this.#readBody(length - bodyAt);
  }

  #readBody(length: number): Outcome {
    this.#bodyMissing -= length;
    if (this.#bodyMissing < 0) throw new Error("more bytes than the answer has");
    if (this.#bodyMissing > 0) return Outcome.PENDING;
    const outcome = this.#outcome;
    this.#outcome = Outcome.PENDING;
    return outcome;
  }
}

/** @returns Where the body begins; -1 while the head is not whole. */
function bodyOf(bytes: Buffer, length: number): number {
  for (let at = STATUS_AT; at + 3 < length; at++) {
    if (bytes[at] === LINE_END && bytes[at + 2] === LINE_END) return at + 4;
  }
  return -1;
}

/** `false` begins with f; when the body has not begun, it is a large one and no boolean. */
function outcomeOf(bytes: Buffer, bodyAt: number, length: number): Outcome {
  const hundreds = bytes[STATUS_AT]! - DIGIT_0;
  if (hundreds === 4) return Outcome.REFUSED;
  if (hundreds !== 2) return Outcome.FAILED;
  return bodyAt < length && bytes[bodyAt] === LETTER_F ? Outcome.REFUSED : Outcome.DONE;
}

function lengthOf(bytes: Buffer, bodyAt: number): number {
  for (let at = STATUS_AT; at < bodyAt; at++) {
    if (bytes[at] !== LINE_END || !isLengthLine(bytes, at + 2)) continue;
    let value = 0;
    for (let digit = at + 2 + LENGTH_NAME.length; bytes[digit] !== LINE_END; digit++) {
      value = value * 10 + bytes[digit]! - DIGIT_0;
    }
    return value;
  }
  throw new Error(`an answer without Content-Length: ${bytes.toString("latin1", 0, bodyAt)}`);
}

function isLengthLine(bytes: Buffer, at: number): boolean {
  for (let i = 0; i < NAME_LETTERS.length; i++) {
    if ((bytes[at + i]! | LOWER) !== NAME_LETTERS[i]) return false;
  }
  return true;
}
