/** Server-sent events: an answer that goes on until one side ends it. */
import type { Transfer, Transfers } from "./bounds/transfers.ts";
import type { Peer, SocketHandler } from "./sockets.ts";

/** The side of the library. */
export interface StreamSocket {
  /** @returns Whether everything has left. */
  write(chunk: string | Uint8Array): boolean;
  onWritable(handler: (offset: number) => boolean): unknown;
  cork(write: () => void): unknown;
  end(body: string, closesConnection: boolean): unknown;
  close(): unknown;
}

/** A comment, which clients ignore. */
const COMMENT = ":\n\n";

interface StreamOptions {
  /** Answers that wait until the client reads. */
  readonly answers: Transfers;
  /** Bytes that those answers may hold together. */
  readonly answerBytesMax: number;
  readonly onEnd: () => void;
}

export class EventStream implements Peer, Transfer {
  readonly handler: SocketHandler;
  heldBytes = 0;
  deadlineMs = 0;
  readonly #answers: Transfers;
  readonly #answerBytesMax: number;
  readonly #onEnd: () => void;
  /** Null when it has ended. */
  #socket: StreamSocket | null;

  constructor(
    socket: StreamSocket,
    handler: SocketHandler,
    { answers, answerBytesMax, onEnd }: StreamOptions,
  ) {
    this.#socket = socket;
    this.handler = handler;
    this.#answers = answers;
    this.#answerBytesMax = answerBytesMax;
    this.#onEnd = onEnd;
    socket.onWritable(() => this.#drain());
    // The library keeps the head back until there is something after it.
    socket.write(COMMENT);
  }

  get waitingBytes(): number {
    return this.heldBytes;
  }

  send(message: string | Uint8Array): boolean {
    const socket = this.#socket;
    if (socket === null) return true;
    let hasLeft = false;
    socket.cork(() => (hasLeft = socket.write(message)));
    if (hasLeft && this.heldBytes === 0) return true;
    if (hasLeft) this.#left();
    else this.#wait(message.length);
    return hasLeft;
  }

  #wait(bytes: number): void {
    const held = this.heldBytes + bytes;
    this.#answers.end(this);
    this.heldBytes = held;
    this.#answers.begin(this, held);
    this.#answers.shrinkTo(this.#answerBytesMax);
  }

  #left(): void {
    this.#answers.end(this);
    this.heldBytes = 0;
    this.handler.drained();
  }

  /** The library sends what waits only together with something new. */
  #drain(): boolean {
    if (this.#socket === null || this.heldBytes === 0) return true;
    if (this.#socket.write(COMMENT)) this.#left();
    return true;
  }

  close(): void {
    const socket = this.#socket;
    if (socket === null) return;
    this.lost();
    socket.cork(() => socket.end("", false));
    this.#onEnd();
  }

  /** The client has closed the connection. */
  lost(): void {
    if (this.#socket === null) return;
    this.#socket = null;
    this.#answers.lose(this);
    this.handler.closed();
  }

  abandon(): void {
    this.#socket?.close();
  }

  /** Nothing is kept for the client but what waits. */
  keep(): boolean {
    return false;
  }

  release(): void {}
}
