/**
 * `frontrow.commands.v1+binary`: a fixed little-endian layout, described in the guide. A lock of
 * two seats takes 24 bytes.
 */
import { HOLD_TYPE_LENGTH_MAX, SESSION_LENGTH_MAX } from "../../engine/constants.ts";
import { normalName } from "../../engine/names.ts";
import type { FieldError } from "../../engine/results.ts";
import { type Answer, REPLIES } from "../http/answers.ts";
import type { AnswerBuffer } from "./answer-buffer.ts";
import {
  CALLS,
  type Command,
  HANDLE_KINDS,
  type Handles,
  type Limits,
  LIMITS,
  NO_MEMORY,
  type Protocol,
  type Refused,
  UNREADABLE,
} from "./command.ts";

export const COMMAND_BYTES = 16;
/** The bytes of an entry before its texts; fewer are no entry. */
export const OPEN_BYTES = 8;
/** Kinds of entries, at offset 4: handles from here on, commands below. */
export const OPENS_FROM = 128;
export const LONG_IDS = 1;
const UUID_BYTES = 16;
const UUID_LENGTH = 36;
const WORD = 2 ** 32;
export const DONE = 1;
const NOT_DONE = 0;
export const ANSWER_BYTES = 8;
const PROBLEM_BYTES = 12;
const ERROR_BYTES = 4;
/** The longest usual text of each kind of handle. */
const LENGTHS_MAX = [UUID_LENGTH, SESSION_LENGTH_MAX, HOLD_TYPE_LENGTH_MAX, Infinity];
const UUID_PARTS = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const PLAIN = /^[\x20-\x7e]+$/;
/** Positions in `HANDLE_KINDS`. */
export const Kind = { EVENT: 0, SESSION: 1, HOLD_TYPE: 2, KEY: 3 } as const;

export class BinaryProtocol implements Protocol {
  readonly name: string = "frontrow.commands.v1+binary";
  readonly limits: Limits = LIMITS;
  readonly isBinary = true;
  readonly isShared: boolean = false;
  readonly headBytes = 0;

  count(frame: ArrayBuffer): number {
    const view = new DataView(frame);
    let count = 0;
    let at = 0;
    while (at < view.byteLength) {
      const bytes = this.entryBytes(view, at);
      if (bytes === UNREADABLE) return UNREADABLE;
      if (this.isCommand(view.getUint8(at + 4))) count += 1;
      at += bytes;
    }
    return count;
  }

  readFrame(frame: ArrayBuffer, handles: Handles, commands: readonly Command[]): number {
    const view = new DataView(frame);
    const end = view.byteLength;
    let count = 0;
    let at = 0;
    while (at < end) {
      const bytes = this.entryBytes(view, at);
      if (bytes === UNREADABLE) return UNREADABLE;
      let fault = 0;
      if (this.isCommand(view.getUint8(at + 4))) {
        const command = commands[count];
        if (command !== undefined) fault = this.readCommand(view, at, handles, command);
        count += 1;
      } else fault = this.open(view, at, handles);
      if (fault !== 0) return fault;
      at += bytes;
    }
    return count;
  }

  /** @returns True for an entry with an answer. */
  protected isCommand(kind: number): boolean {
    return kind < OPENS_FROM;
  }

  /** @returns The length of an entry, or UNREADABLE when the frame does not hold all of it. */
  protected entryBytes(view: DataView, at: number): number {
    const room = view.byteLength - at;
    if (room < OPEN_BYTES) return UNREADABLE;
    const kind = view.getUint8(at + 4);
    if (kind >= OPENS_FROM) {
      if (kind > OPENS_FROM + Kind.HOLD_TYPE) return UNREADABLE;
      return paddedWithin(OPEN_BYTES + view.getUint16(at + 2, true), room);
    }
    const isCall = kind >= 1 && kind <= CALLS.length;
    if (room < COMMAND_BYTES || !isCall || view.getUint8(at + 5) > LONG_IDS) return UNREADABLE;
    const idBytes = view.getUint8(at + 5) === LONG_IDS ? 8 : 4;
    const [seats, areas] = [view.getUint16(at + 12, true), view.getUint16(at + 14, true)];
    const ids = seats * idBytes + areas * (idBytes + 4);
    return paddedWithin(COMMAND_BYTES + ids + view.getUint8(at + 11), room);
  }

