/** Writes requests as the entries of a frame. */
import type { StateSelection } from "../../engine/shapes/bodies.ts";
import { AnswerBuffer } from "../commands/answer-buffer.ts";
import type { Exchange } from "../wire/front.ts";
import {
  Entry,
  EVENT_ID_BYTES,
  Flag,
  HEAD_BYTES,
  LINK_LIMITS,
  padded,
  type RequestHeadText,
} from "./link-layout.ts";

const SMALL_ID_MAX = 0xffff_ffff;
const WORD = 2 ** 32;
const COUNT_MAX = 0xffff;
const ZEROS = new Uint8Array(4);
const NO_CHOICES: NonNullable<StateSelection["seats"]> = [];

export interface Call {
  /** As the layout numbers it. */
  readonly kind: number;
  readonly key: number;
  readonly event: number;
  readonly selection: StateSelection;
  /** Null for none; else printable ASCII. */
  readonly idempotencyKey: string | null;
}

/** Whether a selection in its usual form fits the entry of a call. */
export function fitsCall({ seats, groupOfSeats, fences }: StateSelection): boolean {
  if (fences !== undefined && fences !== null) return false;
  for (const { capacity } of seats ?? NO_CHOICES) {
    if (capacity !== undefined && capacity !== null) return false;
  }
  for (const { capacity } of groupOfSeats ?? NO_CHOICES) {
    if (typeof capacity !== "number" || capacity > SMALL_ID_MAX) return false;
  }
  return (seats?.length ?? 0) <= COUNT_MAX && (groupOfSeats?.length ?? 0) <= COUNT_MAX;
}

export class FrameWriter {
  readonly #bytes = new AnswerBuffer();

  get length(): number {
    return this.#bytes.length;
  }

  /** The entries so far; valid until the next one is written. */
  get frame(): Buffer {
    return this.#bytes.bytes.subarray(0, this.#bytes.length);
  }

  clear(): void {
    this.#bytes.length = 0;
  }

  hasRoom(bytes: number): boolean {
    return this.#bytes.length + bytes <= LINK_LIMITS.bytesInFrame;
  }

  event(number: number, id: string): void {
    this.#start(number, Entry.EVENT, 0);
    this.#bytes.reserve(EVENT_ID_BYTES + 4);
    this.#bytes.uint16(0);
    this.#bytes.text(id);
  }

  forget(): void {
    this.#start(0, Entry.FORGET, 0);
    this.#bytes.uint16(0);
  }

  call(number: number, { kind, key, event, selection, idempotencyKey }: Call): void {
    const { sessionId, holdType } = selection;
    const seats = selection.seats ?? NO_CHOICES;
    const areas = selection.groupOfSeats ?? NO_CHOICES;
    const to = this.#bytes;
    const isLong = hasLongId(seats) || hasLongId(areas);
    const hasSession = typeof sessionId === "string" ? Flag.HAS_SESSION : 0;
    const hasHoldType = typeof holdType === "string" ? Flag.HAS_HOLD_TYPE : 0;
    this.#start(number, kind, (isLong ? Flag.LONG_IDS : 0) | hasSession | hasHoldType);
    to.reserve(HEAD_BYTES + 12 * (seats.length + areas.length));
    to.uint16(key);
    to.uint16(event);
    to.uint16(seats.length);
    to.uint16(areas.length);
    to.byte(idempotencyKey?.length ?? 0);
    to.byte(holdType?.length ?? 0);
    to.byte(sessionId?.length ?? 0);
    to.byte(0);
    to.uint16(0);
    for (let i = 0; i < seats.length; i++) this.#id(seats[i]!.id, isLong);
    for (let i = 0; i < areas.length; i++) {
      this.#id(areas[i]!.id, isLong);
      to.uint32(areas[i]!.capacity!);
    }
    if (hasSession !== 0) to.text(sessionId!);
    if (hasHoldType !== 0) to.text(holdType!);
    if (idempotencyKey !== null) to.text(idempotencyKey);
    this.#pad();
  }

  request(number: number, head: Buffer, body: Uint8Array): void {
    const to = this.#bytes;
    this.#start(number, Entry.REQUEST, 0);
    to.reserve(HEAD_BYTES + head.length + body.length);
    to.uint16(0);
    to.uint32(head.length);
    to.uint32(body.length);
    to.uint32(0);
    for (const part of [head, body]) {
      to.bytes.set(part, to.length);
      to.length += part.length;
    }
    this.#pad();
  }

  #start(number: number, kind: number, flags: number): void {
    this.#bytes.reserve(HEAD_BYTES);
    this.#bytes.uint32(number);
    this.#bytes.byte(kind);
    this.#bytes.byte(flags);
  }

  #id(id: number, isLong: boolean): void {
    this.#bytes.uint32(id);
    if (isLong) this.#bytes.uint32(Math.floor(id / WORD));
  }

  #pad(): void {
    const to = this.#bytes;
    to.reserve(ZEROS.length);
    to.copy(ZEROS.subarray(0, padded(to.length) - to.length));
  }
}

function hasLongId(choices: readonly { readonly id: number }[]): boolean {
  for (let i = 0; i < choices.length; i++) {
    if (choices[i]!.id > SMALL_ID_MAX) return true;
  }
  return false;
}

/** The head of a request in its general form. */
export function headOf(exchange: Exchange): Buffer {
  const head: RequestHeadText = {
    method: exchange.method,
    path: exchange.path,
    query: exchange.query,
    apiKey: exchange.apiKey,
    authorization: exchange.authorization,
    organizationId: exchange.organizationId,
    contentType: exchange.contentType,
    contentEncoding: exchange.contentEncoding,
    idempotencyKey: exchange.idempotencyKey,
    prefer: exchange.prefer,
    repeatedHeader: exchange.repeatedHeader,
    requestId: exchange.requestId,
    address: exchange.address(),
  };
  return Buffer.from(JSON.stringify(head));
}
