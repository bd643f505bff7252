/** The first of many entries in an order, while single entries change their place in it. */

/** Memory: 4 bytes per entry. */
export class Tournament {
  readonly #count: number;
  /** Entry i is the leaf `count + i`, and node n has the earlier winner of 2n and 2n + 1. */
  readonly #winners: Uint32Array;
  /** True when entry `a` comes before `b`, or neither before the other. */
  readonly #precedes: (a: number, b: number) => boolean;

  constructor(count: number, precedes: (a: number, b: number) => boolean) {
    this.#count = count;
    this.#winners = new Uint32Array(count);
    this.#precedes = precedes;
  }

  get bytes(): number {
    return this.#winners.byteLength;
  }

  /** The first entry; there must be one. */
  get first(): number {
    return this.#at(1);
  }

  /** Cost: O(entries). */
  rebuild(): void {
    for (let node = this.#count - 1; node > 0; node--) this.#winners[node] = this.#winner(node);
  }

  /** Follows a change of one entry. Cost: O(log entries). */
  replay(entry: number): void {
    for (let node = (this.#count + entry) >> 1; node > 0; node >>= 1) {
      const before = this.#winners[node]!;
      const winner = this.#winner(node);
      this.#winners[node] = winner;
      if (before !== entry && winner !== entry) return;
    }
  }

  #winner(node: number): number {
    const [a, b] = [this.#at(2 * node), this.#at(2 * node + 1)];
    return this.#precedes(a, b) ? a : b;
  }

  #at(node: number): number {
    return node < this.#count ? this.#winners[node]! : node - this.#count;
  }
}
