/**
 * Holds of one partition: who has which seats and places until when. A hold lives in a slot; slots
 * are reused, last freed first. A hold ends when its last seat and place has left it.
 */
import { assert } from "./assert.ts";
import { ExpiryQueues } from "./expiry.ts";

export interface Hold {
  /** Empty when the lock named no session. */
  readonly session: string;
  readonly holdType: string;
  readonly startedAtMs: number;
  /** 0 for never. */
  readonly expiresAtMs: number;
  /** The seat indexes that it began with; those that left have another hold in `Partition.hold`. */
  readonly seats: Uint32Array;
}

export class Holds {
  readonly #holds: (Hold | undefined)[] = [];
  /** Seats and places still held, by slot. */
  readonly #sizes: number[] = [];
  /** Rises with each hold, by slot: tells which of two holds of one millisecond began first. */
  readonly #ordinals: number[] = [];
  #opened = 0;
  readonly #free: number[] = [];
  readonly #expiry = new ExpiryQueues();

  /** The slot that the next hold takes. */
  get nextSlot(): number {
    return this.#free.at(-1) ?? this.#holds.length;
  }

  get count(): number {
    return this.#holds.length - this.#free.length;
  }

  /** Seats and places that the hold still has. */
  size(slot: number): number {
    return this.#sizes[slot]!;
  }

  get(slot: number): Hold {
    const hold = this.#holds[slot];
    assert(hold !== undefined, "a named hold is alive");
    return hold;
  }

  /** @param size - Seats and places together. */
  open(slot: number, hold: Hold, size: number): void {
    assert(slot === this.nextSlot, "a new hold takes the next slot");
    assert(size > 0, "a hold has something");
    if (this.#free.length > 0) this.#free.pop();
    this.#holds[slot] = hold;
    this.#sizes[slot] = size;
    this.#ordinals[slot] = this.#opened++;
    if (hold.expiresAtMs !== 0) this.#expiry.add(slot, hold.startedAtMs, hold.expiresAtMs);
  }

  /** Takes seats or places out of the hold. @returns Whether that ended it. */
  release(slot: number, size: number): boolean {
    const left = this.#sizes[slot]! - size;
    assert(this.#holds[slot] !== undefined && left >= 0, "a hold gives what it has");
    this.#sizes[slot] = left;
    if (left > 0) return false;
    this.#expiry.remove(slot);
    this.#holds[slot] = undefined;
    this.#free.push(slot);
    return true;
  }

  /** The slot of the hold that ran out first by `timeMs`; NONE when none did. */
  due(timeMs: number): number {
    return this.#expiry.due(timeMs);
  }

  /** Slots of the living holds, in the order in which they began. Cost: O(n log n) in the slots. */
  slots(): number[] {
    const living = [...this.#holds.keys()].filter((slot) => this.#holds[slot] !== undefined);
    return living.sort((a, b) => this.#ordinals[a]! - this.#ordinals[b]!);
  }
}
