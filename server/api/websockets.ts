/** The subprotocols of a WebSocket, of which the client offers some and the server chooses one. */
import { Result } from "../../engine/results.ts";
import type { Credentials } from "../http/front.ts";
import { FrontResult, type Problem } from "../http/answers.ts";
import type { RequestHead } from "../http/front.ts";
import { WEBSOCKET_VERSION } from "../http/sockets.ts";

const NO_HANDSHAKE: Problem = {
  refused: FrontResult.MALFORMED_REQUEST,
  detail: `This path is a WebSocket: send a handshake of version ${WEBSOCKET_VERSION}.`,
  headers: [["Sec-WebSocket-Version", WEBSOCKET_VERSION]],
};

export interface Chosen<Protocol> {
  /** As the client offered it; empty when it offered none. */
  readonly name: string;
  readonly protocol: Protocol;
}

export class Subprotocols<Protocol> {
  readonly #byName: ReadonlyMap<string, Protocol>;

  /** @param byName - The first one is spoken with a client that offers none. */
  constructor(byName: ReadonlyMap<string, Protocol>) {
    this.#byName = byName;
  }

  /** @returns The first that the client offers and the server knows, or a refusal. */
  choose({ protocols: offered = null }: RequestHead): Chosen<Protocol> | Problem {
    if (offered === null) return NO_HANDSHAKE;
    const [first] = this.#byName.values();
    if (offered === "") return { name: "", protocol: first! };
    for (const name of offered.split(",").map((part) => part.trim())) {
      const protocol = this.#byName.get(name);
      if (protocol !== undefined) return { name, protocol };
    }
    return this.#noneOf(offered);
  }

  #noneOf(rejectedValue: string): Problem {
    const message = `must name one of ${[...this.#byName.keys()].join(", ")}`;
    const field = "Sec-WebSocket-Protocol";
    const errors = [{ field, code: "ENUM", message, rejectedValue }];
    return { refused: Result.VALIDATION_FAILED, detail: "The subprotocol is not known.", errors };
  }
}

// Judges the keys of open connections in rounds: a connection hears within a second that its key
// has ended.

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
