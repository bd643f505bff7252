/**
 * Holds of one partition: who has which seats and places until when. A hold lives in a slot; slots
 * are reused, last freed first. A hold ends when its last seat and place has left it.
 */
import { assert } from "../assert.ts";
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

/** A copy of the slots. A `Hold` never changes, so those are shared. */
export interface HoldSlots {
  /** By slot; undefined where it is free. */
  readonly holds: readonly (Hold | undefined)[];
  readonly sizes: readonly number[];
  readonly ordinals: readonly number[];
  readonly opened: number;
  /** The slots to be used again, the next one last. */
  readonly free: readonly number[];
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

  /** Cost: O(slots), pointers only. */
  copy(): HoldSlots {
    return {
      holds: this.#holds.slice(),
      sizes: this.#sizes.slice(),
      ordinals: this.#ordinals.slice(),
      opened: this.#opened,
      free: this.#free.slice(),
    };
  }

  /** Takes on copied slots; to be called on holds that nothing was done to. */
  restore({ holds, sizes, ordinals, opened, free }: HoldSlots): void {
    assert(this.#holds.length === 0, "slots are restored into an empty table");
    assert(holds.length === sizes.length, "every slot has its size");
    for (const [slot, hold] of holds.entries()) {
      this.#holds.push(hold);
      this.#sizes.push(sizes[slot]!);
      this.#ordinals.push(ordinals[slot]!);
    }
    for (const slot of free) this.#free.push(slot);
    this.#opened = opened;
    // In the order in which they began, so that the queues of their ends are sorted.
    const living = this.slots();
    for (const slot of living) {
      const { startedAtMs, expiresAtMs } = this.get(slot);
      assert(this.#sizes[slot]! > 0, "a living hold has something");
      if (expiresAtMs !== 0) this.#expiry.add(slot, startedAtMs, expiresAtMs);
    }
    assert(
      free.every((slot) => holds[slot] === undefined),
      "a free slot has no hold",
    );
    assert(living.length === this.count, "a slot is free or has a hold");
  }
}
