/** A WebSocket that is opened again after a break, with growing pauses between the attempts. */
import { type WebSocketClass, openWith } from "./browser-socket.ts";
import type { Address, OpenSocket, Socket } from "./socket.ts";

/** The first pause; each is twice as long as the one before, up to the longest. */
const PAUSE_MS_MIN = 100;
const PAUSE_MS_MAX = 5_000;
/** Codes of a close after which another attempt would end in the same way. */
const FINAL_CODES: ReadonlySet<number> = new Set([1007, 4001, 4009]);
/** Statuses of a refused handshake that may be another one later. */
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
  /** No other connection will be opened. @param error - Null after `close`. */
  ended(error: ConnectionRefused | null): void;
}

export class Connection {
  readonly #address: Address;
  readonly #events: ConnectionEvents;
  readonly #class: WebSocketClass | null;
  #socket: Socket | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #pauseMs = PAUSE_MS_MIN;
  #isClosing = false;

  constructor(address: Address, events: ConnectionEvents, webSocket: WebSocketClass | null) {
    this.#address = address;
    this.#events = events;
    this.#class = webSocket;
    void this.#open();
  }

  async #open(): Promise<void> {
    const open = await this.#opener();
    if (this.#isClosing) {
      this.#events.ended(null);
      return;
    }
    let isOpen = false;
    const socket = open(this.#address, {
      opened: () => {
        isOpen = true;
        this.#pauseMs = PAUSE_MS_MIN;
        this.#events.opened(socket);
      },
      message: (text) => this.#events.message(text),
      closed: (code, reason) => this.#closed(code, reason, isOpen),
    });
    this.#socket = socket;
  }

  async #opener(): Promise<OpenSocket> {
    if (this.#class !== null) return openWith(this.#class);
    return (await import("./node-socket.ts")).openNodeSocket;
  }

  #closed(code: number, reason: string, wasOpen: boolean): void {
    this.#socket = null;
    if (this.#isClosing) this.#events.ended(null);
    else if (FINAL_CODES.has(code) || (!wasOpen && isFinalStatus(code))) {
      this.#events.ended(new ConnectionRefused(code, reason));
    } else {
      this.#events.broken();
      this.#timer = setTimeout(() => void this.#open(), this.#pauseMs * (0.5 + Math.random()));
      this.#pauseMs = Math.min(PAUSE_MS_MAX, 2 * this.#pauseMs);
    }
  }

  close(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    clearTimeout(this.#timer);
    if (this.#socket !== null) this.#socket.close();
    else if (this.#timer !== undefined) this.#events.ended(null);
  }
}

function isFinalStatus(status: number): boolean {
  return status !== TOO_MANY_REQUESTS && status < SERVER_ERROR && status <= STATUS_MAX;
}
