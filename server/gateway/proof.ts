/**
 * How a gateway proves to the engine that it has the shared secret, without sending it: a code for
 * the present time and a random text. A proof is accepted once, within a minute.
 */
import { createHmac, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { isSame } from "../auth/keys.ts";
import { UsageError } from "../usage-error.ts";

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