  /** @returns 0, UNREADABLE or NO_MEMORY. */
  protected open(view: DataView, at: number, handles: Handles): number {
    const kind = view.getUint8(at + 4) - OPENS_FROM;
    const bytes = view.getUint16(at + 2, true);
    const raw = Buffer.from(view.buffer as ArrayBuffer, at + OPEN_BYTES, bytes);
    let text: string;
    let isUsual = true;
    if (kind === Kind.EVENT) {
      if (bytes !== 0 && bytes !== UUID_BYTES) return UNREADABLE;
      text = raw.toString("hex").replace(UUID_PARTS, "$1-$2-$3-$4-$5");
    } else {
      text = raw.toString("latin1");
      isUsual = PLAIN.test(text);
      if (!isUsual) {
        try {
          text = utf8.decode(raw);
        } catch {
          return UNREADABLE;
        }
      }
      if (text.length > LENGTHS_MAX[kind]!) isUsual = false;
      if (kind === Kind.HOLD_TYPE && normalName(text) !== text) isUsual = false;
    }
    return handles.open(kind, view.getUint16(at, true), text, isUsual) ? 0 : NO_MEMORY;
  }

  /** @returns 0, UNREADABLE or NO_MEMORY. */
  protected readCommand(view: DataView, at: number, handles: Handles, command: Command): number {
    command.clear();
    command.number = view.getUint32(at, true);
    command.call = CALLS[view.getUint8(at + 4) - 1]!;
    const isLong = view.getUint8(at + 5) === LONG_IDS;
    command.client = handles.client;
    command.isUsual = true;
    const [event, session] = [view.getUint16(at + 6, true), view.getUint16(at + 8, true)];
    const holdType = view.getUint8(at + 10);
    command.eventId = textOf(handles, Kind.EVENT, event, command);
    if (session !== 0) command.body.sessionId = textOf(handles, Kind.SESSION, session, command);
    if (holdType !== 0) command.body.holdType = textOf(handles, Kind.HOLD_TYPE, holdType, command);
    const keyBytes = view.getUint8(at + 11);
    const seatCount = view.getUint16(at + 12, true);
    const areaCount = view.getUint16(at + 14, true);
    let next = at + COMMAND_BYTES;
    const idBytes = isLong ? 8 : 4;
    for (let i = 0; i < seatCount; i++, next += idBytes) {
      const choice = command.seats.add();
      choice.id = idAt(view, next, isLong);
      choice.capacity = null;
      if (!isId(choice.id)) command.isUsual = false;
    }
    for (let i = 0; i < areaCount; i++, next += idBytes + 4) {
      const choice = command.areas.add();
      choice.id = idAt(view, next, isLong);
      choice.capacity = view.getUint32(next + idBytes, true);
      if (!isId(choice.id)) command.isUsual = false;
    }
    if (keyBytes > 0) {
      command.idempotencyKey = Buffer.from(view.buffer as ArrayBuffer, next, keyBytes).toString();
    }
    return 0;
  }

  writeDone(to: AnswerBuffer, number: number, isDone: boolean): void {
    to.reserve(ANSWER_BYTES);
    to.uint32(number);
    to.uint16(200);
    to.uint16(isDone ? DONE : NOT_DONE);
  }

  writeProblem(to: AnswerBuffer, number: number, { problem }: Refused): number {
    const { refused, errors = [], headers = [] } = problem;
    const status = problem.status ?? REPLIES[refused].status;
    writeRefusal(to, number, {
      status,
      result: RESULT_NUMBERS.get(refused) ?? 0,
      retrySeconds: retrySecondsOf(headers),
      errors,
    });
    return status;
  }

  writeAnswer(to: AnswerBuffer, number: number, { status, body, headers }: Answer): void {
    const value: unknown = JSON.parse(String(body));
    // A first request over HTTP may have preferred a representation.
    if (status === 200) {
      this.writeDone(to, number, value !== false);
      return;
    }
    const { errorCode, errors } = value as Document;
    const result = resultNumberOf(errorCode);
    writeRefusal(to, number, { status, result, retrySeconds: retrySecondsOf(headers), errors });
  }

  messageOf({ bytes }: AnswerBuffer, end: number): Uint8Array {
    return bytes.subarray(0, end);
  }
}

interface Document {
  readonly errorCode: string;
  readonly errors: readonly FieldError[];
}

/**
 * @param bytes - Compared before it is padded: a sum of long lengths has more than 32 bits.
 * @returns The length with its padding, or UNREADABLE when there is no room for it.
 */
export function paddedWithin(bytes: number, room: number): number {
  return bytes <= room - (room & 3) ? (bytes + 3) & ~3 : UNREADABLE;
}

const MEMBERS = ["eventId", "sessionId", "holdType"];

/** @returns The text of a handle; null, and an error in the command, when it is not open. */
function textOf(handles: Handles, kind: number, number: number, command: Command): string | null {
  const handle = handles.find(kind, number);
  if (handle === undefined) {
    const message = `is no open handle of kind ${HANDLE_KINDS[kind]!}`;
    command.invalid = { field: MEMBERS[kind]!, code: "UNKNOWN", message, rejectedValue: number };
    command.isUsual = false;
    return null;
  }
  if (!handle.isUsual) command.isUsual = false;
  return handle.text;
}

