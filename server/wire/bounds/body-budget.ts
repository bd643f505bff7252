/**
 * Memory of bodies that have not come whole. It is bounded in all, for each organization, and for
 * callers without a key, so no caller can keep the others from sending.
 */

/** Limits in bytes. */
export interface BodyLimits {
  readonly all: number;
  readonly organization: number;
  /** Paths without a key, such as the login. */
  readonly address: number;
  readonly addresses: number;
}

const MEBIBYTE = 1_024 * 1_024;
export const BODY_LIMITS: BodyLimits = {
  all: 512 * MEBIBYTE,
  // Two layouts of the largest size.
  organization: 128 * MEBIBYTE,
  address: MEBIBYTE,
  addresses: 64 * MEBIBYTE,
};

/** Who sends a body: an organization, or an address when no key is needed. */
export interface Sender {
  readonly name: string;
  readonly hasKey: boolean;
}

export class BodyBudget {
  readonly #limits: BodyLimits;
  /** Senders without unfinished bodies are not listed. */
  readonly #bySender = new Map<string, number>();
  #byAddresses = 0;
  bytes = 0;
  /** Bodies that were refused for want of room. */
  refused = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** @returns False when there is no room. */
  take({ name, hasKey }: Sender, bytes: number): boolean {
    const limits = this.#limits;
    const ownBytes = (this.#bySender.get(name) ?? 0) + bytes;
    const hasRoom =
      this.bytes + bytes <= limits.all &&
      ownBytes <= (hasKey ? limits.organization : limits.address) &&
      (hasKey || this.#byAddresses + bytes <= limits.addresses);
    if (!hasRoom) {
      this.refused += 1;
      return false;
    }
    this.bytes += bytes;
    this.#bySender.set(name, ownBytes);
    if (!hasKey) this.#byAddresses += bytes;
    return true;
  }

  giveBack({ name, hasKey }: Sender, bytes: number): void {
    const ownBytes = (this.#bySender.get(name) ?? 0) - bytes;
    this.bytes -= bytes;
    if (ownBytes === 0) this.#bySender.delete(name);
    else this.#bySender.set(name, ownBytes);
    if (!hasKey) this.#byAddresses -= bytes;
  }
}
