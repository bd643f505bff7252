/**
 * Writes and reads little-endian numbers and text. The writer grows as needed and is reused for
 * every batch, so the hot path allocates nothing. The reader never reads past its end.
 */
import { assert } from "../../engine/assert.ts";
import { type Move, MOVES } from "../../engine/inventory/states.ts";
import { ActorKind } from "../../engine/records.ts";
import { Malformed } from "../disk/faults.ts";

const TWO_POW_32 = 0x1_0000_0000;
const TEXT_BYTES_MAX = 0xffff;
/** UTF-8 bytes of one code unit of a JavaScript string, at most. */
export const TEXT_UNIT_BYTES_MAX = 3;
const NO_WORDS = new Uint32Array(0);
/** A power of two. */
const RECENT_TEXTS = 256;
/** Longer ones are not kept: they would fill the memory. */
const RECENT_TEXT_LENGTH_MAX = 64;
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Before writing, a caller must `reserve` room for its fields, once for all of them; a write beyond
 * that throws. For many fields at fixed offsets, write through `view` and set `length` once.
 */
export class ByteWriter {
  bytes: Buffer;
  /** A view of all of `bytes`. A growing `reserve` replaces it. */
  view: DataView;
  /** Bytes in use. */
  length = 0;

  constructor(capacityBytes: number) {
    this.bytes = Buffer.allocUnsafeSlow(capacityBytes);
    this.view = viewOf(this.bytes);
  }

  /** Makes room for `extraBytes` more bytes. Cost: O(1), or O(length) when it must grow. */
  reserve(extraBytes: number): void {
    const neededBytes = this.length + extraBytes;
    if (neededBytes <= this.bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(neededBytes, 2 * this.bytes.length));
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
    this.view = viewOf(grown);
  }

  u16(value: number): void {
    this.view.setUint16(this.length, value, true);
    this.length += 2;
  }

  u32(value: number): void {
    this.view.setUint32(this.length, value, true);
    this.length += 4;
  }

  f64(value: number): void {
    this.view.setFloat64(this.length, value, true);
    this.length += 8;
  }

  /** A length of two bytes, then UTF-8. Cost: O(characters); ASCII is the fast case. */
  text(value: string): void {
    const { bytes } = this;
    const start = this.length + 2;
    for (let i = 0; i < value.length; i++) {
      const unit = value.charCodeAt(i);
      if (unit >= 0x80) {
        this.#wideText(value, start);
        return;
      }
      bytes[start + i] = unit;
    }
    assert(value.length <= TEXT_BYTES_MAX, "a text of the log fits its length field");
    this.u16(value.length);
    this.length = start + value.length;
  }

  blob(value: Uint8Array): void {
    this.bytes.set(value, this.length);
    this.length += value.length;
  }

  /** Overwrites an earlier number. */
  patchU32(at: number, value: number): void {
    assert(at + 4 <= this.length, "a patch is within the bytes written");
    this.view.setUint32(at, value, true);
  }

  #wideText(value: string, start: number): void {
    const textBytes = this.bytes.write(value, start, "utf8");
    const end = start + textBytes;
    assert(textBytes <= TEXT_BYTES_MAX, "a text of the log fits its length field");
    assert(this.bytes.toString("utf8", start, end) === value, "a text of the log is well-formed");
    this.u16(textBytes);
    this.length = end;
  }
}

/**
 * Interned recent ASCII texts: sessions and hold types repeat, and making a text takes a call
 * to C++. A text takes the place of an earlier one.
 */
const recentTexts: string[] = Array.from({ length: RECENT_TEXTS }, () => "");

