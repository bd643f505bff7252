/** `frontrow.commands.v1+json`: a frame is a list of objects, and so are its answers. */
import { HOLD_TYPE_LENGTH_MAX, SESSION_LENGTH_MAX } from "../../engine/constants.ts";
import { type FieldError, missing } from "../../engine/results.ts";
import { type Answer, problemAnswer } from "../http/answers.ts";
import { parseJson } from "../http/json.ts";
import {
  CLOSE_LIST,
  CLOSE_OBJECT,
  COMMA,
  GROUP_OF_SEATS,
  HOLD_TYPE,
  type ChoiceDraft,
  NULL,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
  SEATS,
  SelectionReader,
  SESSION_ID,
} from "../http/selection-reader.ts";
import type { AnswerBuffer } from "./answer-buffer.ts";
import {
  callNamed,
  CALLS,
  type ChoiceList,
  type Command,
  type Handles,
  JSON_CALLS,
  LIMITS,
  type Protocol,
  RecentTexts,
  type Refused,
  UNREADABLE,
} from "./command.ts";

const NUMBER = Buffer.from('"n"');
const SEAT = Buffer.from('{"id":');
const FIRST_NUMBER = Buffer.from('{"n":');
const CALL = Buffer.from('"call"');
const EVENT_ID = Buffer.from('"eventId"');
const IDEMPOTENCY_KEY = Buffer.from('"idempotencyKey"');
const QUOTED_CALLS = CALLS.map((call) => Buffer.from(`"${call}"`));
const NEVER_SENT = Uint8Array.of(0);
const BACKSLASH = 0x5c;
const UUID_LENGTH = 36;
/** Longer keys take the general way, and are refused there. */
const KEY_LENGTH_MAX = 255;
const LOWER_CASE_UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const OPEN = Buffer.from('{"n":');
const DONE = Buffer.from(',"status":200,"body":true},');
const NOT_DONE = Buffer.from(',"status":200,"body":false},');
/** More than the longest number and its surroundings. */
const ANSWER_BYTES = 64;

/** Members found in a command. */
const Member = {
  NUMBER: 1,
  CALL: 2,
  EVENT_ID: 4,
  SESSION_ID: 8,
  SEATS: 16,
  GROUP_OF_SEATS: 32,
  HOLD_TYPE: 64,
  IDEMPOTENCY_KEY: 128,
} as const;
/** The members of a head. */
const BEFORE_SEATS = Member.NUMBER | Member.CALL | Member.EVENT_ID | Member.SESSION_ID;
const NEEDED = Member.NUMBER | Member.CALL | Member.EVENT_ID;

export class JsonProtocol extends SelectionReader implements Protocol {
  readonly name = "frontrow.commands.v1+json";
  readonly limits = LIMITS;
  readonly isBinary = false;
  readonly isShared = false;
  readonly headBytes = 1;
  /** The id of an event as it was sent last, quoted: most commands of a frame repeat it. */
  #eventBytes: Uint8Array = NEVER_SENT;
  #eventId = "";
  readonly #texts = new RecentTexts();
  /** An earlier command of the frame: most others repeat its members before the seats. */
  #head: Command | null = null;
  /** Those members, after the number; 0 while the number is not the first member. */
  #headStart = 0;
  #headEnd = 0;
  /** Offset of the session; beyond the end when it is not the last of them. */
  #sessionAt = 0;

  /** Interned: commands repeat their sessions. */
  protected override textAt(start: number, end: number): string {
    return this.#texts.find(this.bytes, start, end);
  }

