/** One client of the stream on a bare socket: thousands of them have room in one process. */
import { connect, type Socket } from "node:net";
import type { EventOnSale, Target } from "../load/plan.ts";
import { Steps } from "./delays.ts";
import { type Frame, frameLengthOf, KEY_BYTES, type SharedFrames } from "./shared-frames.ts";

/** Shared by the clients of an event. */
export interface Followed {
  readonly target: Target;
  readonly event: EventOnSale;
  readonly frames: SharedFrames;
  /** Totals of all clients. */
  readonly received: { frames: number; bytes: number };
  /** Called when a client has later changes than before. */
  readonly onAdvance: (client: StreamClient) => void;
}

const CLOSE = 0x88;
const PING = 0x89;
/** Masked with zeros. */
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);
const EMPTY = Buffer.alloc(0);
const HEAD_END = Buffer.from("\r\n\r\n");
/** Each read is handled before the next one, so all clients share the memory. */
const READ_BUFFER = Buffer.allocUnsafeSlow(262_144);
const RETURN_MS = 50;

export class StreamClient {
  readonly #followed: Followed;
  /** Index: seat. Value: the letter of its state. */
  readonly states: Uint8Array;
  sequence = 0;
  /** Received sequences with their times; null when delays are not measured. */
  steps: Steps | null = new Steps();
  /** Reconnects after a close by the server. */
  returns = 0;
  reconnects = 0;
  snapshots = 0;
  #socket: Socket | null = null;
  /** Bytes too few to recognize the frame of. */
  #unread: Buffer = EMPTY;
  #hasHead = false;
  #isEnding = false;
  /** A frame that has come in part: one that others had, or else the bytes so far. */
  #known: Frame | null = null;
  #own: Buffer = EMPTY;
  #filled = 0;

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
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      `X-API-Key: ${event.key}`,
    ];
    // A connection that was left may still have read something.
    const callback = (length: number) => {
      if (this.#socket === socket) this.#take(READ_BUFFER.subarray(0, length));
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
    this.#filled = 0;
    socket.on("error", () => {});
    socket.on("close", () => {
      if (this.#socket !== socket || this.#isEnding) return;
      this.returns += 1;
      setTimeout(() => this.open(), RETURN_MS);
    });
    socket.write(`${head.join("\r\n")}\r\n\r\n`);
  }

  /** Closes the connection and comes back. */
  reconnect(): void {
    this.reconnects += 1;
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

  #take(chunk: Buffer): void {
    this.#followed.received.bytes += chunk.length;
    const bytes = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
    this.#unread = EMPTY;
    let at = 0;
    if (!this.#hasHead) {
      const end = bytes.indexOf(HEAD_END);
      if (end !== -1) {
        if (!bytes.toString("latin1", 0, 12).endsWith(" 101")) throw new Error(String(bytes));
        this.#hasHead = true;
        at = end + HEAD_END.length;
      }
    }
    if (this.#hasHead) at = this.#readFrames(bytes, at);
    // The next read of any client overwrites the buffer.
    if (at < bytes.length) this.#unread = Buffer.from(bytes.subarray(at));
  }

  /** @returns Offset of the bytes to read again, together with the next ones. */
  #readFrames(bytes: Buffer, start: number): number {
    let at = start;
    while (at < bytes.length) {
      if (this.#filled > 0) {
        at += this.#fill(bytes, at);
        continue;
      }
      const length = frameLengthOf(bytes, at);
      const left = bytes.length - at;
      if (length === 0 || left < Math.min(length, KEY_BYTES)) break;
      const known = this.#followed.frames.find(bytes, at, length);
      if (left < length) {
        this.#begin(known, length);
        at += this.#fill(bytes, at);
      } else {
        const whole = () => Buffer.from(bytes.subarray(at, at + length));
        this.#apply(known ?? this.#followed.frames.add(whole()));
        at += length;
      }
    }
    return at;
  }

  /** Begins a frame that has come in part. */
  #begin(known: Frame | null, length: number): void {
    this.#known = known;
    this.#own = known === null ? Buffer.allocUnsafeSlow(length) : EMPTY;
  }

  /** @returns How many of the bytes belong to the frame that has come in part. */
  #fill(bytes: Buffer, at: number): number {
    const length = this.#known?.bytes.length ?? this.#own.length;
    const count = Math.min(length - this.#filled, bytes.length - at);
    const end = this.#filled + count;
    if (this.#known?.bytes.compare(bytes, at, at + count, this.#filled, end)) {
      this.#own = Buffer.allocUnsafeSlow(length);
      this.#known.bytes.copy(this.#own, 0, 0, this.#filled);
      this.#known = null;
    }
    if (this.#known === null) bytes.copy(this.#own, this.#filled, at, at + count);
    this.#filled = end;
    if (end === length) {
      this.#filled = 0;
      this.#apply(this.#known ?? this.#followed.frames.add(this.#own));
      this.#own = EMPTY;
    }
    return count;
  }

  #apply({ opcode, previous, last, snapshot, seats, letters }: Frame): void {
    const { received, onAdvance } = this.#followed;
    received.frames += 1;
    if (opcode === CLOSE) this.#socket?.end();
    if (opcode === PING) this.#socket?.write(PONG);
    if (last === null) return;
    if (snapshot !== null) {
      this.snapshots += 1;
      this.states.set(snapshot);
    } else if (previous === this.sequence) {
      for (let i = 0; i < seats.length; i++) this.states[seats[i]!] = letters[i]!;
    } else throw new Error("a change is missing");
    this.sequence = last;
    this.steps?.add(last);
    onAdvance(this);
  }
}
