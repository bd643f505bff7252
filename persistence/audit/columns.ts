/**
 * Packed columns of whole numbers and texts. No I/O. A column of numbers has the bytes that its
 * range needs: none when all its values are equal. So it is small without compression, and any
 * value can be read without the others.
 */
import { assert } from "../../engine/assert.ts";
import { Malformed } from "../disk/faults.ts";

/** Set in the first byte of a column whose smallest value is not 0. */
const HAS_BASE = 0x80;
const WIDTH_MAX = 7;

/** Numbers in an array of groups: those at `first`, `first + step` ... */
export interface Strided {
  readonly values: Float64Array;
  readonly first: number;
  readonly step: number;
  readonly count: number;
}

export class ColumnWriter {
  #bytes = Buffer.allocUnsafeSlow(64 * 1024);
  #length = 0;

  /** Begins new content. */
  clear(): void {
    this.#length = 0;
  }

  u32(value: number): void {
    this.#reserve(4);
    this.#length = this.#bytes.writeUInt32LE(value, this.#length);
  }

  /** Cost: O(count). */
  numbers({ values, first, step, count }: Strided): void {
    let low = count === 0 ? 0 : values[first]!;
    let high = low;
    for (let i = 0, at = first; i < count; i++, at += step) {
      const value = values[at]!;
      if (value < low) low = value;
      else if (value > high) high = value;
    }
    const width = widthOf(high - low);
    this.#reserve(9 + width * count);
    this.#head(width, low);
    const bytes = this.#bytes;
    let end = this.#length;
    if (width === 0) return;
    for (let i = 0, at = first; i < count; i++, at += step) {
      let rest = values[at]! - low;
      bytes[end++] = rest & 0xff;
      if (width === 1) continue;
      if (width > 4) end = this.#wide(rest, width, end);
      else for (let k = 1; k < width; k++) bytes[end++] = (rest >>>= 8) & 0xff;
    }
    this.#length = end;
  }

  texts(texts: readonly string[]): void {
    this.u32(texts.length);
    const starts = new Float64Array(texts.length + 1);
    const packed = texts.map((text, i) => {
      const bytes = packText(text);
      starts[i + 1] = starts[i]! + bytes.length;
      return bytes;
    });
    this.numbers({ values: starts, first: 0, step: 1, count: starts.length });
    this.#reserve(starts[texts.length]!);
    for (const bytes of packed) {
      this.#bytes.set(bytes, this.#length);
      this.#length += bytes.length;
    }
  }

  /** @returns The content, in memory that the next content uses again. */
  content(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Writes the upper bytes of a number of more than 32 bits. @returns Where they end. */
  #wide(value: number, width: number, start: number): number {
    let [rest, end] = [Math.floor(value / 256), start];
    for (let k = 1; k < width; k++, rest = Math.floor(rest / 256)) this.#bytes[end++] = rest % 256;
    return end;
  }

  #head(width: number, low: number): void {
    this.#bytes[this.#length++] = low === 0 ? width : width | HAS_BASE;
    if (low !== 0) this.#length = this.#bytes.writeDoubleLE(low, this.#length);
  }

  #reserve(extraBytes: number): void {
    const needed = this.#length + extraBytes;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}

function widthOf(range: number): number {
  assert(Number.isSafeInteger(range), "the range of a column is exact");
  let width = 0;
  for (let rest = range; rest >= 1; rest = Math.floor(rest / 256)) width += 1;
  return width;
}

/** A column of numbers in a content. */
export class Column {
  readonly #bytes: Buffer;
  readonly #at: number;
  readonly #width: number;
  readonly #low: number;

  constructor(bytes: Buffer, at: number, { width, low }: { width: number; low: number }) {
    this.#bytes = bytes;
    this.#at = at;
    this.#width = width;
    this.#low = low;
  }

  at(index: number): number {
    const bytes = this.#bytes;
    const width = this.#width;
    const start = this.#at + width * index;
    let value = 0;
    for (let k = start + width - 1; k >= start; k--) value = value * 256 + bytes[k]!;
    return value + this.#low;
  }