/** Reads from `at` on, and throws `Malformed` instead of reading past `end`. */
export class ByteReader {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  at = 0;
  end: number;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
    this.end = bytes.length;
  }

  u8(): number {
    return this.#view.getUint8(this.#take(1));
  }

  u16(): number {
    return this.#view.getUint16(this.#take(2), true);
  }

  u32(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  u64(): number {
    const low = this.u32();
    const value = low + this.u32() * TWO_POW_32;
    if (!Number.isSafeInteger(value)) throw new Malformed("a safe integer", "a larger number");
    return value;
  }

  f64(): number {
    return this.#view.getFloat64(this.#take(8), true);
  }

  words(): Uint32Array {
    const count = this.u32();
    if (count === 0) return NO_WORDS;
    const start = this.#take(4 * count);
    const values = new Uint32Array(count);
    for (let i = 0; i < count; i++) values[i] = this.#view.getUint32(start + 4 * i, true);
    return values;
  }

  text(): string {
    const textBytes = this.u16();
    if (textBytes === 0) return "";
    const start = this.#take(textBytes);
    let hash = 0;
    for (let i = start; i < this.at; i++) {
      if (this.#bytes[i]! >= 0x80) return this.#wideText(start);
      hash = (Math.imul(hash, 31) + this.#bytes[i]!) | 0;
    }
    if (textBytes > RECENT_TEXT_LENGTH_MAX) return this.#bytes.toString("latin1", start, this.at);
    const place = (hash ^ (hash >>> 8)) & (RECENT_TEXTS - 1);
    const recent = recentTexts[place]!;
    if (this.#has(recent, start)) return recent;
    return (recentTexts[place] = this.#bytes.toString("latin1", start, this.at));
  }

  /** The bytes from `start` on are the text. */
  #has(text: string, start: number): boolean {
    if (text.length !== this.at - start) return false;
    for (let i = 0; i < text.length; i++) {
      if (text.charCodeAt(i) !== this.#bytes[start + i]) return false;
    }
    return true;
  }

  /** Skips `count` bytes. @returns The offset where they start. */
  skip(count: number): number {
    return this.#take(count);
  }

  /** @returns A copy of so many bytes. */
  blob(count: number): Uint8Array {
    const start = this.#take(count);
    return Uint8Array.from(this.#bytes.subarray(start, this.at));
  }

  /** @returns All bytes up to the end, as a view of the same memory. */
  rest(): Buffer {
    const start = this.#take(this.end - this.at);
    return this.#bytes.subarray(start, this.end);
  }

  #wideText(start: number): string {
    try {
      return UTF8.decode(this.#bytes.subarray(start, this.at));
    } catch {
      // The decoder does not say where the text is invalid.
      throw new Malformed("text in UTF-8", "other bytes");
    }
  }

  /** @returns The offset where the field starts. */
  #take(fieldBytes: number): number {
    const start = this.at;
    if (start + fieldBytes > this.end) {
      throw new Malformed(`${fieldBytes} further bytes`, `${this.end - start}`);
    }
    this.at = start + fieldBytes;
    return start;
  }
}

/** Writes a safe integer as 64 bits. */
export function storeU64(view: DataView, at: number, value: number): void {
  const high = Math.floor(value / TWO_POW_32);
  // A remainder of doubles is many times slower than this.
  view.setUint32(at, value - high * TWO_POW_32, true);
  view.setUint32(at + 4, high, true);
}

/** Writes a count and that many 32-bit words. @returns Their end offset. */
export function storeWords(view: DataView, at: number, words: Uint32Array): number {
  view.setUint32(at, words.length, true);
  let end = at + 4;
  for (let i = 0; i < words.length; i++, end += 4) view.setUint32(end, words[i]!, true);
  return end;
}

function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

// The valid values of fields in the log: asserted when encoding, required when decoding.

export function isU32(value: number): boolean {
  return value >>> 0 === value;
}

/** A non-negative whole number, exact as a double. */
export function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

export function isActorKind(value: unknown): value is ActorKind {
  return isCount(value) && Number(value) <= ActorKind.ACCOUNT;
}

export function isMove(value: number): value is Move {
  return MOVES[value as Move] !== undefined;
}
