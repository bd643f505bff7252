/**
 * API keys. They are derived from the master secret, never stored: a stolen log or snapshot holds
 * none, and every login can show them again. A key reads `fro_<organization id>_<code>` or
 * `frt_<tenant id>_<code>`; the code is HMAC-SHA256 over kind, id and key version.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { Catalog, OrganizationRow, TenantRow } from "../engine/catalog.ts";

/** Whose key it is. */
export type Principal =
  | { readonly kind: "organization"; readonly organization: OrganizationRow }
  | { readonly kind: "tenant"; readonly tenant: TenantRow };

const KEY = /^(fro|frt)_(\d{1,16})_([A-Za-z0-9_-]{43})$/;
const KEY_LENGTH_MAX = 256;
/** Good keys that are remembered, so that a busy key costs no HMAC; the rest are checked afresh. */
const REMEMBERED_MAX = 10_000;

interface Remembered {
  readonly kind: Principal["kind"];
  readonly id: number;
  readonly keyVersion: number;
}

export class Keys {
  readonly #secret: Buffer;
  readonly #catalog: Catalog;
  readonly #remembered = new Map<string, Remembered>();

  /** @param secret - The master secret, 64 hexadecimal digits. */
  constructor(secret: string, catalog: Catalog) {
    this.#secret = Buffer.from(secret, "hex");
    this.#catalog = catalog;
  }

  organizationKey({ id, keyVersion }: OrganizationRow): string {
    return this.#derive("fro", id, keyVersion);
  }

  /** Null when the token was given from outside: then only its hash is known. */
  tenantToken({ id, keyVersion, tokenSha256 }: TenantRow): string | null {
    return tokenSha256 === null ? this.#derive("frt", id, keyVersion) : null;
  }

  /** @returns Null for what is no key of anybody. Cost: one look-up for a key seen before. */
  identify(key: string): Principal | null {
    const remembered = this.#remembered.get(key);
    if (remembered !== undefined) {
      const principal = this.#principal(remembered.kind, remembered.id);
      if (principal !== null && versionOf(principal) === remembered.keyVersion) return principal;
      this.#remembered.delete(key);
    }
    if (key === "" || key.length > KEY_LENGTH_MAX) return null;
    const principal = this.#derivedFrom(key) ?? this.#givenToken(key);
    if (principal !== null) this.#remember(key, principal);
    return principal;
  }

  #derive(prefix: string, id: number, keyVersion: number): string {
    const code = createHmac("sha256", this.#secret)
      .update(`${prefix}:${id}:${keyVersion}`)
      .digest("base64url");
    return `${prefix}_${id}_${code}`;
  }

  #derivedFrom(key: string): Principal | null {
    const match = KEY.exec(key);
    if (match === null) return null;
    const principal = this.#principal(
      match[1] === "fro" ? "organization" : "tenant",
      Number(match[2]),
    );
    const expected =
      principal?.kind === "organization"
        ? this.organizationKey(principal.organization)
        : principal === null
          ? null
          : this.tenantToken(principal.tenant);
    return expected !== null && isSame(expected, key) ? principal : null;
  }

  #givenToken(key: string): Principal | null {
    const hash = sha256(key);
    for (const tenant of this.#catalog.tenants.values()) {
      if (tenant.tokenSha256 !== null && isSame(tenant.tokenSha256, hash)) {
        return { kind: "tenant", tenant };
      }
    }
    return null;
  }

  #principal(kind: Principal["kind"], id: number): Principal | null {
    if (kind === "organization") {
      const organization = this.#catalog.organizations.get(id);
      return organization === undefined ? null : { kind, organization };
    }
    const tenant = this.#catalog.tenants.get(id);
    return tenant === undefined ? null : { kind, tenant };
  }

  #remember(key: string, principal: Principal): void {
    if (this.#remembered.size >= REMEMBERED_MAX) this.#remembered.clear();
    const { kind } = principal;
    const { id } = kind === "organization" ? principal.organization : principal.tenant;
    this.#remembered.set(key, { kind, id, keyVersion: versionOf(principal) });
  }
}

function versionOf(principal: Principal): number {
  return principal.kind === "organization"
    ? principal.organization.keyVersion
    : principal.tenant.keyVersion;
}

/** Lower-case hexadecimal. */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** In a time that does not depend on where two texts differ. */
export function isSame(a: string, b: string): boolean {
  const [bytesOfA, bytesOfB] = [Buffer.from(a), Buffer.from(b)];
  return bytesOfA.length === bytesOfB.length && timingSafeEqual(bytesOfA, bytesOfB);
}
