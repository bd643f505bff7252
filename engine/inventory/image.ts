/**
 * A partition as plain buffers, for a snapshot that somebody else stores, and back. An image keeps
 * what the digest does not show as well: slots and their free list, ordinals, the order of changes.
 *
 * Two steps, so that the one that has to see the partition stand still is short: `copyPartition`
 * copies arrays; `ImagePacker` flattens the holds, which never change, at any later time.
 */
import { assert } from "../assert.ts";
import type { Layout } from "../layout/layout.ts";
import type { AreaCounters } from "./areas.ts";
import type { ChangeLinks } from "./changes.ts";
import type { Hold, HoldSlots } from "./holds.ts";
import { Partition, type SeatColumns } from "./partition.ts";

/** A partition at one moment. Shares its holds, which never change, with the living one. */
export interface PartitionCopy {
  readonly seats: SeatColumns;
  readonly changes: ChangeLinks;
  readonly areas: AreaCounters;
  readonly holds: HoldSlots;
}

/** The living holds, in ascending order of slot. */
export interface HoldColumns {
  readonly slots: Uint32Array;
  /** Seats and places still held. */
  readonly sizes: Uint32Array;
  readonly ordinals: Float64Array;
  readonly startedAtMs: Float64Array;
  readonly expiresAtMs: Float64Array;
  /** How many of `seats` are a hold's, one hold after the other. */
  readonly seatCounts: Uint32Array;
  readonly seats: Uint32Array;
  /** Units of `texts` that are a hold's session and its hold type: pairs. */
  readonly textUnits: Uint32Array;
  /** Sessions and hold types, joined. */
  readonly texts: string;
  /** The slots to be used again, the next one last. */
  readonly free: Uint32Array;
  readonly opened: number;
}

/** Typed arrays, numbers and one text. */
export interface PartitionImage {
  readonly seats: SeatColumns;
  readonly changes: ChangeLinks;
  readonly areas: AreaCounters;
  readonly holds: HoldColumns;
}

/** Cost: 19 bytes a seat and 8 to 24 a hold, copied: under a millisecond for 50,000 seats. */
export function copyPartition(partition: Partition): PartitionCopy {
  const { state, price, hold, changedAtMs, changes, areas, holds } = partition;
  return {
    seats: {
      state: state.slice(),
      price: price.slice(),
      hold: hold.slice(),
      changedAtMs: changedAtMs.slice(),
    },
    changes: changes.copy(),
    areas: areas.copy(),
    holds: holds.copy(),
  };
}

/** The image of a copy, at once. */
export function packImage(copy: PartitionCopy): PartitionImage {
  const image = new ImagePacker(copy).step(Infinity);
  assert(image !== null, "a step without bounds is the last one");
  return image;
}

/**
 * Goes on in the arrays of the image, which must not be used otherwise.
 * @throws Broken when the image is not one of a partition on that layout. Cost: O(seats).
 */
export function restorePartition(image: PartitionImage, layout: Layout): Partition {
  const { seats, changes, areas, holds } = image;
  assert(seats.state.length === layout.seatCount, "an image has the seats of its layout");
  assert(areas.price.length === layout.areas.length, "an image has the areas of its layout");
  const partition = new Partition(layout, 0, seats, changes);
  partition.holds.restore(unpackHolds(holds));
  partition.areas.restore(areas, partition.holds);
  return partition;
}

/**
 * Flattens the holds of a copy, some at a time, so that nobody waits long for it.
 * Cost: O(holds and the seats that they began with).
 */
export class ImagePacker {
  readonly #copy: PartitionCopy;
  readonly #columns: Omit<HoldColumns, "texts">;
  #texts = "";
  #slot = 0;
  #count = 0;
  #seatsAt = 0;

  constructor(copy: PartitionCopy) {
    const { holds, free, opened } = copy.holds;
    const count = holds.length - free.length;
    this.#copy = copy;
    this.#columns = {
      slots: new Uint32Array(count),
      sizes: new Uint32Array(count),
      ordinals: new Float64Array(count),
      startedAtMs: new Float64Array(count),
      expiresAtMs: new Float64Array(count),
      seatCounts: new Uint32Array(count),
      seats: new Uint32Array(seatsIn(copy.holds)),
      textUnits: new Uint32Array(2 * count),
      free: Uint32Array.from(free),
      opened,
    };
  }

  /** Goes through up to so many slots. @returns The image once it is complete; null before. */
  step(slotsMax: number): PartitionImage | null {
    const { holds } = this.#copy.holds;
    const end = Math.min(holds.length, this.#slot + slotsMax);
    for (; this.#slot < end; this.#slot++) {
      const hold = holds[this.#slot];
      if (hold !== undefined) this.#add(this.#slot, hold);
    }
    if (end < holds.length) return null;
    assert(this.#count === this.#columns.slots.length, "a slot is free or has a hold");
    const { seats, changes, areas } = this.#copy;
    return { seats, changes, areas, holds: { ...this.#columns, texts: this.#texts } };
  }

  #add(slot: number, hold: Hold): void {
    const { session, holdType, seats } = hold;
    const columns = this.#columns;
    const i = this.#count++;
    columns.slots[i] = slot;
    columns.sizes[i] = this.#copy.holds.sizes[slot]!;
    columns.ordinals[i] = this.#copy.holds.ordinals[slot]!;
    columns.startedAtMs[i] = hold.startedAtMs;
    columns.expiresAtMs[i] = hold.expiresAtMs;
    columns.seatCounts[i] = seats.length;
    for (let k = 0; k < seats.length; k++) columns.seats[this.#seatsAt++] = seats[k]!;
    columns.textUnits[2 * i] = session.length;
    columns.textUnits[2 * i + 1] = holdType.length;
    this.#texts += session + holdType;
  }
}

function seatsIn({ holds }: HoldSlots): number {
  let count = 0;
  for (const hold of holds) count += hold === undefined ? 0 : hold.seats.length;
  return count;
}

function unpackHolds(columns: HoldColumns): HoldSlots {
  const { slots, seats, texts, textUnits, free, opened } = columns;
  const holds: (Hold | undefined)[] = [];
  const sizes: number[] = [];
  const ordinals: number[] = [];
  let seatsAt = 0;
  let textAt = 0;
  const take = (units: number) => texts.slice(textAt, (textAt += units));
  const pushFreeUpTo = (slot: number) => {
    assert(slot >= holds.length, "slots are in ascending order");
    while (holds.length < slot) {
      holds.push(undefined);
      sizes.push(0);
      ordinals.push(0);
    }
  };
  for (let i = 0; i < slots.length; i++) {
    pushFreeUpTo(slots[i]!);
    holds.push({
      session: take(textUnits[2 * i]!),
      holdType: take(textUnits[2 * i + 1]!),
      startedAtMs: columns.startedAtMs[i]!,
      expiresAtMs: columns.expiresAtMs[i]!,
      seats: seats.subarray(seatsAt, (seatsAt += columns.seatCounts[i]!)),
    });
    sizes.push(columns.sizes[i]!);
    ordinals.push(columns.ordinals[i]!);
  }
  pushFreeUpTo(slots.length + free.length);
  assert(seatsAt === seats.length, "every seat of the holds is one hold's");
  assert(textAt === texts.length, "every text of the holds is one hold's");
  return { holds, sizes, ordinals, opened, free: Array.from(free) };
}
