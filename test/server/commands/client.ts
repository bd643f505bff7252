/** A recording client of the command socket. */
import { WebSocket } from "undici";
import { WaitingSocket } from "../wire/waiting-socket.ts";

export const JSON_PROTOCOL = "frontrow.commands.v1+json";
export const BINARY_PROTOCOL = "frontrow.commands.v1+binary";
export const SOCKET_PATH = "/api/private/v2.0/booking/socket";

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

export class CommandClient extends WaitingSocket {
  /** Messages after the credit, oldest first. */
  readonly messages: (string | Buffer)[] = [];
  /** The first message of the server. */
  credit: string | null = null;
  static async open({ base, key, protocol, headers = {} }: Handshake): Promise<CommandClient> {
    const url = base.replace(/^http/, "ws") + SOCKET_PATH;
    const protocols = protocol === undefined ? [] : [protocol];
    const socket = new WebSocket(url, {
      protocols,
      headers: key === "" ? headers : { "X-API-Key": key, ...headers },
    });
    const client = new CommandClient(socket);
    await client.opened();
    while (client.credit === null) await client.next();
    return client;
  }

  protected take(data: unknown): void {
    const message = typeof data === "string" ? data : Buffer.from(data as ArrayBuffer);
    if (this.credit === null) this.credit = String(message);
    else this.messages.push(message);
  }

  /** Sends a list of commands as JSON, or a frame as it is. */
  send(frame: readonly object[] | string | Uint8Array): void {
    this.socket.send(Array.isArray(frame) ? JSON.stringify(frame) : (frame as string));
  }

  /** Waits for so many messages. @throws Error when the connection closes before. */
  async received(count: number): Promise<readonly (string | Buffer)[]> {
    while (this.messages.length < count) await this.next();
    return this.messages.splice(0, count);
  }

  /** Waits for so many answers, in any number of messages. */
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
