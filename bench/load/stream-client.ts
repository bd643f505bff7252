/** One client of the stream on a bare socket: thousands of them have room in one process. */
import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import type { EventOnSale, Target } from "./plan.ts";

/** A parsed message of the stream. */
export interface Message {
  readonly type: "snapshot" | "changes" | "heartbeat";
  readonly sequence?: number;
  readonly columns?: { readonly ids: readonly number[]; readonly states: string };
  readonly changes?: readonly {
    readonly sequence: number;
    readonly previous: number;
    readonly sessionId?: string;
    readonly seats: readonly { readonly id: number; readonly state: string }[];
  }[];
}

/** What the clients of an event share. */
export interface Followed {
  readonly target: Target;
  readonly event: EventOnSale;
  /** Index of a seat by its id. */
  readonly indexes: ReadonlyMap<number, number>;
  readonly onChange: (sessionId: string) => void;
}

const FINAL_TEXT = 0x81;
const CLOSE = 0x88;
const EMPTY = Buffer.alloc(0);
/** Each read is handled before the next one, so all clients share the memory. */
const READ_BUFFER = Buffer.allocUnsafeSlow(65_536);
/** By length and beginning: all clients get the same bytes, so a message is parsed once. */
const parsed = new Map<string, { readonly bytes: Buffer; readonly message: Message }>();
const PARSED_MAX = 64;
/** The beginning has the sequence of the first change. */
const KEY_BYTES = 60;

export class StreamClient {
  readonly #followed: Followed;
  /** Index: seat. Value: the letter of its state. */
  readonly states: Uint8Array;
  sequence = 0;
  /** How often it came back after a close by the server. */
  returns = 0;
  snapshots = 0;
  #socket: Socket | null = null;
  #unread: Buffer = EMPTY;
  #hasHead = false;
  #isEnding = false;

  constructor(followed: Followed) {
    this.#followed = followed;
    this.states = new Uint8Array(followed.event.seatIds.length);
    this.open();
  }

  open(): void {
    const { target, event } = this.#followed;
    const since = this.sequence === 0 ? "" : `?since=${this.sequence}`;
    const head = [
      `GET /api/private/v2.0/events/${event.eventId}/stream${since} HTTP/1.1`,
      `Host: ${target.host}`,
      "Upgrade: websocket",
      "Connection: Upgrade",
      "Sec-WebSocket-Version: 13",
      `Sec-WebSocket-Key: ${randomBytes(16).toString("base64")}`,
      `X-API-Key: ${event.key}`,
    ];
    // A connection that was left may still have read something.
    const callback = (length: number, buffer: Uint8Array) => {
      if (this.#socket === socket)
        this.#take(Buffer.from(buffer.buffer, buffer.byteOffset, length));
      return true;
    };
    const socket: Socket = connect({
      port: target.port,
      host: target.host,
      onread: { buffer: READ_BUFFER, callback },
    });
    this.#socket = socket;
    this.#unread = EMPTY;
    this.#hasHead = false;
    socket.on("error", () => {});
    socket.on("close", () => {
      if (this.#socket !== socket || this.#isEnding) return;
      this.returns += 1;
      setTimeout(() => this.open(), 50);
    });
    socket.write(`${head.join("\r\n")}\r\n\r\n`);
  }

  /** Closes the connection and comes back. */
  reconnect(): void {
    const socket = this.#socket;
    this.#socket = null;
    socket?.destroy();
    this.open();
  }

  /** Reads nothing for a while. */
  rest(restMs: number): void {
    const socket = this.#socket;
    socket?.pause();
    setTimeout(() => socket?.resume(), restMs);
  }

  end(): void {
    this.#isEnding = true;
    this.#socket?.destroy();
  }

  #take(bytes: Buffer): void {
    this.#unread = this.#unread.length === 0 ? bytes : Buffer.concat([this.#unread, bytes]);
    if (!this.#hasHead) {
      const end = this.#unread.indexOf("\r\n\r\n");
      if (end === -1) {
        this.#unread = Buffer.from(this.#unread);
        return;
      }
      if (!this.#unread.subarray(0, 12).equals(Buffer.from("HTTP/1.1 101"))) {
        throw new Error(this.#unread.toString("latin1"));
      }
      this.#hasHead = true;
      this.#unread = this.#unread.subarray(end + 4);
    }
    while (this.#frame());
    // The next read of any client overwrites the buffer.
    if (this.#unread.length > 0) this.#unread = Buffer.from(this.#unread);
  }

  /** @returns Whether there was a whole frame. */
  #frame(): boolean {
    const bytes = this.#unread;
    if (bytes.length < 2) return false;
    const short = bytes[1]! & 0x7f;
    const start = short === 127 ? 10 : short === 126 ? 4 : 2;
    if (bytes.length < start) return false;
    let length = short;
    if (short === 126) length = bytes.readUInt16BE(2);
    if (short === 127) length = Number(bytes.readBigUInt64BE(2));
    if (bytes.length < start + length) return false;
    this.#unread = bytes.subarray(start + length);
    const payload = bytes.subarray(start, start + length);
    if (bytes[0] === FINAL_TEXT) this.#apply(parse(payload));
    else if (bytes[0] === CLOSE) this.#socket?.end();
    return true;
  }

  #apply({ columns, sequence, changes = [] }: Message): void {
    const { indexes, onChange } = this.#followed;
    if (columns !== undefined) {
      this.snapshots += 1;
      this.sequence = sequence!;
      for (const [i, id] of columns.ids.entries()) {
        this.states[indexes.get(id)!] = columns.states.charCodeAt(i);
      }
    }
    for (const change of changes) {
      if (this.sequence !== change.previous) throw new Error("a change is missing");
      this.sequence = change.sequence;
      for (const { id, state } of change.seats) {
        this.states[indexes.get(id)!] = state.charCodeAt(0);
      }
      if (change.sessionId?.startsWith("probe") === true) onChange(change.sessionId);
    }
  }
}

function parse(bytes: Buffer): Message {
  const key = `${bytes.length} ${bytes.toString("latin1", 0, KEY_BYTES)}`;
  const known = parsed.get(key);
  if (known?.bytes.equals(bytes) === true) return known.message;
  const message = JSON.parse(bytes.toString("latin1")) as Message;
  if (parsed.size >= PARSED_MAX) parsed.delete(parsed.keys().next().value!);
  parsed.set(key, { bytes: Buffer.from(bytes), message });
  return message;
}
