/** Callbacks that wait until a sequence number is on disk, in order. */
import { assert } from "./assert.ts";

/** Entries that were called are removed from the arrays in batches of this size. */
const COMPACT_ENTRIES = 1_024;

export class DurabilityQueue {
  /** The highest sequence number on disk. */
  #durable: number;
  /** Two columns of one queue. Entries before `#head` have been called. */
  readonly #sequences: number[] = [];
  readonly #callbacks: (() => void)[] = [];
  #head = 0;

  /** @param durable - The highest sequence number on disk. */
  constructor(durable: number) {
    this.#durable = durable;
  }

  /** Calls back once `sequence` is on disk: immediately if it already is. */
  add(sequence: number, callback: () => void): void {
    // An entry that is still waiting comes first, even while `durable` is calling earlier ones.
    if (sequence <= this.#durable && this.#head === this.#sequences.length) {
      callback();
      return;
    }
    const latest = this.#sequences.at(-1) ?? 0;
    assert(sequence >= latest, "entries are added in order of sequence number");
    this.#sequences.push(sequence);
    this.#callbacks.push(callback);
  }

  /** Every record up to `sequence` is on disk. */
  durable(sequence: number): void {
    assert(sequence >= this.#durable, "the durable mark never goes back");
    this.#durable = sequence;
    while (this.#head < this.#sequences.length && this.#sequences[this.#head]! <= sequence) {
      const callback = this.#callbacks[this.#head]!;
      this.#head += 1;
      callback();
    }
    assert(this.#callbacks.length === this.#sequences.length, "every entry has its callback");
    if (this.#head < COMPACT_ENTRIES && this.#head < this.#sequences.length) return;
    this.#sequences.splice(0, this.#head);
    this.#callbacks.splice(0, this.#head);
    this.#head = 0;
  }
}
