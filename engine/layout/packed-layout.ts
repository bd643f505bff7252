/**
 * A large layout in a compact form. As objects it would take a hundred megabytes that the garbage
 * collector must visit; whoever needs its members unpacks it, which takes a while.
 */
import type { LayoutDocument } from "./layout-document.ts";

/** A layout with at least this many objects takes so long that it is prepared in another thread. */
export const LARGE_LAYOUT_OBJECTS = 1_000;

export class PackedLayout implements LayoutDocument {
  readonly bytes: Uint8Array;
  readonly #unpack: (bytes: Uint8Array) => LayoutDocument;

  /** @param unpack - Gives the document of the bytes. */
  constructor(bytes: Uint8Array, unpack: (bytes: Uint8Array) => LayoutDocument) {
    this.bytes = bytes;
    this.#unpack = unpack;
  }

  get sectors() {
    return this.unpack().sectors;
  }

  get rows() {
    return this.unpack().rows;
  }

  get seats() {
    return this.unpack().seats;
  }

  get shapes() {
    return this.unpack().shapes;
  }

  get clientViewBox() {
    return this.unpack().clientViewBox;
  }

  /** Cost: O(bytes), each time. */
  unpack(): LayoutDocument {
    return this.#unpack(this.bytes);
  }

  /** So that it is the same as JSON, packed or not. */
  toJSON(): LayoutDocument {
    return this.unpack();
  }
}

/** The document with members of its own. */
export function plainDocument(document: LayoutDocument): LayoutDocument {
  return document instanceof PackedLayout ? document.unpack() : document;
}
