/**
 * The stream of an event: a snapshot, then every change. It resumes after a break, and reconnects
 * when a change does not follow the one before.
 */
import { Addresses, Connection, ConnectionRefused } from "./connection.ts";
import { type Address, endpointOf, type WebSocketClass } from "./socket.ts";
import type { Change, EventMap } from "./changes.ts";

const PROTOCOL = "frontrow.stream.v1+json";
/** The server says something every 15 seconds: after this time it has gone. */
const SILENT_MS_MAX = 45_000;
const [KEY_ENDED, EVENT_DELETED, STOPPING] = [4001, 4004, 1012];

/** The event, the credentials and the listeners of a stream. */
export interface StreamClientOptions {
  /** Of the server, such as `https://tickets.example`, or of several, as of `CommandClient`. */
  readonly url: string | readonly string[];
  readonly eventId: string;
  /** The key of the organization. A browser cannot send it, and must not know it. */
  readonly key?: string;
  /** Further headers of the handshake, such as `X-Organization-ID`. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * In place of a key: gets a ticket for each connection. Null ends the stream; after an error it
   * is asked again.
   */
  readonly ticket?: () => string | null | Promise<string | null>;
  /** The last known record. Without it the stream begins with a snapshot. */
  readonly since?: number;
  /** Survives a restart of the server: by default, if there are several. */
  readonly outlivesRestarts?: boolean;
  /** Called first, and after a gap beyond the server's retention. */
  readonly onSnapshot: (map: EventMap) => void;
  /** Called with consecutive changes, each once. */
  readonly onChanges: (changes: readonly Change[]) => void;
  /** Called when the connection is open, and when it is not any more. */
  readonly onConnection?: (isOpen: boolean) => void;
  /** The class of WebSockets; in browsers `WebSocket` by default, in Node a part of this client. */
  readonly webSocket?: WebSocketClass;
}

/** Why a stream has ended. */
export interface StreamEnd {
  readonly reason: "closed" | "key ended" | "event deleted" | "server stopping" | "refused";
  /** Of a refusal: its status and its text. */
  readonly error: Error | null;
}

type Message =
  | ({ readonly type: "snapshot" } & EventMap)
  | { readonly type: "changes"; readonly changes: readonly Change[] }
  | { readonly type: "heartbeat"; readonly sequence: number };

/** Follows an event. */
export class StreamClient {
  /** Settles when the stream has ended, and no other connection will be opened. */
  readonly ended: Promise<StreamEnd>;
  readonly #options: StreamClientOptions;
  readonly #addresses: Addresses;
  readonly #connection: Connection;
  readonly #timer: ReturnType<typeof setInterval>;
  /** The last known record; null before the first. */
  #sequence: number | null;
  #heardMs = 0;
  #isOpen = false;

  constructor(options: StreamClientOptions) {
    this.#options = options;
    const addresses = new Addresses(options.url);
    this.#addresses = addresses;
    this.#sequence = options.since ?? null;
    let settle: (end: StreamEnd) => void;
    this.ended = new Promise((resolve) => {
      settle = resolve;
    });
    const events = {
      opened: () => {
        this.#heardMs = Date.now();
        this.#tell(true);
      },
      message: (text: string) => this.#take(JSON.parse(text) as Message),
      broken: () => this.#tell(false),
      ended: (error: Error | null) => {
        clearInterval(this.#timer);
        this.#tell(false);
        settle(endOf(error));
      },
    };
    const { outlivesRestarts = addresses.areSeveral, webSocket } = options;
    const finalCodes = [KEY_ENDED, EVENT_DELETED, ...(outlivesRestarts ? [] : [STOPPING])];
    const moved = (location: string) => addresses.moveTo(location);
    this.#connection = new Connection(() => this.#address(), events, {
      finalCodes,
      moved,
      webSocket,
    });
    this.#timer = setInterval(() => this.#checkSilence(), SILENT_MS_MAX / 3);
  }

  /** The last known record; null before the first. */
  get sequence(): number | null {
    return this.#sequence;
  }

  /** Ends the stream. */
  close(): void {
    this.#connection.close();
  }

  async #address(): Promise<Address | null> {
    const { eventId, ticket } = this.#options;
    const leader = await this.#addresses.leader();
    const query = new URLSearchParams();
    if (this.#sequence !== null) query.set("since", String(this.#sequence));
    if (ticket !== undefined) {
      const text = await ticket();
      if (text === null) return null;
      query.set("ticket", text);
    }
    const path = `/api/private/v2.0/events/${encodeURIComponent(eventId)}/stream?${String(query)}`;
    return endpointOf(leader, this.#options, { path, protocol: PROTOCOL });
  }

  #take(message: Message): void {
    this.#heardMs = Date.now();
    if (message.type === "snapshot") {
      this.#sequence = message.sequence;
      this.#options.onSnapshot(message);
    } else if (message.type === "changes") this.#change(message.changes);
  }

  #change(changes: readonly Change[]): void {
    const fresh: Change[] = [];
    for (const change of changes) {
      const known: number = this.#sequence ?? change.previous;
      if (change.sequence <= known) continue;
      if (change.previous > known) {
        this.#connection.reopen();
        break;
      }
      fresh.push(change);
      this.#sequence = change.sequence;
    }
    if (fresh.length > 0) this.#options.onChanges(fresh);
  }

  /** A connection may be lost without a word: a computer slept, or a network has changed. */
  #checkSilence(): void {
    if (this.#isOpen && Date.now() - this.#heardMs > SILENT_MS_MAX) this.#connection.reopen();
  }

  #tell(isOpen: boolean): void {
    if (isOpen === this.#isOpen) return;
    this.#isOpen = isOpen;
    this.#options.onConnection?.(isOpen);
  }
}

function endOf(error: Error | null): StreamEnd {
  if (error === null) return { reason: "closed", error };
  const code = error instanceof ConnectionRefused ? error.code : 0;
  if (code === KEY_ENDED) return { reason: "key ended", error };
  if (code === EVENT_DELETED) return { reason: "event deleted", error };
  if (code === STOPPING) return { reason: "server stopping", error };
  return { reason: "refused", error };
}
