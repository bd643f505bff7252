/** Texts that a client has opened under numbers of its own, for its connection. */
import type { Peer } from "../wire/sockets.ts";

/** In the order of their numbers in the binary layout, which begin with 128. */
export const HANDLE_KINDS = ["event", "session", "hold type"] as const;
/** Memory of a handle besides its text; more than was measured. */
const HANDLE_BYTES = 64;
/** What needs no further check. */
const PLAIN = /^[\x20-\x7e]+$/;

export interface Handle {
  readonly text: string;
  /** Whether it is printable ASCII and not too long. */
  readonly isUsual: boolean;
}

export class Handles {
  readonly #peer: Peer;
  /** By number, for each kind; null until the first is opened. */
  #tables: Map<number, Handle>[] | null = null;

  constructor(peer: Peer) {
    this.#peer = peer;
  }

  /**
   * @param kind - Position in HANDLE_KINDS.
   * @param text - Empty to close the handle.
   * @returns False when there is no memory for it.
   */
  open(kind: number, number: number, text: string, lengthMax: number): boolean {
    this.#tables ??= HANDLE_KINDS.map(() => new Map());
    const table = this.#tables[kind]!;
    const known = table.get(number);
    if (known !== undefined) {
      this.#peer.release(HANDLE_BYTES + known.text.length);
      table.delete(number);
    }
    if (text === "") return true;
    if (!this.#peer.keep(HANDLE_BYTES + text.length)) return false;
    table.set(number, { text, isUsual: text.length <= lengthMax && PLAIN.test(text) });
    return true;
  }

  find(kind: number, number: number): Handle | undefined {
    return this.#tables?.[kind]!.get(number);
  }
}
