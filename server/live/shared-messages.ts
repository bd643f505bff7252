/**
 * Messages that other clients will ask for too: those that lack the same changes, and those that
 * wait for their turn at a large message.
 */
import type { ChangesMessage } from "./message.ts";

/** Memory for the messages of all events; one that is larger is kept alone. */
export const SHARED_WEIGHT_MAX = 32 * 1_024 * 1_024;
/** All are dropped when none has been added in this time. */
const SHARED_MS = 10_000;

interface Kept {
  readonly message: ChangesMessage;
  readonly weight: number;
}

interface Found {
  readonly eventId: string;
  readonly sequence: number;
  readonly message: ChangesMessage;
}

export class SharedMessages {
  /** By event and the record before the changes, the oldest first. */
  readonly #messages = new Map<string, Kept>();
  #weight = 0;
  /** Most clients ask for what the one before them has asked for. */
  #found: Found | null = null;
  #timer: NodeJS.Timeout | null = null;

  get count(): number {
    return this.#messages.size;
  }

  /** @param message - With changes after a record, for those who have all up to it. */
  keep(eventId: string, sequence: number, message: ChangesMessage): void {
    const name = `${eventId} ${sequence}`;
    this.#drop(name);
    const { weight } = message;
    this.#messages.set(name, { message, weight });
    this.#weight += weight;
    for (const oldest of this.#messages.keys()) {
      if (this.#weight <= SHARED_WEIGHT_MAX || oldest === name) break;
      this.#drop(oldest);
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#messages.clear();
      this.#found = null;
      this.#weight = 0;
    }, SHARED_MS).unref();
    this.#timer.refresh();
  }

  #drop(name: string): void {
    this.#weight -= this.#messages.get(name)?.weight ?? 0;
    this.#messages.delete(name);
    this.#found = null;
  }

  /** The message with the changes after a record, if it is kept. */
  after(eventId: string, sequence: number): ChangesMessage | undefined {
    const found = this.#found;
    if (found?.sequence === sequence && found.eventId === eventId) return found.message;
    const message = this.#messages.get(`${eventId} ${sequence}`)?.message;
    if (message !== undefined) this.#found = { eventId, sequence, message };
    return message;
  }
}
