/**
 * Converts a partition to plain buffers for a snapshot, and back. An image also has facts outside
 * the digest: slots and their free list, fences, the order of changes.
 *
 * The work is split, because the partition must not change while it is copied: `copyPartition`
 * copies only arrays; later `packInSteps` flattens the holds, which never change.
 */
import { assert } from "../assert.ts";
import { emptyChannels } from "./channels.ts";
import type { Door, DoorCopy } from "./door.ts";
import type { Layout } from "../layout/layout.ts";
import {
  type AreaCounters,
  type ChangeLinks,
  emptyParts,
  Partition,
  type SeatColumns,
} from "./partition.ts";
import type { Hold, HoldSlots } from "./holds.ts";
import { drain } from "./steps.ts";

/** Holds flattened in a step: well under a millisecond. */
const SLOTS_PER_STEP = 2_000;

/** A partition at one moment. Its immutable holds are shared with the original. */
export interface PartitionCopy {
  readonly seats: SeatColumns;
  readonly changes: ChangeLinks;
  readonly areas: AreaCounters;
  readonly holds: HoldSlots;
  /** Of the event; absent without one. */
  readonly door?: DoorCopy;
}

/** The holds in ascending order of slot. Index: position in that order, unless said otherwise. */
interface HoldColumns {
  readonly slots: Uint32Array;
  /** Seats and places still held. */
  readonly sizes: Uint32Array;
  readonly fences: Float64Array;
  readonly startedAtMs: Float64Array;
  readonly expiresAtMs: Float64Array;
  /** Entries of `seats` for the hold. */
  readonly seatCounts: Uint32Array;
  /** The seat indexes of all holds, one hold after the other. */
  readonly seats: Uint32Array;
  /** Pairs: lengths of a hold's session and of its hold type in `texts`, in UTF-16 code units. */
  readonly textUnits: Uint32Array;
  /** Session and hold type of all holds, one hold after the other. */
  readonly texts: string;
  /** The free slots; the last one is used next. */
  readonly free: Uint32Array;
  /** More than every fence so far. */
  readonly fenceBound: number;
}

/** Typed arrays, numbers and one text. */
export interface PartitionImage extends Omit<PartitionCopy, "holds"> {
  readonly holds: HoldColumns;
}

/**
 * @param door - Of the event.
 * Cost: copies 21 bytes per seat, 8 to 24 per hold: under a millisecond for 50,000 seats; 41 per
 * visitor of the door.
 */
export function copyPartition(partition: Partition, door?: Door): PartitionCopy {
  const { state, price, holdOrFence, fenceHigh, changedAtMs, channels } = partition;
  const { changes, areas, holds } = partition;
  return {
    seats: {
      state: state.slice(),
      price: price.slice(),
      holdOrFence: holdOrFence.slice(),
      fenceHigh: fenceHigh.slice(),
      changedAtMs: changedAtMs.slice(),
      channels: channels === null ? null : channels.slice(),
    },
    changes: changes.copy(),
    areas: areas.copy(),
    holds: holds.copy(),
    ...(door === undefined ? {} : { door: door.copy(partition) }),
  };
}

/** The image of a copy, at once. */
export function packImage(copy: PartitionCopy): PartitionImage {
  return drain(packInSteps(copy));
}

/**
 * The restored partition owns the arrays of the image, so they must not be used elsewhere.
 * @throws Broken when the image does not match the layout. Cost: O(seats).
 */
export function restorePartition(image: PartitionImage, layout: Layout): Partition {
  const { seats, changes, areas, holds } = image;
  assert(seats.state.length === layout.seatCount, "an image has the seats of its layout");
  assert(areas.price.length === layout.areas.length, "an image has the areas of its layout");
  const { channels } = seats;
  const hasAll = channels === null || channels.length === emptyChannels(layout.seatCount).length;
  assert(hasAll, "an image has the channels of its layout");
  const partition = new Partition(layout, 0, seats, emptyParts(layout, 0, changes));
  partition.holds.restore(unpackHolds(holds));
  partition.areas.restore(areas, partition.holds);
  return partition;
}

/**
 * Flattens the holds of a copy in small steps, so other work is not delayed for long.
 * Cost: O(holds and their first seats).
 */
export function* packInSteps(copy: PartitionCopy): Generator<void, PartitionImage> {
  const { holds, sizes, free, fenceBound } = copy.holds;
  const count = holds.length - free.length;
  const columns = {
    slots: new Uint32Array(count),
    sizes: new Uint32Array(count),
    fences: new Float64Array(count),
    startedAtMs: new Float64Array(count),
    expiresAtMs: new Float64Array(count),
    seatCounts: new Uint32Array(count),
    seats: new Uint32Array(holds.reduce((sum, hold) => sum + (hold?.seats.length ?? 0), 0)),
    textUnits: new Uint32Array(2 * count),
    free: Uint32Array.from(free),
    fenceBound,
  };
  let texts = "";
  let [i, seatCount] = [0, 0];
  for (const [slot, hold] of holds.entries()) {
    if (slot % SLOTS_PER_STEP === SLOTS_PER_STEP - 1) yield;
    if (hold === undefined) continue;
    const { session, holdType, seats } = hold;
    columns.slots[i] = slot;
    columns.sizes[i] = sizes[slot]!;
    columns.fences[i] = hold.fence;
    columns.startedAtMs[i] = hold.startedAtMs;
    columns.expiresAtMs[i] = hold.expiresAtMs;
    columns.seatCounts[i] = seats.length;
    for (let k = 0; k < seats.length; k++) columns.seats[seatCount++] = seats[k]!;
    columns.textUnits[2 * i] = session.length;
    columns.textUnits[2 * i + 1] = holdType.length;
    texts += session + holdType;
    i += 1;
  }
  assert(i === count, "a slot is free or has a hold");
  return { ...copy, holds: { ...columns, texts } };
}

function unpackHolds(columns: HoldColumns): HoldSlots {
  const { slots, sizes, seats, texts, textUnits, free, fenceBound } = columns;
  const slotCount = slots.length + free.length;
  const unpacked = {
    holds: Array.from({ length: slotCount }, (): Hold | undefined => undefined),
    sizes: Array.from({ length: slotCount }, () => 0),
  };
  let seatsAt = 0;
  let textAt = 0;
  const takeText = (units: number) => texts.slice(textAt, (textAt += units));
  for (const [i, slot] of slots.entries()) {
    assert(slot < slotCount, "every slot is free or has a hold");
    assert(i === 0 || slot > slots[i - 1]!, "slots are in ascending order");
    unpacked.holds[slot] = {
      fence: columns.fences[i]!,
      session: takeText(textUnits[2 * i]!),
      holdType: takeText(textUnits[2 * i + 1]!),
      startedAtMs: columns.startedAtMs[i]!,
      expiresAtMs: columns.expiresAtMs[i]!,
      seats: seats.subarray(seatsAt, (seatsAt += columns.seatCounts[i]!)),
    };
    unpacked.sizes[slot] = sizes[i]!;
  }
  assert(seatsAt === seats.length, "every seat of an image belongs to a hold");
  assert(textAt === texts.length, "every text of an image belongs to a hold");
  return { ...unpacked, fenceBound, free: Array.from(free) };
}
