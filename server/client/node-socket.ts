/** A WebSocket on `node:http`: Node 20 has none, and that of a browser cannot send a key. */
import { createHash, randomBytes, randomFillSync } from "node:crypto";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Duplex } from "node:stream";
import { text as textOf } from "node:stream/consumers";
import { type Address, CLOSED_WITHOUT_CODE, type Socket, type SocketEvents } from "./socket.ts";

const ACCEPT_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** The server sends a ping every 30 seconds: after this time without a byte it has gone. */
export const SILENT_MS_MAX = 75_000;
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

// The frames of a WebSocket (RFC 6455), on the side of a client.

export const Opcode = { CONTINUATION: 0, TEXT: 1, BINARY: 2, CLOSE: 8, PING: 9, PONG: 10 } as const;

const FINAL = 0x80;
const MASKED = 0x80;
const OPCODE = 0x0f;
const LENGTH = 0x7f;
const [TWO_BYTES, EIGHT_BYTES] = [126, 127];
const UINT16_MAX = 0xffff;
const MASK_BYTES = 4;
/** The largest messages of a server, maps and the answers of a link, take a few megabytes. */
export const FRAME_BYTES_MAX = 64 * 1_024 * 1_024;

export interface Frame {
  readonly opcode: number;
  readonly isFinal: boolean;
  readonly payload: Buffer;
}

/** Clients mask what they send, so that nothing on the way takes it for another protocol. */
export function frameOf(opcode: number, payload: Uint8Array): Buffer {
  const bytes = plainFrameOf(opcode, payload);
  const start = bytes.length - payload.length;
  const mask = randomFillSync(bytes.subarray(start - MASK_BYTES, start));
  for (let i = start; i < bytes.length; i++) bytes[i]! ^= mask[(i - start) % MASK_BYTES]!;
  return bytes;
}

/** A frame whose mask is zeros, so that its payload stays as it is. */
export function plainFrameOf(opcode: number, payload: Uint8Array): Buffer {
  const { length } = payload;
  const lengthBytes = length < TWO_BYTES ? 0 : length <= UINT16_MAX ? 2 : 8;
  const headBytes = 2 + lengthBytes + MASK_BYTES;
  const bytes = Buffer.allocUnsafe(headBytes + length);
  bytes[0] = FINAL | opcode;
  if (lengthBytes === 0) bytes[1] = MASKED | length;
  else if (lengthBytes === 2) {
    bytes[1] = MASKED | TWO_BYTES;
    bytes.writeUInt16BE(length, 2);
  } else {
    bytes[1] = MASKED | EIGHT_BYTES;
    bytes.writeBigUInt64BE(BigInt(length), 2);
  }
  bytes.writeUInt32LE(0, headBytes - MASK_BYTES);
  bytes.set(payload, headBytes);
  return bytes;
}

/** Puts the frames of a server together from the pieces in which they arrive. */
export class FrameReader {
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** Bytes that the next frame takes at least: a large one is not joined for each of its pieces. */
  #needed = 2;
  /** A frame announces more than `FRAME_BYTES_MAX`: nothing is kept of it, nor read after it. */
  isTooLong = false;

  /** @returns The frames that are complete now. */
  read(piece: Buffer): Frame[] {
    if (this.isTooLong) return [];
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes < this.#needed) return [];
    let bytes = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces);
    const frames: Frame[] = [];
    for (;;) {
      const [headBytes, frameBytes] = extentOf(bytes);
      this.#needed = frameBytes;
      if (bytes.length < frameBytes) break;
      frames.push({
        opcode: bytes[0]! & OPCODE,
        isFinal: (bytes[0]! & FINAL) !== 0,
        payload: bytes.subarray(headBytes, frameBytes),
      });
      bytes = bytes.subarray(frameBytes);
    }
    this.isTooLong = this.#needed > FRAME_BYTES_MAX;
    this.#pieces = this.isTooLong ? [] : [bytes];
    this.#bytes = bytes.length;
    return frames;
  }
}

/** @returns The lengths of the head and of the frame; more than there is for an incomplete head. */
function extentOf(bytes: Buffer): readonly [headBytes: number, frameBytes: number] {
  if (bytes.length < 2) return [2, 2];
  const short = bytes[1]! & LENGTH;
  const headBytes = short === EIGHT_BYTES ? 10 : short === TWO_BYTES ? 4 : 2;
  if (bytes.length < headBytes) return [headBytes, headBytes];
  if (short === TWO_BYTES) return [headBytes, headBytes + bytes.readUInt16BE(2)];
  if (short === EIGHT_BYTES) return [headBytes, headBytes + Number(bytes.readBigUInt64BE(2))];
  return [headBytes, headBytes + short];
}