  count(frame: ArrayBuffer): number {
    this.bytes = Buffer.from(frame);
    this.at = 0;
    if (!this.takes(OPEN_LIST)) return UNREADABLE;
    if (this.takes(CLOSE_LIST)) return 0;
    let count = 0;
    do {
      if (!this.#skipElement()) return UNREADABLE;
      count += 1;
    } while (this.takes(COMMA));
    return this.takes(CLOSE_LIST) ? count : UNREADABLE;
  }

  readFrame(frame: ArrayBuffer, _handles: Handles, commands: readonly Command[]): number {
    this.bytes = Buffer.from(frame);
    this.at = 0;
    this.#head = null;
    if (!this.takes(OPEN_LIST)) return UNREADABLE;
    let count = 0;
    if (!this.takes(CLOSE_LIST)) {
      do {
        const command = commands[count];
        if (command === undefined ? !this.#skipElement() : !this.#command(command)) {
          return UNREADABLE;
        }
        count += 1;
      } while (this.takes(COMMA));
      if (!this.takes(CLOSE_LIST)) return UNREADABLE;
    }
    return this.skipBlanks() === this.bytes.length ? count : UNREADABLE;
  }

  #command(command: Command): boolean {
    const start = this.skipBlanks();
    command.clear();
    if (this.#usual(command)) return true;
    command.clear();
    this.#head = null;
    this.at = start;
    if (!this.#skipElement()) return false;
    return readAny(this.bytes.subarray(start, this.at), command);
  }

  /** As the reader of bodies: false for an unusual command. */
  #usual(command: Command): boolean {
    let found = this.#head === null ? 0 : this.#repeated(command, this.#head);
    if (found === 0) {
      this.#head = null;
      this.#headStart = 0;
    }
    if (found === 0 ? this.takes(OPEN_OBJECT) : this.takes(COMMA)) {
      do {
        const member = this.#member(command, found);
        if (member === 0 || (found & member) !== 0) return false;
        found |= member;
      } while (this.takes(COMMA));
    }
    if ((found & NEEDED) !== NEEDED || !this.takes(CLOSE_OBJECT)) return false;
    command.isUsual = true;
    return true;
  }

  /**
   * Reads the members before the seats by comparing their bytes with those of `head`, except for
   * number and session: a fraction of the cost of parsing.
   *
   * @returns The members found; 0, and nothing is read, for others.
   */
  #repeated(command: Command, head: Command): number {
    const { bytes, at: start } = this;
    const number = this.takesWord(FIRST_NUMBER) ? this.number() : undefined;
    const [from, to] = [this.#headStart, this.at];
    const length = this.#headEnd - from;
    this.at = start;
    if (number === undefined || to + length > bytes.length) return 0;
    let same = 0;
    while (same < length && bytes[to + same] === bytes[from + same]) same += 1;
    if (same === length) {
      command.body.sessionId = head.body.sessionId;
      this.at = to + length;
      if (!this.#choices(command.seats)) {
        command.clear();
        this.at = start;
        return 0;
      }
    } else {
      if (same < this.#sessionAt) return 0;
      this.at = to + this.#sessionAt;
      const sessionId = this.text(SESSION_LENGTH_MAX);
      if (sessionId === undefined) {
        this.at = start;
        return 0;
      }
      command.body.sessionId = sessionId;
    }
    command.number = number;
    command.call = head.call;
    command.eventId = head.eventId;
    return same === length ? BEFORE_SEATS | Member.SEATS : BEFORE_SEATS;
  }

  /** @returns The member found; 0 for an unusual one. */
  #member(command: Command, found: number): number {
    if (this.names(NUMBER)) {
      const number = this.number();
      if (number === undefined) return 0;
      command.number = number;
      if (found === 0) this.#headStart = this.at;
      return Member.NUMBER;
    }
    if (this.names(CALL)) {
      for (let i = 0; i < CALLS.length; i++) {
        if (!this.takesWord(QUOTED_CALLS[i]!)) continue;
        command.call = CALLS[i]!;
        return Member.CALL;
      }
      return 0;
    }
    if (this.names(EVENT_ID)) return this.#event(command) ? Member.EVENT_ID : 0;
    if (this.names(SEATS)) {
      if (found === BEFORE_SEATS && this.#headStart > 0 && this.#head === null) {
        this.#head = command;
        this.#headEnd = this.at;
      }
      return this.#choices(command.seats) ? Member.SEATS : 0;
    }
    if (this.names(GROUP_OF_SEATS)) return this.#choices(command.areas) ? Member.GROUP_OF_SEATS : 0;
    if (this.names(IDEMPOTENCY_KEY)) {
      const key = this.text(KEY_LENGTH_MAX);
      if (key === undefined) return 0;
      command.idempotencyKey = key;
      return Member.IDEMPOTENCY_KEY;
    }
    return this.#text(command.body, found);
  }

  #text(body: Command["body"], found: number): number {
    if (this.names(SESSION_ID)) {
      this.#sessionAt = found === NEEDED ? this.at - this.#headStart : Infinity;
      const sessionId = this.text(SESSION_LENGTH_MAX);
      if (sessionId === undefined) return 0;
      body.sessionId = sessionId;
      return Member.SESSION_ID;
    }
    if (this.names(HOLD_TYPE)) {
      const holdType = this.nameText(HOLD_TYPE_LENGTH_MAX);
      if (holdType === undefined) return 0;
      body.holdType = holdType;
      return Member.HOLD_TYPE;
    }
    return 0;
  }

