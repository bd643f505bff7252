/** A WebSocket on `node:http`: Node 20 has none, and a browser's cannot send a key. */
import { createHash, randomBytes, randomFillSync } from "node:crypto";
import { type IncomingMessage, type OutgoingHttpHeaders, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Duplex } from "node:stream";
import { text as textOf } from "node:stream/consumers";
import { type Address, CLOSED_WITHOUT_CODE, type Socket, type SocketEvents } from "./socket.ts";

const ACCEPT_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** The server sends a ping every 30 seconds: after this time without a byte it has gone. */
export const SILENT_MS_MAX = 75_000;
const CLOSE_MS_MAX = 5_000;
const CODE_BYTES = 2;

export function openNodeSocket(address: Address, events: SocketEvents): Socket {
  const url = new URL(address.url.replace(/^ws/, "http"));
  const { protocol, headers } = address;
  const socket = new NodeSocket(
    {
      server: url,
      path: url.pathname + url.search,
      headers: { ...headers, "Sec-WebSocket-Protocol": protocol },
      masks: true,
    },
    {
      opened() {
        socket.limitSilence(SILENT_MS_MAX);
        events.opened();
      },
      message: (payload) => events.message(payload.toString()),
      async refused(response) {
        const text = await textOf(response).catch(() => "");
        events.closed(response.statusCode!, text, response.headers.location);
      },
      closed: (code, reason) => events.closed(code, reason),
    },
  );
  return { send: (text) => socket.send(Buffer.from(text), false), close: () => socket.close() };
}

export interface NodeSocketRequest {
  /** With the scheme `http` or `https`. */
  readonly server: URL;
  /** Never resolved as a URL, so it cannot name another server. */
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  /**
   * Masks protect from intermediaries deceived by a page of a browser; between our own programs
   * zeros leave the bytes as they are.
   */
  readonly masks?: boolean;
}

export interface NodeSocketEvents {
  opened(protocol: string): void;
  message(payload: Buffer, isBinary: boolean): void;
  /** The handshake was answered otherwise. Nothing follows. */
  refused(response: IncomingMessage): void;
  /** Called once, unless the handshake was refused. */
  closed(code: number, reason: string): void;
}

export class NodeSocket {
  readonly #events: NodeSocketEvents;
  readonly #masks: boolean;
  readonly #frames = new FrameReader();
  readonly #request: ReturnType<typeof requestHttp>;
  #stream: Duplex | null = null;
  /** The frames of an incomplete message, and their bytes. */
  #parts: Buffer[] = [];
  #partBytes = 0;
  #isBinary = false;
  #code = CLOSED_WITHOUT_CODE;
  #reason = "";
  #hasClosed = false;

  constructor(
    { server, path, headers, masks = false }: NodeSocketRequest,
    events: NodeSocketEvents,
  ) {
    this.#events = events;
    this.#masks = masks;
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
    // A reader without room pauses now, before the first message.
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
    if (opcode <= Opcode.BINARY) {
      if (opcode !== Opcode.CONTINUATION) this.#isBinary = opcode === Opcode.BINARY;
      if (isFinal && this.#parts.length === 0) this.#events.message(payload, this.#isBinary);
      else this.#collect(payload, isFinal);
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

  #collect(payload: Buffer, isFinal: boolean): void {
    this.#parts.push(payload);
    this.#partBytes += payload.length;
    if (this.#partBytes > FRAME_BYTES_MAX) this.destroy();
    else if (isFinal) {
      const message = Buffer.concat(this.#parts);
      this.#parts = [];
      this.#partBytes = 0;
      this.#events.message(message, this.#isBinary);
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
    this.#stream?.write(frameOf(opcode, payload, this.#masks), onLeft);
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
  close(code?: number): void {
    if (this.#stream === null) {
      this.destroy();
      return;
    }
    const payload = Buffer.alloc(code === undefined ? 0 : CODE_BYTES);
    if (code !== undefined) payload.writeUInt16BE(code);
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

/** @param masks - False for a mask of zeros. */
export function frameOf(opcode: number, payload: Uint8Array, masks = true): Buffer {
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
  const mask = bytes.subarray(headBytes - MASK_BYTES, headBytes).fill(0);
  bytes.set(payload, headBytes);
  if (!masks) return bytes;
  randomFillSync(mask);
  for (let i = 0; i < length; i++) bytes[headBytes + i]! ^= mask[i % MASK_BYTES]!;
  return bytes;
}

/** Reassembles a server's frames from pieces. */
export class FrameReader {
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** Minimum bytes of the next frame: a large one is not joined for each of its pieces. */
  #needed = 2;
  /** A frame announces more than `FRAME_BYTES_MAX`: nothing is kept of it, nor read after it. */
  isTooLong = false;

  /** @returns The complete frames. */
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