function idAt(view: DataView, at: number, isLong: boolean): number {
  const low = view.getUint32(at, true);
  return isLong ? view.getUint32(at + 4, true) * WORD + low : low;
}

function isId(id: number): boolean {
  return id > 0 && id <= Number.MAX_SAFE_INTEGER;
}

interface Refusal {
  readonly status: number;
  /** The number of its `errorCode`. */
  readonly result: number;
  readonly retrySeconds: number;
  readonly errors: readonly Pick<FieldError, "field" | "code">[];
}

function writeRefusal(to: AnswerBuffer, number: number, refusal: Refusal): void {
  const { status, result, retrySeconds, errors } = refusal;
  to.reserve(PROBLEM_BYTES + errors.length * ERROR_BYTES);
  to.uint32(number);
  to.uint16(status);
  to.uint16(result);
  to.uint16(Math.min(retrySeconds, 0xffff));
  to.uint16(errors.length);
  for (const { field, code } of errors) {
    const place = placeOf(field);
    to.byte(place >>> 16);
    to.byte(reasonNumberOf(code));
    to.uint16(place & 0xffff);
  }
}

/** @returns The `Retry-After` of a refusal, in seconds; 0 for none. */
function retrySecondsOf(headers: Answer["headers"]): number {
  const header = headers.find(([name]) => name === "Retry-After");
  return header === undefined ? 0 : Number(header[1]);
}

// The numbers in binary answers. A number never changes its meaning; new ones are added.

/** `errorCode` by number. 0 and 1 are the answers `false` and `true`. */
export const RESULT_CODES = [
  "",
  "",
  "VALIDATION_FAILED",
  "MALFORMED_REQUEST",
  "INVENTORY_NOT_AVAILABLE",
  "ORGANIZATION_DISABLED",
  "ACCESS_DENIED",
  "EVENT_ACCESS_DENIED",
  "SALES_CONTROL_REQUIRED",
  "EVENT_NOT_PUBLISHED",
  "ORPHAN_SEAT",
  "IDEMPOTENCY_IN_PROGRESS",
  "IDEMPOTENCY_REPLY_GONE",
  "IDEMPOTENCY_KEY_REUSED",
  "RATE_LIMITED",
  "INTERNAL_ERROR",
  "OVERLOADED",
  "LOG_UNAVAILABLE",
  "PAYLOAD_TOO_LARGE",
  "NOT_LEADER",
  "ORGANIZATION_MOVING",
  "ORGANIZATION_MOVED",
  "ADMISSION_REQUIRED",
] as const;

/** The field of an error, by number. An error about a seat or an area has its position. */
export const FIELDS = [
  "",
  "seats[].id",
  "seats[].capacity",
  "groupOfSeats[].id",
  "groupOfSeats[].capacity",
  "seats",
  "groupOfSeats",
  "sessionId",
  "holdType",
  "eventId",
  "call",
  "Idempotency-Key",
] as const;

/** `code` of an error, by number; 0 for any other. */
export const REASONS = [
  "",
  "LOCKED",
  "SOLD",
  "BLOCKED",
  "ACTIVE",
  "NO_PRICE",
  "NOT_FOUND",
  "HELD_BY_ANOTHER_SESSION",
  "INSUFFICIENT_CAPACITY",
  "ORPHAN_SEAT",
  "HELD_LIMIT",
  "DUPLICATE",
  "NOT_NULL",
  "NULL",
  "RANGE",
  "SIZE",
  "TYPE",
  "FORMAT",
  "UNKNOWN",
  "HELD_BY_THIS_SESSION",
  "CHANNEL",
] as const;

const resultCodes = numbersOf(RESULT_CODES);
const fields = numbersOf(FIELDS);
const reasons = numbersOf(REASONS);
const POSITION = /\[(\d+)\]/;

function numbersOf(names: readonly string[]): ReadonlyMap<string, number> {
  return new Map(names.map((name, number) => [name, number]));
}

/** By the code of a refusal. */
const RESULT_NUMBERS: ReadonlyMap<number, number> = new Map(
  Object.entries(REPLIES).map(([refused, { errorCode }]) => [
    Number(refused),
    resultCodes.get(errorCode) ?? 0,
  ]),
);

export function resultNumberOf(errorCode: string): number {
  return resultCodes.get(errorCode) ?? 0;
}

export function reasonNumberOf(code: string): number {
  return reasons.get(code) ?? 0;
}

/** @returns The number of the field, times 65,536, plus its position. */
export function placeOf(field: string): number {
  const bracket = field.indexOf("[");
  if (bracket === -1) return (fields.get(field) ?? 0) * 0x1_0000;
  const position = Number(POSITION.exec(field)?.[1] ?? 0);
  const name = field.slice(0, bracket) + "[]" + field.slice(field.indexOf("]") + 1);
  return (fields.get(name) ?? 0) * 0x1_0000 + position;
}
