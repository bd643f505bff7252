/**
 * A WebSocket to the engine, on `node:http`. What it sends is masked with zeros, which leaves the
 * bytes as they are: masks protect from intermediaries that a page of a browser could deceive, and
 * no page writes here.
 */
import { createHash, randomBytes } from "node:crypto";
import { type IncomingMessage, type OutgoingHttpHeaders, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Duplex } from "node:stream";
import { type Frame, FrameReader, Opcode, plainFrameOf } from "../client/node-socket.ts";

const ACCEPT_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const CODE_BYTES = 2;
const CLOSE_MS_MAX = 5_000;
export const CLOSED_WITHOUT_CODE = 1006;

export interface UpstreamRequest {
  /** With the scheme `http` or `https`. */
  readonly server: URL;
  /** Never resolved as a URL, so it cannot name another server. */
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
}

export interface UpstreamEvents {
  opened(protocol: string): void;
  message(payload: Buffer, isBinary: boolean): void;
  /** The handshake was answered otherwise. Nothing follows. */
  refused(response: IncomingMessage): void;
  /** Called once, unless the handshake was refused. */
  closed(code: number, reason: string): void;
}

export class UpstreamSocket {
  readonly #events: UpstreamEvents;
  readonly #frames = new FrameReader();
  readonly #request: ReturnType<typeof requestHttp>;
  #stream: Duplex | null = null;
  #code = CLOSED_WITHOUT_CODE;
  #reason = "";
  #hasClosed = false;

  constructor({ server, path, headers }: UpstreamRequest, events: UpstreamEvents) {
    this.#events = events;
    const key = randomBytes(16).toString("base64");
    const upgrade = { Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": "13" };
    this.#request = (server.protocol === "https:" ? requestHttps : requestHttp)(server, {
      agent: false,
      path,
      headers: { ...headers, ...upgrade, "Sec-WebSocket-Key": key },
    });
    this.#request
      .on("upgrade", (response, stream, head) => {
        const accept = createHash("sha1")
          .update(key + ACCEPT_SUFFIX)
          .digest("base64");
        const protocol = response.headers["sec-websocket-protocol"] ?? "";
        if (response.headers["sec-websocket-accept"] === accept) this.#open(stream, head, protocol);
        else {
          stream.destroy();
          this.#closed(CLOSED_WITHOUT_CODE, "the handshake was answered wrongly");
        }
      })
      .on("response", (response) => {
        this.#hasClosed = true;
        this.#events.refused(response);
      })
      .on("error", (error) => this.#closed(CLOSED_WITHOUT_CODE, error.message))
      .end();
  }

  #open(stream: Duplex, head: Buffer, protocol: string): void {
    this.#stream = stream;
    this.#request.socket?.setNoDelay(true);
    if (head.length > 0) stream.unshift(head);
    // Who is not ready to read pauses now, before the first message.
    this.#events.opened(protocol);
    stream
      .on("data", (piece: Buffer) => this.#take(piece))
      .on("error", () => {})
      .on("end", () => stream.end())
      .on("close", () => this.#closed(this.#code, this.#reason));
  }

  #take(piece: Buffer): void {
    for (const frame of this.#frames.read(piece)) this.#handle(frame);
    if (this.#frames.isTooLong) this.destroy();
  }

  #handle({ opcode, isFinal, payload }: Frame): void {
    if (opcode === Opcode.BINARY || opcode === Opcode.TEXT) {
      // The engine sends each message as one frame.
      if (isFinal) this.#events.message(payload, opcode === Opcode.BINARY);
      else this.destroy();
    } else if (opcode === Opcode.PING) this.#write(Opcode.PONG, payload);
    else if (opcode === Opcode.CLOSE) {
      if (payload.length >= CODE_BYTES) {
        this.#code = payload.readUInt16BE(0);
        this.#reason = payload.toString("utf8", CODE_BYTES);
      }
      this.#write(Opcode.CLOSE, payload.subarray(0, CODE_BYTES));
      this.#stream?.end();
    }
  }

  #closed(code: number, reason: string): void {
    if (this.#hasClosed) return;
    this.#hasClosed = true;
    this.#events.closed(code, reason);
  }

  /**
   * @param payload - It is copied.
   * @param onLeft - Called when it has left this process.
   */
  send(payload: Uint8Array, isBinary: boolean, onLeft?: () => void): void {
    this.#write(isBinary ? Opcode.BINARY : Opcode.TEXT, payload, onLeft);
  }

  #write(opcode: number, payload: Uint8Array, onLeft?: () => void): void {
    this.#stream?.write(plainFrameOf(opcode, payload), onLeft);
  }

  /** Closes the connection when nothing has come for so long. To be called once it is open. */
  limitSilence(ms: number): void {
    this.#request.socket?.setTimeout(ms, () => this.destroy());
  }

  pause(): void {
    this.#stream?.pause();
  }

  resume(): void {
    this.#stream?.resume();
  }

  /** Sends a close frame; `closed` follows, also when the server does not answer. */
  close(code: number): void {
    const payload = Buffer.alloc(CODE_BYTES);
    payload.writeUInt16BE(code);
    if (this.#stream === null) {
      this.destroy();
      return;
    }
    this.#write(Opcode.CLOSE, payload);
    // Paused, it would never see the end of the connection.
    this.#stream.resume();
    this.limitSilence(CLOSE_MS_MAX);
  }

  destroy(): void {
    this.#request.destroy();
    this.#stream?.destroy();
  }
}