  #event(command: Command): boolean {
    if (!this.takesWord(this.#eventBytes)) {
      const start = this.skipBlanks();
      const eventId = this.text(UUID_LENGTH);
      if (typeof eventId !== "string" || !LOWER_CASE_UUID.test(eventId)) return false;
      this.#eventBytes = Uint8Array.from(this.bytes.subarray(start, this.at));
      this.#eventId = eventId;
    }
    command.eventId = this.#eventId;
    return true;
  }

  #choices(list: ChoiceList): boolean {
    if (this.takesWord(NULL)) return true;
    if (!this.takes(OPEN_LIST)) return false;
    if (this.takes(CLOSE_LIST)) return true;
    do {
      const choice = list.add();
      if (!this.#seat(choice) && !this.choice(choice)) return false;
    } while (this.takes(COMMA));
    return this.takes(CLOSE_LIST);
  }

  /** Reads `{"id":16}` without blanks. */
  #seat(choice: ChoiceDraft): boolean {
    const start = this.at;
    if (this.takesWord(SEAT)) {
      const id = this.number();
      if (id !== undefined && this.takes(CLOSE_OBJECT)) {
        choice.id = id;
        choice.capacity = undefined;
        return true;
      }
    }
    this.at = start;
    return false;
  }

  /** Steps over one value by its brackets and texts alone. */
  #skipElement(): boolean {
    const { bytes } = this;
    const start = this.skipBlanks();
    let depth = 0;
    let at = start;
    for (; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (byte === QUOTE) {
        at += 1;
        while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
      } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
        depth += 1;
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
        if (depth === 0) break;
        depth -= 1;
      } else if (byte === COMMA && depth === 0) {
        break;
      }
    }
    this.at = Math.min(at, bytes.length);
    return depth === 0 && at > start;
  }

  writeDone(to: AnswerBuffer, number: number, isDone: boolean): void {
    to.reserve(ANSWER_BYTES);
    to.copy(OPEN);
    to.decimal(number);
    to.copy(isDone ? DONE : NOT_DONE);
  }

  writeProblem(to: AnswerBuffer, number: number, { problem, path, timeMs }: Refused): number {
    const answer = problemAnswer(problem, path, timeMs);
    this.writeAnswer(to, number, answer);
    return answer.status;
  }

  writeAnswer(to: AnswerBuffer, number: number, { status, body }: Answer): void {
    to.text(`{"n":${number},"status":${status},"body":${String(body)}},`);
  }

  /** A list: the comma after the last answer becomes its end. */
  messageOf({ bytes }: AnswerBuffer, end: number): Uint8Array {
    bytes[0] = OPEN_LIST;
    bytes[end - 1] = CLOSE_LIST;
    return bytes.subarray(0, end);
  }
}

/** A command in any form. @returns False when it is not JSON or has no number. */
function readAny(json: Buffer, command: Command): boolean {
  const parsed = parseJson(json);
  if (!parsed.ok || typeof parsed.value !== "object" || parsed.value === null) return false;
  const members = parsed.value as Readonly<Record<string, unknown>>;
  const { n, call, eventId = null, idempotencyKey = null, mode = null } = members;
  if (!Number.isSafeInteger(n)) return false;
  command.number = n as number;
  command.call = callNamed(call, JSON_CALLS);
  command.eventId = eventId;
  command.mode = mode;
  if (command.call === null) command.invalid = unknownCall(call);
  else if (idempotencyKey === null) command.idempotencyKey = null;
  else if (typeof idempotencyKey === "string") command.idempotencyKey = idempotencyKey;
  else command.invalid = notText(idempotencyKey);
  command.json = json;
  return true;
}

function unknownCall(call: unknown): FieldError {
  if (call === undefined || call === null) return missing("call");
  const message = `must be one of ${JSON_CALLS.join(", ")}`;
  return { field: "call", code: "ENUM", message, rejectedValue: call };
}

function notText(rejectedValue: unknown): FieldError {
  return { field: "idempotencyKey", code: "TYPE", message: "must be a string", rejectedValue };
}
