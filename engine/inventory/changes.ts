/**
 * The change list of a partition: every seat once, the most recently changed last. "What changed
 * since" walks back from the end, so it costs what changed, not what exists, and never overflows.
 */
import { assert } from "../assert.ts";
import { NONE } from "../constants.ts";

/** A copy of the list; the other direction follows from it. */
export interface ChangeLinks {
  /** The seat that changed next, by seat index; NONE for the newest. */
  readonly later: Uint32Array;
  readonly oldest: number;
  readonly touches: number;
}

/** The order of seats that nothing has changed yet: ascending by seat index. */
export function untouched(seatCount: number): ChangeLinks {
  const later = Uint32Array.from({ length: seatCount }, (_, seat) => seat + 1);
  if (seatCount > 0) later[seatCount - 1] = NONE;
  return { later, oldest: seatCount > 0 ? 0 : NONE, touches: 0 };
}

export class ChangeList {
  /** Seat index of the neighbour in the list, by seat index; NONE at the ends. */
  readonly #earlier: Uint32Array;
  readonly #later: Uint32Array;
  #oldest: number;
  #newest = NONE;
  /** How often a seat was touched. */
  touches: number;

  /** Goes on from an order, whose array it keeps. Cost: O(seats). */
  constructor({ later, oldest, touches }: ChangeLinks) {
    this.#later = later;
    this.#earlier = new Uint32Array(later.length);
    this.#oldest = oldest;
    this.touches = touches;
    let count = 0;
    for (let seat = oldest; seat !== NONE && count < later.length; seat = later[seat]!) {
      this.#earlier[seat] = this.#newest;
      this.#newest = seat;
      count += 1;
    }
    assert(count === later.length, "an order has every seat once");
    assert(count === 0 || later[this.#newest] === NONE, "an order ends at its newest seat");
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
    this.#earlier[seat] = this.#newest;
    this.#later[seat] = NONE;
    this.#later[this.#newest] = seat;
    this.#newest = seat;
  }

  /** Cost: O(seats), one copy of memory. */
  copy(): ChangeLinks {
    return { later: this.#later.slice(), oldest: this.#oldest, touches: this.touches };
  }

  /** Every seat, the one that changed longest ago first. Cost: O(seats). */
  *oldestFirst(): Generator<number> {
    for (let seat = this.#oldest; seat !== NONE; seat = this.#later[seat]!) yield seat;
  }
}
