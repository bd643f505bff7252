/**
 * The bytes of a link, which a gateway and its engine exchange in binary messages. A message of the
 * gateway is a frame: a sequence of entries, each padded to a multiple of four bytes. A message of
 * the engine is a sequence of answers without padding. Numbers are unsigned and little-endian.
 */
import { createHmac, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { isSame } from "../auth/keys.ts";
import { CALLS, UNREADABLE } from "../commands/command.ts";
import type { Request } from "../http/front.ts";
import { UsageError } from "../program.ts";

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

// How a gateway proves to the engine that it has the shared secret, without sending it: a code for
// the present time and a random text. A proof is accepted once, within a minute.

const VALID_MS = 60_000;
const SECRET_LENGTH_MIN = 32;
const PROOF = /^(\d{1,16})\.([\w-]{22})\.([\w-]{43})$/;

/** @throws UsageError when the file cannot be read, or its secret is too short. */
export function readSecret(file: string): string {
  let secret: string;
  try {
    secret = readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new UsageError(`--gateway-secret-file: ${(error as Error).message}`);
  }
  if (secret.length >= SECRET_LENGTH_MIN) return secret;
  throw new UsageError(
    `--gateway-secret-file: the secret in ${file} has fewer than ${SECRET_LENGTH_MIN} ` +
      "characters; make one with: openssl rand -hex 32",
  );
}

export function makeProof(secret: string, nowMs = Date.now()): string {
  const text = `${nowMs}.${randomBytes(16).toString("base64url")}`;
  return `${text}.${codeOf(secret, text)}`;
}

function codeOf(secret: string, text: string): string {
  return createHmac("sha256", secret).update(`frontrow gateway\n${text}`).digest("base64url");
}

export class ProofCheck {
  readonly #secret: string;
  /** Proofs that were accepted, by the time that they name. */
  readonly #used = new Map<string, number>();

  constructor(secret: string) {
    this.#secret = secret;
  }

  accepts(proof: string, nowMs = Date.now()): boolean {
    const [, time = "", text = "", code = ""] = PROOF.exec(proof) ?? [];
    if (Math.abs(nowMs - Number(time)) > VALID_MS) return false;
    if (!isSame(codeOf(this.#secret, `${time}.${text}`), code) || this.#used.has(proof)) {
      return false;
    }
    for (const [used, timeMs] of this.#used) {
      if (nowMs - timeMs > VALID_MS) this.#used.delete(used);
    }
    this.#used.set(proof, Number(time));
    return true;
  }
}
