/**
 * The inventory of an event as parts of a move: assigned prices, holds, and what is sold or
 * blocked. Seats and areas are named by their indexes, which are the same wherever the same layout
 * is.
 */
import { createHash } from "node:crypto";
import type { EventRow } from "../../engine/catalog.ts";
import { PRICES_PER_EVENT_MAX } from "../../engine/constants.ts";
import type { Partition } from "../../engine/inventory/partition.ts";
import { SeatState } from "../../engine/inventory/states.ts";
import type { State } from "../../engine/state.ts";

const { WITHDRAWN, SOLD, BLOCKED } = SeatState;
/** Holds of one part. */
const HOLDS_PER_PART = 2_000;

/** The members of `PriceRecord`. */
export interface PricesPart {
  readonly kind: "prices";
  readonly eventId: string;
  readonly runs: readonly number[];
  readonly areas: readonly number[];
  /**
   * A slot without a price, for seats that had one and lost it: they get a price of that slot,
   * which is removed at the end. 0 when there are none.
   */
  readonly lostSlot: number;
}

export interface SentHold {
  readonly session: string;
  readonly holdType: string;
  /** Milliseconds since 1970; 0 for never. */
  readonly expiresAtMs: number;
  readonly seats: readonly number[];
  /** Pairs: area, places. */
  readonly areas: readonly number[];
}

export interface HoldsPart {
  readonly kind: "holds";
  readonly eventId: string;
  readonly holds: readonly SentHold[];
}

/** Seats, and pairs of area and places, in one state. */
export interface Taken {
  readonly seats: readonly number[];
  readonly areas: readonly number[];
}

/** The last part of an event. */
export interface TakenPart {
  readonly kind: "taken";
  readonly eventId: string;
  readonly sold: Taken;
  readonly blocked: Taken;
  readonly lostSlot: number;
  /** `digestOf` the inventory. */
  readonly digest: string;
}

export type InventoryPart = PricesPart | HoldsPart | TakenPart;

/** The parts of an event, in their order. Each is made when it is called for. */
export function inventoryParts(state: State, event: EventRow): (() => InventoryPart)[] {
  const partition = () => state.partitionOf(event);
  const eventId = event.id;
  const lostSlot = () => lostSlotOf(partition(), state.catalog.pricesOf(eventId));
  const holdParts = Math.ceil(partition().holds.count / HOLDS_PER_PART);
  return [
    () => pricesPart(eventId, partition(), lostSlot()),
    ...Array.from({ length: holdParts }, (_, i) => () => holdsPart(eventId, partition(), i)),
    () => ({
      kind: "taken",
      eventId,
      sold: takenIn(partition(), SOLD),
      blocked: takenIn(partition(), BLOCKED),
      lostSlot: lostSlot(),
      digest: digestOf(partition()),
    }),
  ];
}

function hasLostPrice({ state, price }: Partition, seat: number): boolean {
  return state[seat] === WITHDRAWN || (state[seat] === SOLD && price[seat] === 0);
}

function lostSlotOf(partition: Partition, prices: ReadonlyMap<number, unknown>): number {
  const { layout, areas } = partition;
  let isNeeded = false;
  for (let seat = 0; seat < layout.seatCount && !isNeeded; seat++) {
    isNeeded = hasLostPrice(partition, seat);
  }
  for (let area = 0; area < areas.count; area++) {
    if (areas.price[area] === 0 && areas.capacity(area) > 0) isNeeded = true;
  }
  if (!isNeeded) return 0;
  for (let slot = 1; slot <= PRICES_PER_EVENT_MAX; slot++) if (!prices.has(slot)) return slot;
  throw new RangeError("an event that moves has a free price slot");
}

/** Cost: O(seats), like all parts but those with holds. */
function pricesPart(eventId: string, partition: Partition, lostSlot: number): PricesPart {
  const { layout, price, areas } = partition;
  const runs: number[] = [];
  let slotBefore = 0;
  for (let seat = 0; seat < layout.seatCount; seat++) {
    const slot = hasLostPrice(partition, seat) ? lostSlot : price[seat]!;
    if (slot !== 0 && slot === slotBefore) runs[runs.length - 1]! += 1;
    else if (slot !== 0) runs.push(slot, seat, 1);
    slotBefore = slot;
  }
  const triples: number[] = [];
  for (let area = 0; area < areas.count; area++) {
    const capacity = areas.capacity(area);
    const slot = areas.price[area]!;
    if (slot !== 0 || capacity > 0) triples.push(area, slot === 0 ? lostSlot : slot, capacity);
  }
  return { kind: "prices", eventId, runs, areas: triples, lostSlot };
}

/** By slot: pairs of area and places. */
function heldPlaces({ areas }: Partition): Map<number, number[]> {
  const held = new Map<number, number[]>();
  for (let area = 0; area < areas.count; area++) {
    for (const [slot, places] of areas.holdsIn(area)) {
      const pairs = held.get(slot);
      if (pairs === undefined) held.set(slot, [area, places]);
      else pairs.push(area, places);
    }
  }
  return held;
}

function holdsPart(eventId: string, partition: Partition, number: number): HoldsPart {
  const first = number * HOLDS_PER_PART;
  const slots = partition.holds.slots().slice(first, first + HOLDS_PER_PART);
  const held = heldPlaces(partition);
  const holds = slots.map((slot) => {
    const { session, holdType, expiresAtMs } = partition.holds.get(slot);
    const seats = [...partition.seatsOf(slot)];
    return { session, holdType, expiresAtMs, seats, areas: held.get(slot) ?? [] };
  });
  return { kind: "holds", eventId, holds };
}

function takenIn({ layout, state, areas }: Partition, wanted: typeof SOLD | typeof BLOCKED): Taken {
  const seats: number[] = [];
  for (let seat = 0; seat < layout.seatCount; seat++) if (state[seat] === wanted) seats.push(seat);
  const pairs: number[] = [];
  for (let area = 0; area < areas.count; area++) {
    const places = areas.places(area, wanted);
    if (places > 0) pairs.push(area, places);
  }
  return { seats, areas: pairs };
}

/**
 * A hash of the states, prices and holds of an inventory, without times and numbers of holds.
 * Cost: O(seats + n log n) in the holds.
 */
export function digestOf(partition: Partition): string {
  const { state, price, areas, holds } = partition;
  const held = heldPlaces(partition);
  const texts = holds.slots().map((slot) => {
    const { session, holdType } = holds.get(slot);
    return JSON.stringify([session, holdType, [...partition.seatsOf(slot)], held.get(slot)]);
  });
  const counters = areas.copy();
  const hash = createHash("sha256").update(state).update(bytesOf(price));
  hash.update(bytesOf(counters.counts)).update(bytesOf(counters.price));
  return hash.update(texts.sort().join("\n")).digest("hex");
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
