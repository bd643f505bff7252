/**
 * The change list of a partition: a linked list of every seat, the most recently changed last.
 * "What changed since" walks back from the end, so it costs what changed, not what exists, and the
 * list never overflows.
 */
import { assert } from "../assert.ts";
import { NONE } from "../constants.ts";

/** A copy of the list. The backward links follow from the forward ones. */
export interface ChangeLinks {
  /** Index: seat. Value: the seat that changed next; NONE for the newest. */
  readonly later: Uint32Array;
  readonly oldest: number;
  readonly touches: number;
}

/** The list before the first change: seats in ascending order of index. */
export function initialLinks(seatCount: number): ChangeLinks {
  const later = new Uint32Array(seatCount);
  for (let seat = 0; seat < seatCount; seat++) later[seat] = seat + 1;
  if (seatCount > 0) later[seatCount - 1] = NONE;
  return { later, oldest: seatCount > 0 ? 0 : NONE, touches: 0 };
}

export class ChangeList {
  /** Index: seat. Value: the seat that changed just before; NONE for the oldest. */
  readonly #earlier: Uint32Array;
  /** Index: seat. Value: the seat that changed just after; NONE for the newest. */
  readonly #later: Uint32Array;
  #oldest: number;
  #newest = NONE;
  /** How many touches there have been. */
  touches: number;

  /** Continues from copied links and keeps their array. Cost: O(seats). */
  constructor({ later, oldest, touches }: ChangeLinks) {
    this.#later = later;
    this.#earlier = new Uint32Array(later.length);
    this.#oldest = oldest;
    this.touches = touches;
    let count = 0;
    for (let seat = oldest; seat !== NONE && count < later.length; seat = later[seat]!) {
      assert(seat < later.length, "the links of a change list lead to seats");
      this.#earlier[seat] = this.#newest;
      this.#newest = seat;
      count += 1;
    }
    assert(count === later.length, "a change list has every seat once");
    assert(count === 0 || later[this.#newest] === NONE, "a change list ends at its newest seat");
  }

  /** The seat that changed last; NONE when there are no seats. */
  get newest(): number {
    return this.#newest;
  }

  /** The seat that changed least recently; NONE when there are no seats. */
  get oldest(): number {
    return this.#oldest;
  }

  /** The seat that changed just after `seat`; NONE when `seat` is the newest. */
  laterThan(seat: number): number {
    return this.#later[seat]!;
  }

  /** The seat that changed just before `seat`; NONE when `seat` is the oldest. */
  earlierThan(seat: number): number {
    return this.#earlier[seat]!;
  }

  /** Makes `seat` the newest. Cost: constant. */
  touch(seat: number): void {
    assert(seat < this.#earlier.length, "a touched seat is in the change list");
    this.touches += 1;
    if (seat === this.#newest) return;
    const earlier = this.#earlier[seat]!;
    const later = this.#later[seat]!;
    assert(this.#earlier[later] === seat, "the links of neighbours agree");
    if (earlier === NONE) this.#oldest = later;
    else this.#later[earlier] = later;
    this.#earlier[later] = earlier;
    this.#earlier[seat] = this.#newest;
    this.#later[seat] = NONE;
    assert(this.#later[this.#newest] === NONE, "the newest seat ends the change list");
    this.#later[this.#newest] = seat;
    this.#newest = seat;
  }

  /** Cost: O(seats), one copy of memory. */
  copy(): ChangeLinks {
    return { later: this.#later.slice(), oldest: this.#oldest, touches: this.touches };
  }

  /** Every seat, from the least recently changed on. Cost: O(seats). */
  *oldestFirst(): Generator<number> {
    for (let seat = this.#oldest; seat !== NONE; seat = this.#later[seat]!) yield seat;
  }
}
