/**
 * A seeded stream of random numbers, so that a run can be repeated. Good enough to draw buyers
 * and seats; not for secrets.
 */

const UINT32_COUNT = 2 ** 32;
const GOLDEN_RATIO_UINT32 = 0x9e3779b9;

/** Mulberry32 (Tommy Ettinger, public domain): 32 bits of state, a period of 2^32. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /**
   * The stream that belongs to one buyer. Because it hangs on nothing but the seed and the buyer's
   * number, a buyer wants the same in every run, whatever the timing of the others.
   */
  static ofBuyer(seed: number, buyerNumber: number): Random {
    return new Random(seed + Math.imul(buyerNumber, GOLDEN_RATIO_UINT32));
  }

  /** A whole number, 0 to 2^32 - 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  /** A whole number, 0 to `limit` - 1. */
  below(limit: number): number {
    return Math.floor((this.next() / UINT32_COUNT) * limit);
  }

  /** A whole number, both ends included. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  /** True in `share` (0 to 1) of the draws. */
  chance(share: number): boolean {
    return this.next() < share * UINT32_COUNT;
  }
}
