/**
 * Texts that were read lately, by their bytes. Making a text takes a call to C++, and the engine
 * then computes its hash: with one object for equal texts, both happen once.
 */

/** A power of two. A text takes the place of an earlier one with the same hash. */
export const TEXTS_MAX = 1_024;

interface Recent {
  readonly bytes: Uint8Array;
  readonly text: string;
}

export class RecentTexts {
  readonly #places: (Recent | undefined)[] = Array.from({ length: TEXTS_MAX }, () => undefined);

  /** Texts that are remembered. */
  get count(): number {
    return this.#places.filter((recent) => recent !== undefined).length;
  }

  /** @param end - After the last byte. The bytes are ASCII. */
  find(bytes: Buffer, start: number, end: number): string {
    let hash = 0;
    for (let i = start; i < end; i++) hash = (Math.imul(hash, 31) + bytes[i]!) | 0;
    const place = (hash ^ (hash >>> 10)) & (TEXTS_MAX - 1);
    const recent = this.#places[place];
    if (recent !== undefined && isSame(recent.bytes, bytes, start, end)) return recent.text;
    const text = bytes.toString("latin1", start, end);
    this.#places[place] = { bytes: Uint8Array.from(bytes.subarray(start, end)), text };
    return text;
  }
}

function isSame(known: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (known.length !== end - start) return false;
  for (let i = 0; i < known.length; i++) {
    if (known[i] !== bytes[start + i]) return false;
  }
  return true;
}
