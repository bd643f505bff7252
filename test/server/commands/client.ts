/** A client of the command socket that keeps everything that came back. */
import { once } from "node:events";
import { onTestFinished } from "vitest";
import { type CloseEvent, WebSocket } from "undici";

export const JSON_PROTOCOL = "frontrow.commands.v1+json";
export const BINARY_PROTOCOL = "frontrow.commands.v1+binary";
export const SOCKET_PATH = "/api/private/v2.0/booking/socket";

/** Where to connect, and as whom. */
export interface Handshake {
  readonly base: string;
  /** Empty when a header names the caller. */
  readonly key: string;
  readonly protocol?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer in the JSON subprotocol. */
export interface JsonAnswer {
  readonly n: number;
  readonly status: number;
  readonly body: unknown;
}

export class CommandClient {
  readonly socket: WebSocket;
  /** Messages after the credit, oldest first. */
  readonly messages: (string | Buffer)[] = [];
  /** The first message of the server. */
  credit: string | null = null;
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

  static async open({ base, key, protocol, headers = {} }: Handshake): Promise<CommandClient> {
    const url = base.replace(/^http/, "ws") + SOCKET_PATH;
    const protocols = protocol === undefined ? [] : [protocol];
    const socket = new WebSocket(url, {
      protocols,
      headers: key === "" ? headers : { "X-API-Key": key, ...headers },
    });
    const client = new CommandClient(socket);
    onTestFinished(() => socket.close());
    await once(socket, "open");
    while (client.credit === null) await client.#message();
    return client;
  }

  #take(data: unknown): void {
    const message = typeof data === "string" ? data : Buffer.from(data as ArrayBuffer);
    if (this.credit === null) this.credit = String(message);
    else this.messages.push(message);
    this.#received?.();
  }

  #message(): Promise<void> {
    return new Promise((resolve) => {
      this.#received = resolve;
    });
  }

  /** Sends a list of commands as JSON, or a frame as it is. */
  send(frame: readonly object[] | string | Uint8Array): void {
    this.socket.send(Array.isArray(frame) ? JSON.stringify(frame) : (frame as string));
  }

  /** Waits for that many messages. @throws Error when the connection closes before. */
  async received(count: number): Promise<readonly (string | Buffer)[]> {
    while (this.messages.length < count) {
      if (this.socket.readyState === WebSocket.CLOSED) throw new Error("the connection has closed");
      await this.#message();
    }
    return this.messages.splice(0, count);
  }

  /** Waits for that many answers, in as many messages as they come in. */
  async answers(count: number): Promise<readonly JsonAnswer[]> {
    const answers: JsonAnswer[] = [];
    while (answers.length < count) {
      const [message] = await this.received(1);
      answers.push(...(JSON.parse(String(message)) as JsonAnswer[]));
    }
    return answers;
  }

  /** Sends commands as JSON and waits for their answers. */
  ask(...commands: readonly object[]): Promise<readonly JsonAnswer[]> {
    this.send(commands);
    return this.answers(commands.length);
  }
}
