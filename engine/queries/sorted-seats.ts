/**
 * Seats in an order that depends on their state, repaired as they change: blocks of a few hundred
 * seats, like a B+ tree of two levels. Finding a page costs one step per block, and moving a seat
 * one shift within a block; no operation but the first sort visits every seat.
 */
import { assert } from "../assert.ts";

const BLOCK_SEATS_MAX = 512;

export type Compare = (a: number, b: number) => number;

export class SortedSeats {
  /** Seat indexes, in order within and across the blocks. A block is empty only if it is alone. */
  #blocks: number[][] = [[]];
  /** Numbers take half the memory of pointers, and the garbage collector need not visit them. */
  readonly #blockOfNumber = new Map<number, number[]>();
  /** Index: seat. Value: the number of its block; 0 for a seat that is not in the listing. */
  readonly #numberOf: Uint32Array;
  #lastNumber = 0;
  #count = 0;

  /**
   * @param sorted - The seats to list, in order, of `seatCount` seats in all.
   * Cost: O(n).
   */
  constructor(sorted: Uint32Array, seatCount: number) {
    this.#numberOf = new Uint32Array(seatCount);
    this.#fill(sorted);
  }

  get count(): number {
    return this.#count;
  }

  has(seat: number): boolean {
    return this.#numberOf[seat] !== 0;
  }

  #fill(sorted: Uint32Array): void {
    this.#count = sorted.length;
    const half = BLOCK_SEATS_MAX / 2;
    this.#blocks = [];
    for (let start = 0; start < sorted.length; start += half) {
      this.#addBlock(this.#blocks.length, Array.from(sorted.subarray(start, start + half)));
    }
    if (this.#blocks.length === 0) this.#blocks.push([]);
  }

  #addBlock(position: number, block: number[]): void {
    this.#blocks.splice(position, 0, block);
    const number = this.#newNumber(block);
    for (const seat of block) this.#numberOf[seat] = number;
  }

  #newNumber(block: number[]): number {
    this.#lastNumber += 1;
    this.#blockOfNumber.set(this.#lastNumber, block);
    return this.#lastNumber;
  }

  /** Removes the seat, if it is listed. To be called before any seat with changed keys is added. */
  remove(seat: number): void {
    const number = this.#numberOf[seat]!;
    if (number === 0) return;
    const block = this.#blockOfNumber.get(number)!;
    this.#numberOf[seat] = 0;
    const place = block.indexOf(seat);
    assert(place !== -1, "a listed seat is in its block");
    block.splice(place, 1);
    this.#count -= 1;
    if (block.length > 0) return;
    this.#blockOfNumber.delete(number);
    if (this.#blocks.length > 1) this.#blocks.splice(this.#blocks.indexOf(block), 1);
  }

  /**
   * Inserts the seat at its place.
   * @param compare - The order of the list, total: never zero for two different seats. It is not
   * kept, because it refers to the inventory of the event.
   */
  add(seat: number, compare: Compare): void {
    assert(this.#numberOf[seat] === 0, "a seat is listed once");
    const position = this.#blockFor(seat, compare);
    const block = this.#blocks[position]!;
    const place = firstAfter(block, seat, compare);
    const next = block[place];
    assert(next === undefined || compare(seat, next) < 0, "a listing stays in order");
    const [first] = block;
    this.#numberOf[seat] = first === undefined ? this.#newNumber(block) : this.#numberOf[first]!;
    block.splice(place, 0, seat);
    this.#count += 1;
    if (block.length <= BLOCK_SEATS_MAX) return;
    this.#addBlock(position + 1, block.splice(BLOCK_SEATS_MAX / 2));
  }

  /** @returns The position of the last block that begins at or before the seat; else 0. */
  #blockFor(seat: number, compare: Compare): number {
    let [low, high] = [0, this.#blocks.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      const first = this.#blocks[middle]![0]!;
      if (compare(first, seat) <= 0) low = middle;
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

/** @returns The position of the first seat that comes after `seat`. */
function firstAfter(block: readonly number[], seat: number, compare: Compare): number {
  let [low, high] = [0, block.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(block[middle]!, seat) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
