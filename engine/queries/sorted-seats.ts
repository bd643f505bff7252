/**
 * Seats kept in an order that depends on their state, repaired as they change: blocks of a few
 * hundred seats, as in a B+ tree of two levels. Finding a page costs one step per block, moving a
 * seat one shift within a block; nothing costs as much as the event is large.
 */
import { assert } from "../assert.ts";

const BLOCK_SEATS_MAX = 512;

export type Compare = (a: number, b: number) => number;

export class SortedSeats {
  readonly #compare: Compare;
  /** Seat indexes, in order within and across the blocks; none is empty but the first. */
  #blocks: number[][] = [[]];
  /** The block that has the seat, by seat index; a seat that is not here has none. */
  readonly #blockOf: (number[] | undefined)[];
  #count = 0;

  /**
   * @param compare - A total order: never zero for two seats.
   * Cost: O(n log n).
   */
  constructor(seats: readonly number[], seatCount: number, compare: Compare) {
    this.#compare = compare;
    this.#blockOf = Array.from({ length: seatCount }, () => undefined);
    this.#fill([...seats].sort(compare));
  }

  get count(): number {
    return this.#count;
  }

  has(seat: number): boolean {
    return this.#blockOf[seat] !== undefined;
  }

  #fill(sorted: readonly number[]): void {
    this.#count = sorted.length;
    const half = BLOCK_SEATS_MAX / 2;
    this.#blocks = [];
    for (let start = 0; start < sorted.length; start += half) {
      this.#addBlock(this.#blocks.length, sorted.slice(start, start + half));
    }
    if (this.#blocks.length === 0) this.#blocks.push([]);
  }

  #addBlock(position: number, block: number[]): void {
    this.#blocks.splice(position, 0, block);
    for (const seat of block) this.#blockOf[seat] = block;
  }

  /** Takes the seat out, wherever it is; to be done before its keys are compared again. */
  remove(seat: number): void {
    const block = this.#blockOf[seat];
    if (block === undefined) return;
    this.#blockOf[seat] = undefined;
    block.splice(block.indexOf(seat), 1);
    this.#count -= 1;
    if (block.length === 0 && this.#blocks.length > 1) {
      this.#blocks.splice(this.#blocks.indexOf(block), 1);
    }
  }

  /** Puts the seat in at its place. */
  add(seat: number): void {
    assert(this.#blockOf[seat] === undefined, "a seat is in a listing once");
    const position = this.#blockFor(seat);
    const block = this.#blocks[position]!;
    block.splice(firstAfter(block, seat, this.#compare), 0, seat);
    this.#blockOf[seat] = block;
    this.#count += 1;
    if (block.length <= BLOCK_SEATS_MAX) return;
    this.#addBlock(position + 1, block.splice(BLOCK_SEATS_MAX / 2));
  }

  /** The last block that begins at or before the seat. */
  #blockFor(seat: number): number {
    let [low, high] = [0, this.#blocks.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      const first = this.#blocks[middle]![0]!;
      if (this.#compare(first, seat) <= 0) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Cost: O(blocks + limit). */
  slice(offset: number, limit: number): number[] {
    const seats: number[] = [];
    let skipped = 0;
    for (const block of this.#blocks) {
      if (seats.length === limit) break;
      if (skipped + block.length > offset) {
        const start = Math.max(0, offset - skipped);
        seats.push(...block.slice(start, start + limit - seats.length));
      }
      skipped += block.length;
    }
    return seats;
  }
}

function firstAfter(block: readonly number[], seat: number, compare: Compare): number {
  let [low, high] = [0, block.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(block[middle]!, seat) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