  /** Copies the first `count` values to an array, from `start` on. */
  copyTo(target: Float64Array, start: number, count: number): void {
    const [bytes, width, low] = [this.#bytes, this.#width, this.#low];
    let at = this.#at;
    for (let i = 0; i < count; i++) {
      let value = 0;
      for (let k = at + width - 1; k >= at; k--) value = value * 256 + bytes[k]!;
      target[start + i] = value + low;
      at += width;
    }
  }

  /** @returns The first index below `count` whose value is not less; `count` for none. */
  lowerBound(count: number, value: number): number {
    let [low, high] = [0, count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.at(middle) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export class ColumnReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  u32(): number {
    return this.#bytes.readUInt32LE(this.#take(4));
  }

  /** @throws Malformed when the content ends before. */
  numbers(count: number): Column {
    const head = this.#bytes[this.#take(1)]!;
    const width = head & ~HAS_BASE;
    if (width > WIDTH_MAX) throw new Malformed(`at most ${WIDTH_MAX} bytes`, `${width}`);
    const low = head >= HAS_BASE ? this.#bytes.readDoubleLE(this.#take(8)) : 0;
    return new Column(this.#bytes, this.#take(width * count), { width, low });
  }

  texts(): Texts {
    const count = this.u32();
    const starts = this.numbers(count + 1);
    const start = this.#take(starts.at(count));
    return new Texts(count, starts, this.#bytes.subarray(start, this.#at));
  }

  #take(count: number): number {
    const start = this.#at;
    if (start + count > this.#bytes.length) {
      throw new Malformed(`${count} further bytes`, `${this.#bytes.length - start}`);
    }
    this.#at = start + count;
    return start;
  }
}

/** Distinct texts of a content. */
export class Texts {
  readonly #count: number;
  /** Index: text. Value: where it begins; one more for the end of the last. */
  readonly #starts: Column;
  readonly #bytes: Buffer;

  constructor(count: number, starts: Column, bytes: Buffer) {
    this.#count = count;
    this.#starts = starts;
    this.#bytes = bytes;
  }

  at(index: number): string {
    return unpackText(this.packedAt(index));
  }

  /** As by `packText`. */
  packedAt(index: number): Buffer {
    return this.#bytes.subarray(this.#starts.at(index), this.#starts.at(index + 1));
  }

  /** @returns -1 when there is no such text, which is not empty. Cost: O(bytes of all texts). */
  indexOf(text: string): number {
    const wanted = packText(text);
    let found = this.#bytes.indexOf(wanted);
    for (; found >= 0; found = this.#bytes.indexOf(wanted, found + 1)) {
      // An empty text begins where the next one does.
      let index = this.#starts.lowerBound(this.#count, found);
      for (; index < this.#count && this.#starts.at(index) === found; index++) {
        if (this.#starts.at(index + 1) === found + wanted.length) return index;
      }
    }
    return -1;
  }
}

// Packs the texts of the trail, which mostly are sessions: a UUID in its usual form takes 17 bytes
// instead of 36. Other texts are UTF-8. No I/O.

/** The first byte of a packed UUID, which never occurs in UTF-8. */
const IS_UUID = 0xff;
const UUID_CHARS = 36;
const UUID_BYTES = 17;
const DASH = 0x2d;
/** By character code: the value of a lower-case hexadecimal digit; 16 for other characters. */
const DIGITS = Uint8Array.from({ length: 128 }, (_, code) => {
  const value = "0123456789abcdef".indexOf(String.fromCharCode(code));
  return value < 0 ? 16 : value;
});

/** Equal texts, and only these, have equal bytes. */
export function packText(text: string): Uint8Array {
  return (text.length === UUID_CHARS ? packUuid(text) : null) ?? Buffer.from(text);
}

function unpackText(bytes: Buffer): string {
  if (bytes[0] !== IS_UUID) return bytes.toString();
  const hex = bytes.toString("hex", 1);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return `${parts.join("-")}-${hex.slice(20)}`;
}

/** @returns null when it is something else. */
function packUuid(text: string): Uint8Array | null {
  const bytes = new Uint8Array(UUID_BYTES);
  bytes[0] = IS_UUID;
  let end = 1;
  for (let i = 0; i < UUID_CHARS; i += 2) {
    if (i === 8 || i === 13 || i === 18 || i === 23) {
      if (text.charCodeAt(i) !== DASH) return null;
      i += 1;
    }
    const high = DIGITS[text.charCodeAt(i)] ?? 16;
    const low = DIGITS[text.charCodeAt(i + 1)] ?? 16;
    if (high > 15 || low > 15) return null;
    bytes[end++] = high * 16 + low;
  }
  return bytes;
}

/** A hash of 32 bits (FNV-1a). It is stored, so it never changes. */
export function hashBytes(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return hash >>> 0;
}
