/**
 * The bytes of a link, which a gateway and its engine exchange in binary messages. A message of the
 * gateway is a frame: a sequence of entries, each padded to a multiple of four bytes. A message of
 * the engine is a sequence of answers without padding. Numbers are unsigned and little-endian.
 */
import { CALLS, UNREADABLE } from "../commands/command.ts";
import type { Request } from "../wire/front.ts";

export const LINK_PATH = "/api/internal/gateway";
export const LINK_PROTOCOL = "frontrow.gateway.v1";

/** What a gateway may send before it has answers. Beyond it, the engine closes the link. */
export const LINK_LIMITS = {
  /** Requests without an answer. */
  requests: 16_384,
  /** Bytes of the entries of these requests. */
  bytes: 16 * 1_024 * 1_024,
  bytesInFrame: 65_536,
  /** Keys that the engine keeps numbers for. */
  keys: 10_000,
  /** Events that the gateway keeps numbers for. */
  events: 60_000,
} as const;
/** A longer body goes over HTTP. */
export const LINK_BODY_BYTES_MAX = 32 * 1_024;
/**
 * A request goes over HTTP when its query and headers are longer. As JSON a character takes six
 * bytes at most, so that a frame has room for the longest head and body together.
 */
export const LINK_HEAD_LENGTH_MAX = 4 * 1_024;

/** The byte at offset 4 of an entry. Smaller numbers are those of booking calls. */
export const Entry = {
  /** The number stands for an event from now on; its id follows. */
  EVENT: 128,
  /** All numbers of keys and events lose their meaning. */
  FORGET: 129,
  /** A request in its general form: a head in JSON and a body. */
  REQUEST: 130,
} as const;

/** The bytes before the texts and ids of an entry. */
export const HEAD_BYTES = 20;
export const EVENT_ID_BYTES = 36;
/** The number, and what the entry is. */
const START_BYTES = 8;

/** Flags of a booking call. */
export const Flag = { LONG_IDS: 1, HAS_SESSION: 2, HAS_HOLD_TYPE: 4 } as const;

/** The last two bytes at the start of an answer. */
export const AnswerKind = {
  FALSE: 0,
  TRUE: 1,
  /** Any other answer, with its headers and its body. */
  FULL: 2,
  /** Not an answer: the number is that of a key that is no longer valid. */
  KEY_ENDED: 3,
  /** Not an answer: says whether the engine takes requests. */
  STATE: 4,
} as const;
export const EngineState = { CLOSED: 0, TAKES_READS: 1, TAKES_CHANGES: 2 } as const;
export type EngineState = (typeof EngineState)[keyof typeof EngineState];
export const ANSWER_BYTES = 8;
export const FULL_ANSWER_BYTES = 16;

/** The head of a request in its general form. */
export interface RequestHeadText extends Pick<
  Request,
  | "method"
  | "path"
  | "query"
  | "apiKey"
  | "authorization"
  | "organizationId"
  | "contentType"
  | "contentEncoding"
  | "idempotencyKey"
  | "prefer"
  | "repeatedHeader"
> {
  readonly requestId: string;
  readonly address: string;
}

/** @returns The length of an entry, or UNREADABLE when the frame does not hold all of it. */
export function entryBytes(view: DataView, at: number): number {
  const room = view.byteLength - at;
  if (room < START_BYTES) return UNREADABLE;
  const bytes = unpaddedBytes(view, at, room);
  // Compared before it is padded: a sum of long lengths has more than 32 bits.
  return bytes >= START_BYTES && bytes <= room - (room & 3) ? padded(bytes) : UNREADABLE;
}

function unpaddedBytes(view: DataView, at: number, room: number): number {
  const kind = view.getUint8(at + 4);
  if (kind === Entry.EVENT) return START_BYTES + EVENT_ID_BYTES;
  if (kind === Entry.FORGET) return START_BYTES;
  if (room < HEAD_BYTES) return UNREADABLE;
  if (kind === Entry.REQUEST) {
    return HEAD_BYTES + view.getUint32(at + 8, true) + view.getUint32(at + 12, true);
  }
  if (kind === 0 || kind > CALLS.length) return UNREADABLE;
  const idBytes = (view.getUint8(at + 5) & Flag.LONG_IDS) === 0 ? 4 : 8;
  const [seats, areas] = [view.getUint16(at + 10, true), view.getUint16(at + 12, true)];
  const texts = view.getUint8(at + 14) + view.getUint8(at + 15) + view.getUint8(at + 16);
  return HEAD_BYTES + seats * idBytes + areas * (idBytes + 4) + texts;
}

export function padded(bytes: number): number {
  return (bytes + 3) & ~3;
}
