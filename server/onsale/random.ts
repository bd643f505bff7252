/**
 * A seeded stream of random numbers, so that a run can be repeated. Suitable for buyers and seats,
 * not for secrets.
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
   * The stream of one buyer. It depends only on the seed and the buyer's number, so a buyer wants
   * the same in every run, whatever the timing of the others.
   */
  static ofBuyer(seed: number, buyerNumber: number): Random {
    return new Random(seed + Math.imul(buyerNumber, GOLDEN_RATIO_UINT32));
  }

  /** An integer from 0 to 2^32 - 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  /** An integer from 0 to `limit` - 1. */
  below(limit: number): number {
    return Math.floor((this.next() / UINT32_COUNT) * limit);
  }

  /** An integer from `low` to `high`. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  /** True with this probability, 0 to 1. */
  chance(probability: number): boolean {
    return this.next() < probability * UINT32_COUNT;
  }
}
