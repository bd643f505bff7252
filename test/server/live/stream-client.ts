/** A client of the stream that keeps the states that its messages lead to. */
import { once } from "node:events";
import { unpack } from "msgpackr";
import { type CloseEvent, WebSocket } from "undici";
import { onTestFinished } from "vitest";

export interface StreamMessage {
  readonly type: "snapshot" | "changes" | "heartbeat";
  readonly sequence?: number;
  readonly columns?: { readonly ids: readonly number[]; readonly states: string };
  readonly changes?: readonly StreamChange[];
}

export interface StreamChange {
  readonly sequence: number;
  readonly previous: number;
  readonly call: string;
  readonly sessionId?: string;
  readonly seats: readonly { readonly id: number; readonly state: string | null }[];
}

export class StreamClient {
  readonly socket: WebSocket;
  readonly messages: StreamMessage[] = [];
  /** By seat id: a letter, as in the map. */
  readonly states = new Map<number, string>();
  /** The last record that it knows. */
  sequence = 0;
  /** Settles when the connection has closed. */
  readonly closed: Promise<CloseEvent>;
  #received: (() => void) | null = null;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    socket.addEventListener("message", ({ data }: { data: unknown }) => this.#take(data));
    this.closed = new Promise((resolve) => {
      socket.addEventListener("close", resolve);
    });
    void this.closed.then(() => this.#received?.());
  }

  /** @param url - Of the stream, as ws. */
  static async open(url: string, key: string, protocols: string[] = []): Promise<StreamClient> {
    const headers = key === "" ? {} : { "X-API-Key": key };
    const client = new StreamClient(new WebSocket(url, { protocols, headers }));
    onTestFinished(() => client.socket.close());
    await once(client.socket, "open");
    return client;
  }

  /** Waits until it knows a record. @throws Error when the connection closes before. */
  async until(sequence: number): Promise<void> {
    while (this.sequence < sequence) {
      if (this.socket.readyState === WebSocket.CLOSED) throw new Error("the connection has closed");
      // oxlint-disable-next-line no-await-in-loop -- one message after the other
      await new Promise<void>((resolve) => {
        this.#received = resolve;
      });
    }
  }

  /** @throws Error when changes are missing. */
  #take(data: unknown): void {
    const message = (
      typeof data === "string" ? JSON.parse(data) : unpack(new Uint8Array(data as ArrayBuffer))
    ) as StreamMessage;
    this.messages.push(message);
    if (message.columns !== undefined) {
      this.states.clear();
      const { ids, states } = message.columns;
      for (const [i, id] of ids.entries()) this.states.set(id, states[i]!);
      this.sequence = message.sequence!;
    }
    for (const { sequence, previous, seats } of message.changes ?? []) {
      if (this.sequence !== 0 && previous !== this.sequence) {
        throw new Error(`the change after ${this.sequence} is missing before ${sequence}`);
      }
      this.sequence = sequence;
      for (const { id, state } of seats) this.states.set(id, state?.[0] ?? "-");
    }
    this.#received?.();
  }
}
