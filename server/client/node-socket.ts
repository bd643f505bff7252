/** A WebSocket on `node:http`: Node 20 has none, and that of a browser cannot send a key. */
import { createHash, randomBytes } from "node:crypto";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Duplex } from "node:stream";
import { text as textOf } from "node:stream/consumers";
import { FrameReader, frameOf, Opcode, type Frame } from "./frames.ts";
import { type Address, CLOSED_WITHOUT_CODE, type Socket, type SocketEvents } from "./socket.ts";

const ACCEPT_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** The server sends a ping every 30 seconds: after this time without a byte it has gone. */
const SILENT_MS_MAX = 75_000;
const CODE_BYTES = 2;
const NO_BYTES = new Uint8Array(0);

export function openNodeSocket(address: Address, events: SocketEvents): Socket {
  return new NodeSocket(address, events);
}

class NodeSocket implements Socket {
  readonly #events: SocketEvents;
  readonly #frames = new FrameReader();
  readonly #request: ReturnType<typeof requestHttp>;
  #stream: Duplex | null = null;
  /** The frames of a message that has not come whole. */
  #parts: Buffer[] = [];
  #code = CLOSED_WITHOUT_CODE;
  #reason = "";
  #hasClosed = false;

  constructor({ url, protocol, headers }: Address, events: SocketEvents) {
    this.#events = events;
    const isSecure = url.startsWith("wss:");
    const key = randomBytes(16).toString("base64");
    this.#request = (isSecure ? requestHttps : requestHttp)(url.replace(/^ws/, "http"), {
      agent: false,
      headers: {
        ...headers,
        Connection: "Upgrade",
        Upgrade: "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Protocol": protocol,
      },
    });
    this.#request
      .on("upgrade", (response, stream, head) => {
        const accept = createHash("sha1")
          .update(key + ACCEPT_SUFFIX)
          .digest("base64");
        if (response.headers["sec-websocket-accept"] === accept) this.#opened(stream, head);
        else stream.destroy();
      })
      .on("response", (response) => void this.#refused(response))
      .on("error", (error) => this.#closed(CLOSED_WITHOUT_CODE, error.message))
      .end();
  }

  async #refused(response: IncomingMessage): Promise<void> {
    const text = await textOf(response).catch(() => "");
    this.#closed(response.statusCode!, text, response.headers.location);
  }

  #opened(stream: Duplex, head: Buffer): void {
    this.#stream = stream;
    const { socket } = this.#request;
    socket?.setNoDelay(true);
    socket?.setTimeout(SILENT_MS_MAX, () => stream.destroy());
    stream
      .on("data", (piece: Buffer) => this.#take(piece))
      .on("error", () => {})
      .on("end", () => stream.end())
      .on("close", () => this.#closed(this.#code, this.#reason));
    this.#events.opened();
    if (head.length > 0) this.#take(head);
  }

  #take(piece: Buffer): void {
    for (const frame of this.#frames.read(piece)) this.#handle(frame);
    if (this.#frames.isTooLong) this.#stream?.destroy();
  }

  #handle({ opcode, isFinal, payload }: Frame): void {
    if (opcode === Opcode.PING) this.#write(Opcode.PONG, payload);
    else if (opcode === Opcode.CLOSE) {
      if (payload.length >= CODE_BYTES) {
        this.#code = payload.readUInt16BE(0);
        this.#reason = payload.toString("utf8", CODE_BYTES);
      }
      this.#write(Opcode.CLOSE, payload.subarray(0, CODE_BYTES));
      this.#stream?.end();
    } else if (opcode === Opcode.TEXT || opcode === Opcode.CONTINUATION) {
      this.#parts.push(payload);
      if (!isFinal) return;
      const parts = this.#parts;
      this.#parts = [];
      this.#events.message((parts.length === 1 ? parts[0]! : Buffer.concat(parts)).toString());
    }
  }

  #write(opcode: number, payload: Uint8Array): void {
    this.#stream?.write(frameOf(opcode, payload));
  }

  #closed(code: number, reason: string, location?: string): void {
    if (this.#hasClosed) return;
    this.#hasClosed = true;
    this.#events.closed(code, reason, location);
  }

  send(text: string): void {
    this.#write(Opcode.TEXT, Buffer.from(text));
  }

  close(): void {
    if (this.#stream === null) this.#request.destroy();
    else this.#write(Opcode.CLOSE, NO_BYTES);
  }
}
