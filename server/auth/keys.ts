/**
 * API keys. They are derived from the master secret and never stored, so a stolen log or snapshot
 * contains none, and every login can show them again. A key has the form
 * `fro_<organization id>_<code>` or `frt_<tenant id>_<code>`. The code is an HMAC-SHA256 of kind,
 * id and key version.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";
import type {
  Catalog,
  OrganizationRow,
  RetiredKey,
  TenantRow,
  WebhookRow,
} from "../../engine/catalog.ts";
import { cellOf } from "../../engine/cells.ts";
import type { Clock } from "../../engine/ports.ts";

/** The owner of a key. */
export type Principal =
  | { readonly kind: "organization"; readonly organization: OrganizationRow }
  | { readonly kind: "tenant"; readonly tenant: TenantRow }
  | typeof PLATFORM;

/** The operator of the server. */
const PLATFORM = { kind: "platform" } as const;

/** An organization or a tenant, and the version of its key that was presented. */
interface Holder {
  readonly principal: Exclude<Principal, typeof PLATFORM>;
  readonly keyVersion: number;
}

const KEY = /^(fro|frt)_(\d{1,16})_([A-Za-z0-9_-]{43})$/;
const PRIVATE_KEY = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** The first sixteen bytes. */
const UUID_PARTS = /^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/;
const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_LENGTH_MAX = 256;
/** Bytes of a body that one step hashes: less than a millisecond of work. */
const HASHED_BYTES = 256 * 1_024;
/** Hashes of private keys, at least: those of deleted organizations are removed above it. */
export const PRIVATE_KEYS_MIN = 10_000;
/** Valid keys that are remembered, so that a busy key costs no HMAC. */
export const REMEMBERED_MAX = 10_000;

interface Remembered {
  readonly kind: Holder["principal"]["kind"];
  readonly id: number;
  readonly keyVersion: number;
}

export class Keys {
  readonly #secret: Buffer;
  readonly #sealKey: Buffer;
  readonly #catalog: Catalog;
  readonly #platformSha256: string | null;
  readonly #remembered = new Map<string, Remembered>();
  /** Organization id by the hash of its private key. */
  readonly #privateKeys = new Map<string, number>();
  /** When there are more, those of deleted organizations are removed. */
  #privateKeysMax = PRIVATE_KEYS_MIN;
  /** Organizations with smaller ids are in `#privateKeys`. */
  #indexedUpTo = 0;

  /**
   * @param secret - The master secret, 64 hexadecimal digits.
   * @param platformToken - The operator's token; without one there is no operator.
   */
  constructor(secret: string, catalog: Catalog, platformToken?: string) {
    this.#secret = Buffer.from(secret, "hex");
    this.#sealKey = createHmac("sha256", this.#secret).update("seal").digest();
    this.#catalog = catalog;
    this.#platformSha256 = platformToken === undefined ? null : sha256(platformToken);
  }

  organizationKey({ id, keyVersion }: OrganizationRow): string {
    return this.#derive("fro", id, keyVersion);
  }

