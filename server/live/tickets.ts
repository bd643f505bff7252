/**
 * Tickets: a browser that must not have the key of an organization reads one event with one. They
 * are kept in memory only, because they end within a minute.
 */
import { randomBytes } from "node:crypto";
import type { Credentials } from "../auth/access.ts";

export const TICKET_MS = 60_000;
/** Tickets that are neither used nor over, of all and of an organization. */
export const TICKETS_MAX = 100_000;
export const TICKETS_PER_ORGANIZATION_MAX = 20_000;

export interface Ticket {
  readonly eventId: string;
  readonly organizationId: number;
  /** Whose key made it: the ticket ends with that key. */
  readonly credentials: Credentials;
  /** Milliseconds since 1970. */
  readonly expiresAtMs: number;
}

export class Tickets {
  /** By their text, in the order in which they end. */
  readonly #tickets = new Map<string, Ticket>();
  readonly #ofOrganization = new Map<number, number>();

  get count(): number {
    return this.#tickets.size;
  }

  /** @returns The text of a new ticket; null when there are too many. */
  issue(facts: Omit<Ticket, "expiresAtMs">, nowMs: number): readonly [string, Ticket] | null {
    this.#removeOver(nowMs);
    const own = this.#ofOrganization.get(facts.organizationId) ?? 0;
    if (own >= TICKETS_PER_ORGANIZATION_MAX || this.count >= TICKETS_MAX) return null;
    const text = randomBytes(32).toString("base64url");
    const ticket = { ...facts, expiresAtMs: nowMs + TICKET_MS };
    this.#tickets.set(text, ticket);
    this.#ofOrganization.set(facts.organizationId, own + 1);
    return [text, ticket];
  }

  /** @returns The ticket, which cannot be used again; null when it is not valid. */
  redeem(text: string, nowMs: number): Ticket | null {
    const ticket = this.#tickets.get(text);
    if (ticket === undefined) return null;
    this.#remove(text, ticket);
    return ticket.expiresAtMs > nowMs ? ticket : null;
  }

  #removeOver(nowMs: number): void {
    for (const [text, ticket] of this.#tickets) {
      if (ticket.expiresAtMs > nowMs) return;
      this.#remove(text, ticket);
    }
  }

  #remove(text: string, { organizationId }: Ticket): void {
    this.#tickets.delete(text);
    const left = this.#ofOrganization.get(organizationId)! - 1;
    if (left === 0) this.#ofOrganization.delete(organizationId);
    else this.#ofOrganization.set(organizationId, left);
  }
}
