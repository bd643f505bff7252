/** A WebSocket on whose next message a test can wait. */
import { once } from "node:events";
import { type CloseEvent, WebSocket } from "undici";
import { onTestFinished } from "vitest";

export abstract class WaitingSocket {
  readonly socket: WebSocket;
  /** Settles when the connection has closed. */
  readonly closed: Promise<CloseEvent>;
  #received: (() => void) | null = null;

  /** The connection is closed when the test has finished. */
  protected constructor(socket: WebSocket) {
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    socket.addEventListener("message", ({ data }: { data: unknown }) => {
      this.take(data);
      this.#received?.();
    });
    this.closed = new Promise((resolve) => {
      socket.addEventListener("close", resolve);
    });
    void this.closed.then(() => this.#received?.());
    onTestFinished(() => socket.close());
  }

  /** @param data - A text or an ArrayBuffer. */
  protected abstract take(data: unknown): void;

  protected async opened(): Promise<void> {
    await once(this.socket, "open");
  }

  /** Settles at the next message. @throws Error when the connection has closed. */
  protected async next(): Promise<void> {
    if (this.socket.readyState === WebSocket.CLOSED) throw new Error("the connection has closed");
    await new Promise<void>((resolve) => {
      this.#received = resolve;
    });
  }
}
