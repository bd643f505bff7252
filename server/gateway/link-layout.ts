/**
 * The protocol of gateways, `frontrow.gateway.v1`: the binary layout of commands, with handles for
 * keys, requests in their general form, and HTTP answers. This file has the shared numbers, and the
 * proof of a gateway.
 */
import { createHmac, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { isSame } from "../auth/keys.ts";
import { Kind, OPENS_FROM } from "../commands/binary-protocol.ts";
import type { Limits } from "../commands/command.ts";
import type { Request } from "../http/front.ts";
import { UsageError } from "../program.ts";

export const LINK_PATH = "/api/internal/gateway";
export const LINK_PROTOCOL = "frontrow.gateway.v1";

/** The credit of a gateway. */
export const LINK_LIMITS = {
  commands: 16_384,
  commandsInFrame: 1_024,
  bytesInFrame: 65_536,
  /** Bytes of the commands without an answer. */
  bytes: 16 * 1_024 * 1_024,
} as const satisfies Limits & { readonly bytes: number };
export type LinkCredit = Limits & { readonly bytes: number };

/** Handles of each kind. Their numbers have 16 bits, those of hold types 8. */
export const HANDLES_MAX = { key: 8_192, event: 16_384, session: 16_384, holdType: 255 } as const;
/** Longer credentials go with every request. */
export const KEY_TEXT_LENGTH_MAX = 512;
/** A longer body goes over HTTP. */
export const LINK_BODY_BYTES_MAX = 32 * 1_024;
/**
 * Longer queries and headers go over HTTP. As JSON a character takes six bytes at most: a frame has
 * room for the longest head and body together.
 */
export const LINK_HEAD_LENGTH_MAX = 4 * 1_024;

/** The byte at offset 4 of an entry; lower ones are those of the binary layout. */
export const Entry = {
  /** Opens a handle: its text is the JSON of a `KeyText`. */
  KEY: OPENS_FROM + Kind.KEY,
  /** Sets the key of the following commands. */
  USE: OPENS_FROM + Kind.KEY + 1,
  /** A request in its general form: the JSON of a `RequestText`, and a body. */
  REQUEST: OPENS_FROM + Kind.KEY + 2,
} as const;
/** The bytes of a request before its texts. */
export const REQUEST_BYTES = 16;

/** An answer with its headers and body; the numbers before are those of the binary layout. */
export const FULL_ANSWER = 2;
export const FULL_ANSWER_BYTES = 16;

/** The engine's state, sent every half second, also as a sign of life. */
export const EngineState = { CLOSED: "closed", READS: "reads", CHANGES: "changes" } as const;
export type EngineState = (typeof EngineState)[keyof typeof EngineState];

/** The engine's messages in JSON: its credit first. */
export type Notice =
  | ({ readonly type: "credit" } & LinkCredit)
  | { readonly type: "state"; readonly takes: EngineState };

type Credential = "apiKey" | "authorization" | "organizationId";

export interface KeyText extends Pick<Request, Credential> {
  /** The address the key came from first. */
  readonly from: string;
}

export interface RequestText extends Pick<
  Request,
  | Credential
  | "method"
  | "path"
  | "query"
  | "contentType"
  | "contentEncoding"
  | "idempotencyKey"
  | "prefer"
  | "ifMatch"
  | "repeatedHeader"
> {
  readonly requestId: string;
  readonly from: string;
}

// A gateway proves the shared secret without sending it: a code for the present time and a random
// text. A proof is accepted once, within a minute.

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
  /** Replay cache: accepted proofs by timestamp. */
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
