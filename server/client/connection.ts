/** A WebSocket with reconnects, and growing pauses between the attempts. */
import {
  type Address,
  type OpenSocket,
  openWith,
  type Socket,
  type WebSocketClass,
} from "./socket.ts";

/** The first pause; each is twice as long as the one before, up to the longest. */
const PAUSE_MS_MIN = 100;
const PAUSE_MS_MAX = 5_000;
/** Retryable statuses of a refused handshake. */
const [TOO_MANY_REQUESTS, SERVER_ERROR, STATUS_MAX] = [429, 500, 599];

/** The server does not want the connection, and will not want it later. */
export class ConnectionRefused extends Error {
  /** The HTTP status of the handshake, or the code of the close frame. */
  readonly code: number;

  constructor(code: number, reason: string) {
    super(`the server refused the connection with ${code}: ${reason}`);
    this.name = "ConnectionRefused";
    this.code = code;
  }
}

export interface ConnectionEvents {
  opened(socket: Socket): void;
  message(text: string): void;
  /** The connection broke; another one will be opened. */
  broken(): void;
  /** Called once: no other connection will be opened. @param error - Null after `close`. */
  ended(error: Error | null): void;
}

export interface ConnectionOptions {
  /** Close codes without a retry. */
  readonly finalCodes: readonly number[];
  /** A handshake was redirected; the next attempt goes there. */
  readonly moved: (location: string) => void;
  /** By default the platform's. */
  readonly webSocket?: WebSocketClass | undefined;
}

export class Connection {
  readonly #address: () => Promise<Address | null>;
  readonly #events: ConnectionEvents;
  readonly #options: ConnectionOptions;
  /** Null while there is no attempt and no connection. */
  #socket: Socket | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #pauseMs = PAUSE_MS_MIN;
  #hasEnded = false;

  /** @param address - Called for each attempt. Null when there shall be no other. */
  constructor(
    address: () => Promise<Address | null>,
    events: ConnectionEvents,
    options: ConnectionOptions,
  ) {
    this.#address = address;
    this.#events = events;
    this.#options = options;
    void this.#open();
  }

  async #open(): Promise<void> {
    this.#timer = null;
    let attempt: readonly [Address | null, OpenSocket];
    try {
      attempt = await Promise.all([this.#address(), this.#opener()]);
    } catch {
      this.#openLater();
      return;
    }
    if (this.#hasEnded) return;
    const [address, open] = attempt;
    if (address === null) this.#end(new Error("there is no other ticket"));
    else this.#connect(address, open);
  }

  #connect(address: Address, open: OpenSocket): void {
    let isOpen = false;
    /** An abandoned connection has no listener. */
    const isPresent = () => this.#socket === socket;
    let socket: Socket | null = null;
    try {
      socket = open(address, {
        opened: () => {
          if (!isPresent()) return;
          isOpen = true;
          this.#events.opened(socket!);
        },
        message: (text) => {
          if (!isPresent()) return;
          this.#pauseMs = PAUSE_MS_MIN;
          this.#events.message(text);
        },
        closed: (code, reason, location) => {
          if (!isPresent()) return;
          if (location === undefined) this.#closed(code, reason, isOpen);
          else this.#redirected(location);
        },
      });
    } catch (error) {
      // The address is not valid, and will not be later.
      this.#end(error as Error);
    }
    this.#socket = socket;
  }

  async #opener(): Promise<OpenSocket> {
    const { webSocket = browserClass() } = this.#options;
    if (webSocket !== null) return openWith(webSocket);
    return (await import("./node-socket.ts")).openNodeSocket;
  }

  #closed(code: number, reason: string, wasOpen: boolean): void {
    this.#socket = null;
    if (this.#hasEnded) this.#events.ended(null);
    else if (this.#options.finalCodes.includes(code) || (!wasOpen && isFinalStatus(code))) {
      this.#end(new ConnectionRefused(code, reason));
    } else this.#openLater();
  }

  #redirected(location: string): void {
    this.#socket = null;
    if (this.#hasEnded) this.#events.ended(null);
    else {
      this.#options.moved(location);
      this.#openLater();
    }
  }

  #openLater(): void {
    if (this.#hasEnded) return;
    this.#events.broken();
    this.#timer = setTimeout(() => void this.#open(), this.#pauseMs * (0.5 + Math.random()));
    this.#pauseMs = Math.min(PAUSE_MS_MAX, 2 * this.#pauseMs);
  }

  #end(error: Error | null): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#events.ended(error);
  }

  /** Gives up the present connection, and opens another one. */
  reopen(): void {
    const socket = this.#socket;
    if (socket === null || this.#hasEnded) return;
    this.#socket = null;
    socket.close();
    this.#openLater();
  }

  /** Closes the connection; `ended` follows. */
  close(): void {
    if (this.#hasEnded) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#socket === null) this.#end(null);
    else {
      this.#hasEnded = true;
      this.#socket.close();
    }
  }
}

function isFinalStatus(status: number): boolean {
  return status !== TOO_MANY_REQUESTS && status < SERVER_ERROR && status <= STATUS_MAX;
}

/** Null in Node: its `WebSocket` cannot send a key. */
function browserClass(): WebSocketClass | null {
  const { process, WebSocket } = globalThis as {
    readonly process?: { readonly versions?: { readonly node?: string } };
    readonly WebSocket?: WebSocketClass;
  };
  return process?.versions?.node === undefined ? (WebSocket ?? null) : null;
}

// The addresses of a leader and its standbys. `/readyz` says 200 on the leader alone.

/** Timeout of a probe. */
const PROBE_MS_MAX = 2_000;

export class Addresses {
  readonly #urls: string[];
  /** The server in use. */
  #present = 0;

  /** @param urls - A base URL, or several. */
  constructor(urls: string | readonly string[]) {
    this.#urls = (typeof urls === "string" ? [urls] : [...urls]).map(withoutSlash);
    if (this.#urls.length === 0) throw new RangeError("a client needs the URL of a server");
  }

  get areSeveral(): boolean {
    return this.#urls.length > 1;
  }

  /**
   * @returns The base URL of the leader. One URL alone is not asked: the connection shows it.
   * @throws Error when none of the servers is the leader at the moment.
   */
  async leader(): Promise<string> {
    const count = this.#urls.length;
    if (count === 1) return this.#urls[0]!;
    for (let i = 0; i < count; i++) {
      const position = (this.#present + i) % count;
      // oxlint-disable-next-line no-await-in-loop -- most often the first server is the leader
      if (!(await isReady(this.#urls[position]!))) continue;
      this.#present = position;
      return this.#urls[position]!;
    }
    throw new Error("none of the servers is ready");
  }

  /** The organization has moved. @param location - A URL of the server where it is. */
  moveTo(location: string): void {
    const { origin } = new URL(location.replace(/^ws/, "http"));
    const known = this.#urls.indexOf(origin);
    this.#present = known === -1 ? 0 : known;
    // The former servers would redirect the client again and again.
    if (known === -1) this.#urls.splice(0, this.#urls.length, origin);
  }
}

async function isReady(url: string): Promise<boolean> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), PROBE_MS_MAX);
  try {
    const { ok } = await fetch(`${url}/readyz`, { signal: stop.signal });
    return ok;
  } catch {
    // It does not answer, so another one is the leader, or soon will be.
    return false;
  } finally {
    clearTimeout(timer);
  }
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, "");
}