  /** A UUID that opens v1 paths. It stays the same when the organization's key is rotated. */
  privateKey({ id }: OrganizationRow): string {
    const code = createHmac("sha256", this.#secret).update(`private:${id}`).digest();
    // The form of the random UUIDs that clients know.
    code[6] = (code[6]! & 0x0f) | 0x40;
    code[8] = (code[8]! & 0x3f) | 0x80;
    return code.toString("hex").replace(UUID_PARTS, "$1-$2-$3-$4-$5");
  }

  /** Null when the token was configured: then only its hash is known. */
  tenantToken({ id, keyVersion, tokenSha256 }: TenantRow): string | null {
    return tokenSha256 === null ? this.#derive("frt", id, keyVersion) : null;
  }

  /** The secret that signs the deliveries of a webhook. */
  webhookSecret({ id, keyVersion }: Pick<WebhookRow, "id" | "keyVersion">): string {
    const code = createHmac("sha256", this.#secret).update(`webhook:${id}:${keyVersion}`);
    return `whsec_${code.digest("base64")}`;
  }

  /** The secrets that sign now: the present one, and the one before it until that ends. */
  webhookSecrets({ id, keyVersion, retiredKey }: WebhookRow) {
    const present = { secret: this.webhookSecret({ id, keyVersion }), validUntilMs: Infinity };
    if (retiredKey === null) return [present];
    const { keyVersion: before, validUntilMs } = retiredKey;
    return [present, { secret: this.webhookSecret({ id, keyVersion: before }), validUntilMs }];
  }

  /** Encrypts text for holders of the master secret. */
  seal(text: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#sealKey, nonce);
    const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64url");
  }

  /**
   * A hash that tells requests apart, in hexadecimal. It is keyed, so that a password in a body
   * cannot be guessed from it.
   */
  fingerprint(head: string, body: Uint8Array): string {
    return createHmac("sha256", this.#sealKey).update(head).update("\n").update(body).digest("hex");
  }

  /** The fingerprint of a long body, in steps. */
  *fingerprintInSteps(head: string, parts: readonly Uint8Array[]): Generator<void, string> {
    const hmac = createHmac("sha256", this.#sealKey).update(head).update("\n");
    for (const part of parts) {
      for (let from = 0; from < part.length; from += HASHED_BYTES) {
        hmac.update(part.subarray(from, from + HASHED_BYTES));
        yield;
      }
    }
    return hmac.digest("hex");
  }

  /** A code that only holders of the master secret can make for a text. */
  sign(text: string): string {
    return createHmac("sha256", this.#sealKey).update("sign\n").update(text).digest("base64url");
  }

  unseal(text: string): string {
    const bytes = Buffer.from(text, "base64url");
    const decipher = createDecipheriv(CIPHER, this.#sealKey, bytes.subarray(0, NONCE_BYTES));
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    const sealed = bytes.subarray(NONCE_BYTES + TAG_BYTES);
    return Buffer.concat([decipher.update(sealed), decipher.final()]).toString("utf8");
  }

  /**
   * @param clock - The service clock: a rotated key works until its grace time is over.
   * @returns Null for an unknown key. Cost: one look-up for a key that was seen before.
   */
  identify(key: string, clock: Clock): Principal | null {
    const remembered = this.#remembered.get(key);
    if (remembered !== undefined) {
      const { kind, id, keyVersion } = remembered;
      const principal = this.#principal(kind, id);
      if (principal !== null && isLive(rowOf(principal), keyVersion, clock)) return principal;
      this.#remembered.delete(key);
    }
    if (key === "" || key.length > KEY_LENGTH_MAX) return null;
    const timeMs = clock.nowMs();
    const holder = this.#derivedFrom(key, timeMs) ?? this.#givenToken(key, timeMs);
    if (holder === null) return this.#isPlatform(key) ? PLATFORM : null;
    this.#remember(key, holder);
    return holder.principal;
  }

  /** The organization of a private key, which opens v1 paths; null for any other text. */
  privateKeyOwner(key: string): Principal | null {
    if (!PRIVATE_KEY.test(key)) return null;
    // Ids are given out in order, so a new one says that organizations may be new.
    if (this.#indexedUpTo !== this.#catalog.nextId) this.#indexPrivateKeys();
    // A look-up by hash takes no time that depends on how much of a key is right.
    const organization = this.#catalog.organizations.get(this.#privateKeys.get(sha256(key)) ?? 0);
    return organization === undefined ? null : { kind: "organization", organization };
  }

  /** Keys that are remembered, and hashes of private keys. */
  get counts(): { readonly remembered: number; readonly privateKeys: number } {
    return { remembered: this.#remembered.size, privateKeys: this.#privateKeys.size };
  }

  #indexPrivateKeys(): void {
    this.#addPrivateKeys();
    if (this.#privateKeys.size <= this.#privateKeysMax) return;
    this.#privateKeys.clear();
    this.#indexedUpTo = 0;
    this.#addPrivateKeys();
    this.#privateKeysMax = Math.max(PRIVATE_KEYS_MIN, 2 * this.#privateKeys.size);
  }

  #addPrivateKeys(): void {
    const { nextId } = this.#catalog;
    for (const organization of this.#catalog.organizations.values()) {
      const { id } = organization;
      // One that came from another cell may have any id.
      if (id < this.#indexedUpTo && cellOf(id) === cellOf(nextId)) continue;
      this.#privateKeys.set(sha256(this.privateKey(organization)), id);
    }
    this.#indexedUpTo = this.#catalog.nextId;
  }

  /** Whether a key that was identified works only because of its grace time. */
  isRotated(key: string): boolean {
    const remembered = this.#remembered.get(key);
    if (remembered === undefined) return false;
    const principal = this.#principal(remembered.kind, remembered.id);
    return principal !== null && rowOf(principal).keyVersion !== remembered.keyVersion;
  }

  #isPlatform(key: string): boolean {
    return this.#platformSha256 !== null && isSame(this.#platformSha256, sha256(key));
  }

  #derive(prefix: string, id: number, keyVersion: number): string {
    const code = createHmac("sha256", this.#secret)
      .update(`${prefix}:${id}:${keyVersion}`)
      .digest("base64url");
    return `${prefix}_${id}_${code}`;
  }

  #derivedFrom(key: string, timeMs: number): Holder | null {
    const match = KEY.exec(key);
    if (match === null) return null;
    const [, prefix = "", id] = match;
    const principal = this.#principal(prefix === "fro" ? "organization" : "tenant", Number(id));
    if (principal === null) return null;
    for (const { keyVersion, tokenSha256 } of liveKeys(rowOf(principal), timeMs)) {
      if (tokenSha256 !== null) continue;
      const derived = this.#derive(prefix, Number(id), keyVersion);
      if (isSame(derived, key)) return { principal, keyVersion };
    }
    return null;
  }

  #givenToken(key: string, timeMs: number): Holder | null {
    const hash = sha256(key);
    for (const tenant of this.#catalog.tenants.values()) {
      for (const { keyVersion, tokenSha256 } of liveKeys(tenant, timeMs)) {
        if (tokenSha256 === null || !isSame(tokenSha256, hash)) continue;
        return { principal: { kind: "tenant", tenant }, keyVersion };
      }
    }
    return null;
  }

  #principal(kind: Remembered["kind"], id: number): Holder["principal"] | null {
    if (kind === "organization") {
      const organization = this.#catalog.organizations.get(id);
      return organization === undefined ? null : { kind, organization };
    }
    const tenant = this.#catalog.tenants.get(id);
    return tenant === undefined ? null : { kind, tenant };
  }

  #remember(key: string, { principal, keyVersion }: Holder): void {
    if (this.#remembered.size >= REMEMBERED_MAX) this.#remembered.clear();
    const { kind } = principal;
    this.#remembered.set(key, { kind, id: rowOf(principal).id, keyVersion });
  }
}

function rowOf(principal: Holder["principal"]): OrganizationRow | TenantRow {
  return principal.kind === "organization" ? principal.organization : principal.tenant;
}

/** The current key, and the previous one while it still works. */
function liveKeys(
  row: OrganizationRow | TenantRow,
  timeMs: number,
): Pick<RetiredKey, "keyVersion" | "tokenSha256">[] {
  const { keyVersion, retiredKey } = row;
  const current = { keyVersion, tokenSha256: "tokenSha256" in row ? row.tokenSha256 : null };
  return retiredKey !== null && timeMs < retiredKey.validUntilMs
    ? [current, retiredKey]
    : [current];
}

function isLive(
  { keyVersion, retiredKey }: OrganizationRow | TenantRow,
  wanted: number,
  clock: Clock,
): boolean {
  if (keyVersion === wanted) return true;
  return retiredKey?.keyVersion === wanted && clock.nowMs() < retiredKey.validUntilMs;
}

/** Lower-case hexadecimal. */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Compares in a time that does not depend on where the texts differ. */
export function isSame(a: string, b: string): boolean {
  const [bytesOfA, bytesOfB] = [Buffer.from(a), Buffer.from(b)];
  return bytesOfA.length === bytesOfB.length && timingSafeEqual(bytesOfA, bytesOfB);
}
