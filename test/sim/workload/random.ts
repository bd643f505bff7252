/**
 * Random numbers from one seed, equal on every machine: only whole numbers, and no float is ever
 * compared. The generator is "xorshift32" of G. Marsaglia (2003); its seed must not be zero.
 */

export class Random {
  #state: number;

  constructor(seed: number) {
    // Spreads small seeds over all bits, so seed 1 and seed 2 begin differently.
    this.#state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) | 1;
    for (let i = 0; i < 8; i++) this.#next();
  }

  /**
   * The numbers of one subsystem: draws of one do not change the numbers of the others.
   * @param name - The name of the subsystem.
   */
  static stream(seed: number, name: string): Random {
    let mixed = seed;
    for (const letter of name) mixed = Math.imul(mixed ^ letter.codePointAt(0)!, 0x01000193);
    return new Random(mixed);
  }

  #next(): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x;
    return x >>> 0;
  }

  /** A whole number from 0 to `limit - 1`. */
  below(limit: number): number {
    return this.#next() % limit;
  }

  /** True once in `count` times. */
  once(count: number): boolean {
    return this.below(count) === 0;
  }

  pick<T>(choices: readonly T[]): T {
    const choice = choices[this.below(choices.length)];
    if (choice === undefined) throw new Error("nothing to pick from");
    return choice;
  }
}
