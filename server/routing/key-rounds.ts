/**
 * Judges the keys of open connections in rounds: a connection hears within a second that its key
 * has ended.
 */
import type { Credentials } from "../auth/access.ts";

/** In each step, a share of the connections is judged. A round takes less than a second. */
const STEPS = 8;
const STEP_MS = 100;

/** A connection that lives no longer than its key. */
export interface KeyedConnection {
  readonly credentials: Credentials;
  /** Called in every round. */
  judged(isValid: boolean): void;
  /** Called when the organization is in another cell: the client finds it when it comes again. */
  stop(): void;
}

export class KeyRounds<Connection extends KeyedConnection> {
  readonly #open = new Set<Connection>();
  readonly #isValid: (credentials: Credentials) => boolean | null;
  #timer: NodeJS.Timeout | null = null;
  #round: Iterator<Connection> | null = null;

  /** @param isValid - Whether a key is valid now; null when its organization is in another cell. */
  constructor(isValid: (credentials: Credentials) => boolean | null) {
    this.#isValid = isValid;
  }

  get all(): Iterable<Connection> {
    return this.#open;
  }

  add(connection: Connection): void {
    this.#open.add(connection);
    this.#timer ??= setInterval(() => this.#step(), STEP_MS).unref();
  }

  delete(connection: Connection): void {
    this.#open.delete(connection);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer ?? undefined);
    this.#timer = null;
    this.#round = null;
  }

  /** Many connections share a key, so that it is judged once in a step. */
  #step(): void {
    const judged = new Map<string, boolean | null>();
    for (let left = Math.ceil(this.#open.size / STEPS); left > 0; left--) {
      const connection = this.#next();
      if (connection === undefined) return;
      const { credentials } = connection;
      const { apiKey, authorization, organizationId } = credentials;
      const key = `${apiKey} ${authorization} ${organizationId}`;
      const known = judged.get(key);
      const isValid = known === undefined ? this.#isValid(credentials) : known;
      judged.set(key, isValid);
      if (isValid === null) connection.stop();
      else connection.judged(isValid);
    }
  }

  #next(): Connection | undefined {
    this.#round ??= this.#open.values();
    const { value } = this.#round.next();
    if (value !== undefined) return value as Connection;
    this.#round = this.#open.values();
    return this.#round.next().value as Connection | undefined;
  }
}
