/** Those who wait for a sequence number to be on disk, in order. */
import { assert } from "./assert.ts";

/** Space that was given back is reused once this many entries have gone. */
const COMPACT_ENTRIES = 1_024;

export class DurabilityQueue {
  #durable: number;
  /** Two columns of a queue; those before `#head` have been called. */
  readonly #sequences: number[] = [];
  readonly #callbacks: (() => void)[] = [];
  #head = 0;

  /** @param durable - The highest sequence number on disk. */
  constructor(durable: number) {
    this.#durable = durable;
  }

  /** Calls back at once when `sequence` is on disk. */
  add(sequence: number, callback: () => void): void {
    // Whoever waits already goes first, also while `durable` is calling them.
    if (sequence <= this.#durable && this.#head === this.#sequences.length) {
      callback();
      return;
    }
    assert(sequence >= (this.#sequences.at(-1) ?? 0), "those who come later wait for later");
    this.#sequences.push(sequence);
    this.#callbacks.push(callback);
  }

  /** Everything up to `sequence` is on disk. */
  durable(sequence: number): void {
    assert(sequence >= this.#durable, "the durable mark never goes back");
    this.#durable = sequence;
    while (this.#head < this.#sequences.length && this.#sequences[this.#head]! <= sequence) {
      const callback = this.#callbacks[this.#head]!;
      this.#head += 1;
      callback();
    }
    if (this.#head < COMPACT_ENTRIES && this.#head < this.#sequences.length) return;
    this.#sequences.splice(0, this.#head);
    this.#callbacks.splice(0, this.#head);
    this.#head = 0;
  }
}
