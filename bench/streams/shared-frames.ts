/**
 * Frames that many clients of a stream get. Each is parsed once; for all other clients its bytes
 * are only compared, so that thousands of clients fit into one process.
 */
const FINAL_TEXT = 0x81;
/** Enough of a frame to find it again: the header, and the sequence of the first change. */
export const KEY_BYTES = 64;
const FRAMES_MAX = 256;

/** Effect of a frame on the states of a client. */
export interface Frame {
  /** With its header. */
  readonly bytes: Buffer;
  readonly opcode: number;
  /** The record before its changes; null for a snapshot or a heartbeat. */
  readonly previous: number | null;
  /** Null when it has no changes and is no snapshot. */
  readonly last: number | null;
  /** All states of a snapshot, as letters; null for changes. */
  readonly snapshot: Uint8Array | null;
  /** Seats that change, and the letters of their states. */
  readonly seats: Uint32Array;
  readonly letters: Uint8Array;
}

interface Message {
  readonly type: "snapshot" | "changes" | "heartbeat";
  readonly sequence?: number;
  readonly columns?: { readonly ids: readonly number[]; readonly states: string };
  readonly changes?: readonly {
    readonly sequence: number;
    readonly previous: number;
    readonly seats: readonly { readonly id: number; readonly state: string }[];
  }[];
}

export class SharedFrames {
  /** Index of a seat by its id. */
  readonly #indexes: ReadonlyMap<number, number>;
  /** By the first bytes; the oldest comes first. */
  readonly #frames = new Map<string, Frame>();
  /** Most clients get the same frame as the client before them. */
  #last: Frame | null = null;

  constructor(seatIds: readonly number[]) {
    this.#indexes = new Map(seatIds.map((id, i) => [id, i]));
  }

  /** @returns A frame of that length; it begins with the bytes from `at` to the end. */
  find(bytes: Buffer, at: number, length: number): Frame | null {
    const part = { bytes, at, length };
    if (this.#last !== null && beginsWith(this.#last, part)) return this.#last;
    const known = this.#frames.get(keyOf(bytes, at, length));
    if (known === undefined || !beginsWith(known, part)) return null;
    this.#last = known;
    return known;
  }

  /** @param bytes - A whole frame, which nobody else writes to. */
  add(bytes: Buffer): Frame {
    const frame = this.#parse(bytes);
    const [oldest] = this.#frames.keys();
    if (this.#frames.size >= FRAMES_MAX) this.#frames.delete(oldest!);
    this.#frames.set(keyOf(bytes, 0, bytes.length), frame);
    this.#last = frame;
    return frame;
  }

  #parse(bytes: Buffer): Frame {
    const opcode = bytes[0]!;
    const none = { seats: new Uint32Array(), letters: new Uint8Array(), snapshot: null };
    const empty = { bytes, opcode, previous: null, last: null, ...none };
    if (opcode !== FINAL_TEXT) return empty;
    const text = bytes.toString("latin1", headerLengthOf(bytes, 0));
    const { columns, sequence, changes = [] } = JSON.parse(text) as Message;
    if (columns !== undefined) {
      const snapshot = new Uint8Array(this.#indexes.size);
      for (const [i, id] of columns.ids.entries()) {
        snapshot[this.#indexes.get(id)!] = columns.states.charCodeAt(i);
      }
      return { ...empty, last: sequence!, snapshot };
    }
    const [first] = changes;
    if (first === undefined) return empty;
    for (const [i, { previous }] of changes.entries()) {
      if (i > 0 && previous !== changes[i - 1]!.sequence) throw new Error("a change is missing");
    }
    const moved = changes.flatMap(({ seats }) => seats);
    return {
      ...empty,
      previous: first.previous,
      last: changes.at(-1)!.sequence,
      seats: Uint32Array.from(moved, ({ id }) => this.#indexes.get(id)!),
      letters: Uint8Array.from(moved, ({ state }) => state.charCodeAt(0)),
    };
  }
}

/** A frame among other bytes, or its beginning. */
interface Part {
  readonly bytes: Buffer;
  readonly at: number;
  /** Of the whole frame. */
  readonly length: number;
}

function beginsWith(frame: Frame, { bytes, at, length }: Part): boolean {
  if (frame.bytes.length !== length) return false;
  const end = Math.min(bytes.length, at + length);
  return frame.bytes.compare(bytes, at, end, 0, end - at) === 0;
}

function keyOf(bytes: Buffer, at: number, length: number): string {
  return bytes.toString("latin1", at, at + Math.min(length, KEY_BYTES));
}

/** @returns 0 while the header is not complete. */
function headerLengthOf(bytes: Buffer, at: number): number {
  if (bytes.length < at + 2) return 0;
  const short = bytes[at + 1]! & 0x7f;
  const length = short === 127 ? 10 : short === 126 ? 4 : 2;
  return bytes.length < at + length ? 0 : length;
}

/** @returns The length of the frame with its header; 0 while that is not complete. */
export function frameLengthOf(bytes: Buffer, at: number): number {
  const header = headerLengthOf(bytes, at);
  if (header === 0) return 0;
  if (header === 2) return header + (bytes[at + 1]! & 0x7f);
  if (header === 4) return header + bytes.readUInt16BE(at + 2);
  return header + Number(bytes.readBigUInt64BE(at + 2));
}
