/**
 * The change list of a partition: every seat once, the most recently changed last. "What changed
 * since" walks back from the end, so it costs what changed, not what exists, and never overflows.
 */
import { assert } from "./assert.ts";
import { NONE } from "./constants.ts";

/** A copy of the list; the other direction follows from it. */
export interface ChangeLinks {
  /** The seat that changed next, by seat index; NONE for the newest. */
  readonly later: Uint32Array;
  readonly oldest: number;
  readonly touches: number;
}

export class ChangeList {
  /** Seat index of the neighbour in the list, by seat index; NONE at the ends. */
  readonly #earlier: Uint32Array;
  readonly #later: Uint32Array;
  #oldest = NONE;
  #newest = NONE;
  /** How often a seat was touched. */
  touches = 0;

  /** Starts in ascending order of seat index. */
  constructor(seatCount: number) {
    this.#earlier = new Uint32Array(seatCount).fill(NONE);
    this.#later = new Uint32Array(seatCount).fill(NONE);
    for (let seat = 0; seat < seatCount; seat++) this.#append(seat);
  }

  /** The seat that changed last; NONE when there are no seats. */
  get newest(): number {
    return this.#newest;
  }

  /** The seat that changed before `seat` did; NONE when it is the oldest. */
  earlierThan(seat: number): number {
    return this.#earlier[seat]!;
  }

  /** Makes `seat` the newest. Cost: constant. */
  touch(seat: number): void {
    assert(seat < this.#earlier.length, "a touched seat is in the list");
    this.touches += 1;
    if (seat === this.#newest) return;
    const earlier = this.#earlier[seat]!;
    const later = this.#later[seat]!;
    if (earlier === NONE) this.#oldest = later;
    else this.#later[earlier] = later;
    this.#earlier[later] = earlier;
    this.#append(seat);
  }

  #append(seat: number): void {
    this.#earlier[seat] = this.#newest;
    this.#later[seat] = NONE;
    if (this.#newest === NONE) this.#oldest = seat;
    else this.#later[this.#newest] = seat;
    this.#newest = seat;
  }

  /** Cost: O(seats), one copy of memory. */
  copy(): ChangeLinks {
    return { later: this.#later.slice(), oldest: this.#oldest, touches: this.touches };
  }

  /** Takes on a copied order. Cost: O(seats). */
  restore({ later, oldest, touches }: ChangeLinks): void {
    assert(later.length === this.#later.length, "an order is that of the same seats");
    this.#later.set(later);
    this.#oldest = oldest;
    this.#newest = NONE;
    let count = 0;
    for (let seat = oldest; seat !== NONE && count < later.length; seat = later[seat]!) {
      this.#earlier[seat] = this.#newest;
      this.#newest = seat;
      count += 1;
    }
    assert(count === later.length, "an order has every seat once");
    assert(count === 0 || later[this.#newest] === NONE, "an order ends at its newest seat");
    this.touches = touches;
  }

  /** Every seat, the one that changed longest ago first. Cost: O(seats). */
  *oldestFirst(): Generator<number> {
    for (let seat = this.#oldest; seat !== NONE; seat = this.#later[seat]!) yield seat;
  }
}
