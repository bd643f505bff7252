/**
 * WebSockets, whatever is spoken on them: opened by an answer with status 101, counted, bounded,
 * and closed when the server stops. A socket that does not read what was sent to it is closed after
 * a while, like a slow reader of an answer.
 */
import type { BodyBudget, Sender, Transfer, Transfers } from "./limits.ts";

/** The side of the library. It must not be used after it has closed. */
export interface LibrarySocket {
  /** @returns 1 when the message has left, 0 when a part of it waits. */
  send(message: string | Uint8Array, isBinary: boolean): number;
  getBufferedAmount(): number;
  /** Sends a close frame. Calls `close` of the behavior. */
  end(code: number, reason: string | Uint8Array): void;
  /** Closes the connection at once. Calls `close` of the behavior. */
  close(): void;
  getUserData(): Named;
}

/**
 * uWS on Node 24 writes a string of Latin-1 as one byte a character, which is not UTF-8
 * beyond ASCII. Bytes leave as they are.
 * @returns ASCII as it is, any other text as bytes of UTF-8. Cost: O(length), copied beyond ASCII.
 */
export function asciiOrBytes(text: string | Uint8Array): string | Uint8Array {
  if (typeof text !== "string" || Buffer.byteLength(text) === text.length) return text;
  return Buffer.from(text);
}

/** The library copies the members of what it is given, so it is given the socket as a member. */
export interface Named {
  readonly socket: OpenSocket;
}

/** A socket as the front uses it. Nothing has an effect once the socket is closed. */
export interface Peer {
  /** Bytes that have not left. */
  readonly waitingBytes: number;
  /** @returns Whether everything has left; otherwise `drained` is called when it has. */
  send(message: string | Uint8Array, isBinary: boolean): boolean;
  close(code: number, reason: string): void;
  /**
   * Counts memory that is kept for the client against the limits of unfinished bodies. It is given
   * back by `release`, and when the socket closes.
   *
   * @returns False when there is no room.
   */
  keep(bytes: number): boolean;
  release(bytes: number): void;
}

/** The front's side of a socket. */
export interface SocketHandler {
  opened(peer: Peer): void;
  /** @param bytes - Valid only during this call. */
  message(bytes: ArrayBuffer, isBinary: boolean): void;
  /** Everything that was sent has left. */
  drained(): void;
  /** Called once. Without `opened`, when the client has gone before the socket was open. */
  closed(): void;
  /** The server stops: the handler closes the socket as soon as it has sent what it owes. */
  stop(): void;
}

export interface SocketOpening {
  /** The subprotocol that was chosen. */
  readonly protocol: string;
  /** Sender charged for the memory. */
  readonly sender: Sender;
  readonly handler: SocketHandler;
}

/** A larger message closes the connection without a code, before the front sees it. */
export const MESSAGE_BYTES_MAX = 128 * 1_024;
/** The only one there is. */
export const WEBSOCKET_VERSION = "13";
/** In seconds. The library sends a ping shortly before. */
export const IDLE_TIMEOUT = 32;

export class Sockets {
  readonly #open = new Set<OpenSocket>();
  readonly answers: Transfers;
  readonly #answerBytesMax: number;
  readonly budget: BodyBudget;
  #onAllClosed: (() => void) | null = null;

  constructor(answers: Transfers, answerBytesMax: number, budget: BodyBudget) {
    this.answers = answers;
    this.#answerBytesMax = answerBytesMax;
    this.budget = budget;
  }

  /**
   * Callbacks of the library. An error of the front goes to `onBroken`.
   *
   * @param onClosed - Called for every socket: the library does not tell its filter of connections.
   */
  behavior(onBroken: (error: unknown) => void, onClosed: () => void) {
    const guarded = <Args extends unknown[]>(handle: (...args: Args) => void) => {
      return (...args: Args) => {
        try {
          handle(...args);
        } catch (error) {
          onBroken(error);
        }
      };
    };
    return {
      maxPayloadLength: MESSAGE_BYTES_MAX,
      idleTimeout: IDLE_TIMEOUT,
      sendPingsAutomatically: true,
      // Backpressure is bounded here; the library would drop messages.
      maxBackpressure: 0,
      open: guarded((ws: LibrarySocket) => ws.getUserData().socket.opened(ws)),
      message: guarded((ws: LibrarySocket, bytes: ArrayBuffer, isBinary: boolean) =>
        ws.getUserData().socket.handler.message(bytes, isBinary),
      ),
      ping: guarded((ws: LibrarySocket) => ws.getUserData().socket.answeredPing()),
      // Within this call the library must not be given a message of 16 KiB or more: if a part of
      // it waits, the library stops watching the connection, and the part never leaves.
      drain: (ws: LibrarySocket) => {
        const { socket } = ws.getUserData();
        setImmediate(guarded(() => socket.drained()));
      },
      close: guarded((ws: LibrarySocket) => {
        onClosed();
        ws.getUserData().socket.closed();
      }),
    };
  }

