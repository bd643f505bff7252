/**
 * Little-endian numbers and text to and from bytes. The writer grows and is kept from batch to
 * batch, so that the hot path allocates nothing; the reader refuses to read past its end.
 */
import { assert } from "../../engine/assert.ts";
import { Malformed } from "../disk/faults.ts";

const TWO_POW_32 = 0x1_0000_0000;
const TEXT_BYTES_MAX = 0xffff;
/** UTF-8 takes at most three bytes for one unit of a JavaScript string. */
export const TEXT_UNIT_BYTES_MAX = 3;
const NO_WORDS = new Uint32Array(0);
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Room is made by `reserve`, once for many fields, before any of them; a number beyond it throws.
 * Who has many fields at fixed places stores them through `view` and sets `length` once.
 */
export class ByteWriter {
  bytes: Buffer;
  /** All of `bytes`; another one after each `reserve` that had to grow. */
  view: DataView;
  /** Bytes in use. */
  length = 0;

  constructor(capacityBytes: number) {
    this.bytes = Buffer.allocUnsafeSlow(capacityBytes);
    this.view = viewOf(this.bytes);
  }

  /** Makes sure that so many further bytes fit. Cost: O(1), O(length) when it has to grow. */
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

  /** UTF-8 behind its length in two bytes. Cost: O(characters); ASCII is the fast case. */
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

  /** Stores a number where room was left for it. */
  patchU32(at: number, value: number): void {
    assert(at + 4 <= this.length, "a patch lies in what was written");
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

/** Reads between `at` and `end`, and throws `Malformed` rather than read beyond. */
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
    const start = this.#take(textBytes);
    for (let i = start; i < this.at; i++) {
      if (this.#bytes[i]! >= 0x80) return this.#wideText(start);
    }
    return this.#bytes.toString("latin1", start, this.at);
  }

  /** Goes over so many bytes. @returns Where they start. */
  skip(count: number): number {
    return this.#take(count);
  }

  /** All up to the end, as a view of the same memory. */
  rest(): Buffer {
    const start = this.#take(this.end - this.at);
    return this.#bytes.subarray(start, this.end);
  }

  #wideText(start: number): string {
    try {
      return UTF8.decode(this.#bytes.subarray(start, this.at));
    } catch {
      // The decoder says no more than that it is not UTF-8.
      throw new Malformed("text in UTF-8", "other bytes");
    }
  }

  /** @returns Where the field starts. */
  #take(fieldBytes: number): number {
    const start = this.at;
    if (start + fieldBytes > this.end) {
      throw new Malformed(`${fieldBytes} further bytes`, `${this.end - start}`);
    }
    this.at = start + fieldBytes;
    return start;
  }
}

/** A safe integer as 64 bits. */
export function storeU64(view: DataView, at: number, value: number): void {
  const high = Math.floor(value / TWO_POW_32);
  // A remainder of doubles is many times slower than this.
  view.setUint32(at, value - high * TWO_POW_32, true);
  view.setUint32(at + 4, high, true);
}

/** A count and that many 32-bit words. @returns Where they end. */
export function storeWords(view: DataView, at: number, words: Uint32Array): number {
  view.setUint32(at, words.length, true);
  let end = at + 4;
  for (let i = 0; i < words.length; i++, end += 4) view.setUint32(end, words[i]!, true);
  return end;
}

function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}
