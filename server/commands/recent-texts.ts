/**
 * Texts that were read lately, found by their bytes. Making a text takes a call to C++, and the
 * engine then computes its hash: with one object for equal texts, both happen once.
 */

/** A power of two. A text takes the place of an earlier one with the same hash. */
export const TEXTS_MAX = 1_024;

export class RecentTexts {
  readonly #places: string[] = Array.from({ length: TEXTS_MAX }, () => "");

  /** Texts that are remembered. */
  get count(): number {
    return this.#places.filter((text) => text !== "").length;
  }

  /** @param end - After the last byte. The bytes are ASCII. */
  find(bytes: Buffer, start: number, end: number): string {
    let hash = 0;
    for (let i = start; i < end; i++) hash = (Math.imul(hash, 31) + bytes[i]!) | 0;
    const place = (hash ^ (hash >>> 10)) & (TEXTS_MAX - 1);
    const recent = this.#places[place]!;
    if (hasBytes(recent, bytes, start, end)) return recent;
    // There are many sessions, so this has to be fast, too: nothing else is made for a new text.
    const text = bytes.toString("latin1", start, end);
    this.#places[place] = text;
    return text;
  }
}

function hasBytes(text: string, bytes: Uint8Array, start: number, end: number): boolean {
  if (text.length !== end - start) return false;
  for (let i = start; i < end; i++) {
    if (text.charCodeAt(i - start) !== bytes[i]) return false;
  }
  return true;
}