  /** Sockets that are open now. */
  get count(): number {
    return this.#open.size;
  }

  opened(socket: OpenSocket): void {
    this.#open.add(socket);
  }

  closed(socket: OpenSocket): void {
    this.#open.delete(socket);
    if (this.#open.size === 0) this.#onAllClosed?.();
  }

  shrink(): void {
    this.answers.shrinkTo(this.#answerBytesMax);
  }

  /** Settles when every socket has closed. */
  stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      if (this.#open.size === 0) resolve();
      else this.#onAllClosed = resolve;
    });
    for (const socket of this.#open) socket.handler.stop();
    return closed;
  }
}

interface Ending {
  readonly code: number;
  readonly reason: string;
}

export class OpenSocket implements Peer, Transfer {
  readonly handler: SocketHandler;
  readonly holder: string;
  heldBytes = 0;
  deadlineMs = 0;
  readonly #sockets: Sockets;
  readonly #sender: Sender;
  #keptBytes = 0;
  /** Close frame to send once everything has been read; null while it stays open. */
  #ending: Ending | null = null;
  /** Null before it is open and after it has closed. */
  #library: LibrarySocket | null = null;

  constructor(sockets: Sockets, { sender, handler }: SocketOpening, holder: string) {
    this.holder = holder;
    this.#sockets = sockets;
    this.#sender = sender;
    this.handler = handler;
  }

  get waitingBytes(): number {
    return this.heldBytes;
  }

  opened(library: LibrarySocket): void {
    this.#library = library;
    this.#sockets.opened(this);
    this.handler.opened(this);
  }

  closed(): void {
    this.#library = null;
    const { answers, budget } = this.#sockets;
    answers.lose(this);
    if (this.#keptBytes > 0) budget.giveBack(this.#sender, this.#keptBytes);
    this.#keptBytes = 0;
    this.handler.closed();
    this.#sockets.closed(this);
  }

  send(message: string | Uint8Array, isBinary: boolean): boolean {
    const library = this.#library;
    if (library === null || library.send(asciiOrBytes(message), isBinary) === 1) return true;
    const waitingBytes = library.getBufferedAmount();
    if (waitingBytes === 0) return true;
    this.#sockets.answers.end(this);
    this.#wait(waitingBytes);
    return false;
  }

  #wait(bytes: number): void {
    this.heldBytes = bytes;
    this.#sockets.answers.begin(this, bytes);
    this.#sockets.shrink();
  }

  /** The library has answered a ping. More pings do not give the client more time to read. */
  answeredPing(): void {
    const waitingBytes = this.#library!.getBufferedAmount();
    if (waitingBytes === this.heldBytes) return;
    if (this.heldBytes === 0) {
      this.#wait(waitingBytes);
      return;
    }
    this.#sockets.answers.hold(this, waitingBytes - this.heldBytes);
    this.#sockets.shrink();
  }

  /** To be called some time after the library has sent what waited. */
  drained(): void {
    const library = this.#library;
    if (library === null || library.getBufferedAmount() > 0) return;
    this.#sockets.answers.end(this);
    if (this.#ending === null) this.handler.drained();
    else this.#end(this.#ending);
  }

  /**
   * The library forgets a socket that it ends, and with it what the client has not read. So that is
   * waited for.
   */
  close(code: number, reason: string): void {
    this.#ending ??= { code, reason };
    if (this.heldBytes === 0) this.#end(this.#ending);
  }

  #end({ code, reason }: Ending): void {
    this.#library?.end(code, asciiOrBytes(reason));
  }

  abandon(): void {
    this.#library?.close();
  }

  keep(bytes: number): boolean {
    if (this.#library === null || !this.#sockets.budget.take(this.#sender, bytes)) return false;
    this.#keptBytes += bytes;
    return true;
  }

  release(bytes: number): void {
    if (this.#library === null) return;
    this.#keptBytes -= bytes;
    this.#sockets.budget.giveBack(this.#sender, bytes);
  }
}
