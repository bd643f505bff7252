/**
 * Secrets of doors, derived from the master secret: the seed of the draw, the key of the tokens, and
 * the ids of visitors with a customer. None is stored, except a published seed.
 */
import { createHash, createHmac, randomBytes } from "node:crypto";
import type { AdmissionToken, DoorKeys } from "../../engine/ports.ts";
import { ENTRY_BYTES } from "../../engine/inventory/door.ts";
import { isSame } from "../auth/keys.ts";

/** Bytes of a visitor id. */
const VISITOR_BYTES = 32;
/** Tokens read before, with their signature: a visitor locks again and again with the same one. */
export const TOKENS_MAX = 10_000;
const HEADER = encoded({ alg: "HS256", typ: "JWT" });

/** The claims of a token, as RFC 7519 names them. */
interface Claims {
  readonly iss: "frontrow";
  /** The event. */
  readonly aud: string;
  /** The visitor. */
  readonly sub: string;
  readonly place: number;
  /** Seconds since 1970. */
  readonly iat: number;
  readonly exp: number;
}

export class DoorSecrets implements DoorKeys {
  readonly #secret: Buffer;
  readonly #tokens = new Map<string, AdmissionToken>();
  readonly #tokenKeys = new Map<number, Buffer>();

  /** @param secret - The master secret, 64 hexadecimal digits. */
  constructor(secret: string) {
    this.#secret = Buffer.from(secret, "hex");
  }

  seedOf(doorId: number): Buffer {
    return this.#derive(`door-seed:${doorId}`);
  }

  commitmentOf(doorId: number): string {
    return createHash("sha256").update(this.seedOf(doorId)).digest("hex");
  }

  /** 32 bytes in base64url, for those who check tokens themselves. */
  tokenKeyOf(doorId: number): string {
    return this.#tokenKey(doorId).toString("base64url");
  }

  /** The id of a visitor: the same one for the same customer of the same door. */
  visitorOf(doorId: number, customer: string | null): string {
    const bytes =
      customer === null
        ? randomBytes(VISITOR_BYTES)
        : createHmac("sha256", this.#derive(`door-customer:${doorId}`))
            .update(customer)
            .digest();
    return bytes.toString("base64url");
  }

  /** Tokens that were read before. */
  get remembered(): number {
    return this.#tokens.size;
  }

  /** The token of a visitor. The same claims make the same token. */
  sign(doorId: number, { aud, sub, place, iat, exp }: Omit<Claims, "iss">): string {
    const text = `${HEADER}.${encoded({ iss: "frontrow", aud, sub, place, iat, exp })}`;
    return `${text}.${this.#signatureOf(doorId, text)}`;
  }

  /** Cost: one look-up for a token that was read before; else an HMAC. */
  read(token: string, doorId: number): AdmissionToken | null {
    const known = `${doorId} ${token}`;
    const before = this.#tokens.get(known);
    if (before !== undefined) return before;
    const admission = this.#read(token, doorId);
    if (admission?.isSigned !== true) return admission;
    if (this.#tokens.size >= TOKENS_MAX) this.#tokens.clear();
    this.#tokens.set(known, admission);
    return admission;
  }

  #read(token: string, doorId: number): AdmissionToken | null {
    const [header = "", payload = "", signature = "", ...rest] = token.split(".");
    const [head, claims] = [decoded(header), decoded(payload)];
    const { aud, sub, place, exp } = claims ?? {};
    if (head === null || typeof aud !== "string" || rest.length > 0) return null;
    const isSigned =
      head["alg"] === "HS256" &&
      isSame(this.#signatureOf(doorId, `${header}.${payload}`), signature);
    const entry = entryOf(String(sub));
    return { aud, entry, place: Number(place), exp: Number(exp), isSigned };
  }

  #signatureOf(doorId: number, text: string): string {
    return createHmac("sha256", this.#tokenKey(doorId)).update(text).digest("base64url");
  }

  #tokenKey(doorId: number): Buffer {
    let key = this.#tokenKeys.get(doorId);
    if (key === undefined) {
      if (this.#tokenKeys.size >= TOKENS_MAX) this.#tokenKeys.clear();
      this.#tokenKeys.set(doorId, (key = this.#derive(`door-token:${doorId}`)));
    }
    return key;
  }

  #derive(what: string): Buffer {
    return createHmac("sha256", this.#secret).update(what).digest();
  }
}

/** The public name of a visitor, whose id is its secret: sixteen bytes. */
export function entryOf(visitor: string): Buffer {
  return createHash("sha256").update(visitor).digest().subarray(0, ENTRY_BYTES);
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function decoded(part: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
    return typeof value === "object" ? (value as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}
