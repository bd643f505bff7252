/** Send buffers of answers waiting for the disk, pooled for all connections. */

const FIRST_BYTES = 1_024;
/** A larger buffer is not kept for others. */
export const KEPT_BYTES_MAX = 16 * 1_024;
export const IDLE_BUFFERS_MAX = 1_024;

export class AnswerBuffer {
  bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  length = 0;

  /** Makes room for more bytes at the end. */
  reserve(bytes: number): void {
    const needed = this.length + bytes;
    if (needed <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.bytes.length));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }

  /** To be called after `reserve`, as the other ones. */
  byte(value: number): void {
    this.bytes[this.length] = value;
    this.length += 1;
  }

  /** Two bytes, the lower one first. */
  uint16(value: number): void {
    const { bytes, length } = this;
    bytes[length] = value;
    bytes[length + 1] = value >>> 8;
    this.length = length + 2;
  }

  uint32(value: number): void {
    const { bytes, length } = this;
    bytes[length] = value;
    bytes[length + 1] = value >>> 8;
    bytes[length + 2] = value >>> 16;
    bytes[length + 3] = value >>> 24;
    this.length = length + 4;
  }

  /** A few bytes. */
  copy(source: Uint8Array): void {
    const { bytes, length } = this;
    for (let i = 0; i < source.length; i++) bytes[length + i] = source[i]!;
    this.length = length + source.length;
  }

  /** A whole number in decimal notation. */
  decimal(value: number): void {
    if (value < 0 || value > 0x7fff_ffff) {
      this.text(String(value));
      return;
    }
    let end = this.length + 1;
    for (let rest = value; rest >= 10; rest = (rest / 10) | 0) end += 1;
    this.length = end;
    let rest = value;
    do {
      end -= 1;
      this.bytes[end] = 0x30 + (rest % 10);
      rest = (rest / 10) | 0;
    } while (rest > 0);
  }

  /** Reserves its own room. */
  text(text: string): void {
    this.reserve(3 * text.length);
    this.length += this.bytes.write(text, this.length);
  }

  /** Removes the bytes between two positions. */
  remove(start: number, end: number): void {
    this.bytes.copyWithin(start, end, this.length);
    this.length -= end - start;
  }
}

/** The pool of idle buffers. */
export class AnswerBuffers {
  readonly #idle: AnswerBuffer[] = [];

  take(): AnswerBuffer {
    return this.#idle.pop() ?? new AnswerBuffer();
  }

  giveBack(buffer: AnswerBuffer): void {
    if (this.#idle.length === IDLE_BUFFERS_MAX || buffer.bytes.length > KEPT_BYTES_MAX) return;
    buffer.length = 0;
    this.#idle.push(buffer);
  }
}
