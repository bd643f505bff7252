/**
 * The general-admission areas of one partition: four counters per area, and the places that each
 * hold has in it. The capacity of an area is the sum of its counters.
 */
import { assert } from "../assert.ts";
import { AREA_CAPACITY_MAX } from "../constants.ts";
import type { Holds } from "./holds.ts";
import { BOOKING_STATES, type BookingState, SeatState } from "./states.ts";

const STATES = BOOKING_STATES.length;
/** Entries per hold and area in `AreaCounters.held`. */
const HELD_ENTRIES = 3;

/** A copy of the counters and of the held places. */
export interface AreaCounters {
  /** Places: four counters per area, ACTIVE, LOCKED, SOLD, BLOCKED. */
  readonly counts: Int32Array;
  readonly price: Uint16Array;
  readonly changedAtMs: Float64Array;
  /** Triples: area index, hold slot, places. In order of area, then from the oldest hold on. */
  readonly held: Uint32Array;
}

export class Areas {
  /** As in `AreaCounters`. */
  readonly #counts: Int32Array;
  /** Index: area. Value: the price slot; 0 for none. */
  readonly price: Uint16Array;
  /** Index: area. Value: milliseconds since 1970 of the last change. */
  readonly changedAtMs: Float64Array;
  /** Index: area. Value: places by hold slot, from the oldest hold on. */
  readonly #held: readonly Map<number, number>[];
  /** By session: the slots of its holds that have or had places in an area. */
  readonly #slotsOfSession = new Map<string, Set<number>>();

  constructor(areaCount: number, createdAtMs: number) {
    this.#counts = new Int32Array(areaCount * STATES);
    this.price = new Uint16Array(areaCount);
    this.changedAtMs = new Float64Array(areaCount).fill(createdAtMs);
    this.#held = Array.from({ length: areaCount }, () => new Map<number, number>());
  }

  get count(): number {
    return this.#held.length;
  }

  places(area: number, state: BookingState): number {
    return this.#counts[area * STATES + state - SeatState.ACTIVE]!;
  }

  capacity(area: number): number {
    const counts = this.#counts;
    const first = area * STATES;
    return counts[first]! + counts[first + 1]! + counts[first + 2]! + counts[first + 3]!;
  }

  /** @param places - Negative to remove places. */
  add(area: number, state: BookingState, places: number): void {
    assert(area < this.count, "an area is in the layout");
    const after = this.places(area, state) + places;
    assert(after >= 0, "a counter is never negative");
    assert(after <= AREA_CAPACITY_MAX, "a counter never overflows");
    this.#counts[area * STATES + state - SeatState.ACTIVE] = after;
  }

  move(area: number, from: BookingState, to: BookingState, places: number): void {
    const capacity = this.capacity(area);
    this.add(area, from, -places);
    this.add(area, to, places);
    assert(this.capacity(area) === capacity, "a move keeps the capacity of an area");
  }

  /** Places that the hold has in the area. */
  held(area: number, slot: number): number {
    return this.#held[area]!.get(slot) ?? 0;
  }

  /** Places in the area by hold slot, from the oldest hold on. */
  holdsIn(area: number): ReadonlyMap<number, number> {
    return this.#held[area]!;
  }

  /** Slots of the session's holds that have or had places in an area, from the oldest hold on. */
  slotsOf(session: string): Iterable<number> {
    return this.#slotsOfSession.get(session) ?? [];
  }

  /** Gives LOCKED places to a hold. */
  addHeld(area: number, slot: number, session: string, places: number): void {
    assert(places > 0, "a hold takes at least one place");
    assert(places <= this.places(area, SeatState.LOCKED), "held places are LOCKED");
    assert(!this.#held[area]!.has(slot), "a hold takes its places in an area once");
    this.#held[area]!.set(slot, places);
    this.#indexSession(slot, session);
  }

  removeHeld(area: number, slot: number, places: number): void {
    const left = this.held(area, slot) - places;
    assert(left >= 0, "a hold gives up no more places than it has");
    if (left === 0) this.#held[area]!.delete(slot);
    else this.#held[area]!.set(slot, left);
  }

  /** To be called when a hold has ended. */
  forgetHold(slot: number, session: string): void {
    const slots = this.#slotsOfSession.get(session);
    if (slots === undefined || !slots.delete(slot)) return;
    if (slots.size === 0) this.#slotsOfSession.delete(session);
  }

  /** Cost: O(areas + holds with places in them). */
  copy(): AreaCounters {
    const heldCount = this.#held.reduce((sum, places) => sum + places.size, 0);
    const held = new Uint32Array(HELD_ENTRIES * heldCount);
    let at = 0;
    for (const [area, places] of this.#held.entries()) {
      for (const [slot, count] of places) {
        held[at++] = area;
        held[at++] = slot;
        held[at++] = count;
      }
    }
    return {
      counts: this.#counts.slice(),
      price: this.price.slice(),
      changedAtMs: this.changedAtMs.slice(),
      held,
    };
  }

  /**
   * Restores copied counters into areas that are still empty.
   * @param holds - Those of the partition, already restored.
   */
  restore({ counts, price, changedAtMs, held }: AreaCounters, holds: Holds): void {
    assert(counts.length === this.#counts.length, "every area has its counters");
    assert(price.length === this.count, "every area has its price");
    assert(changedAtMs.length === this.count, "every area has its time of change");
    assert(held.length % HELD_ENTRIES === 0, "held places are triples");
    this.#counts.set(counts);
    this.price.set(price);
    this.changedAtMs.set(changedAtMs);
    const holders = new Set<number>();
    for (let i = 0; i < held.length; i += HELD_ENTRIES) {
      assert(held[i]! < this.count, "held places are in an area");
      assert(held[i + 2]! > 0, "a hold has at least one place where it is listed");
      this.#held[held[i]!]!.set(held[i + 1]!, held[i + 2]!);
      holders.add(held[i + 1]!);
    }
    for (const slot of holds.slots()) {
      if (holders.delete(slot)) this.#indexSession(slot, holds.get(slot).session);
    }
    assert(holders.size === 0, "held places belong to existing holds");
  }

  #indexSession(slot: number, session: string): void {
    const slots = this.#slotsOfSession.get(session);
    if (slots === undefined) this.#slotsOfSession.set(session, new Set([slot]));
    else slots.add(slot);
  }
}
