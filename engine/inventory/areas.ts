/**
 * General-admission areas of one partition: four counters an area, and whose held places are whose.
 * Capacity is the sum of the counters.
 */
import { assert } from "../assert.ts";
import type { Holds } from "./holds.ts";
import { SeatState } from "./states.ts";

type Counted = Exclude<SeatState, typeof SeatState.UNPRICED | typeof SeatState.WITHDRAWN>;

const STATES = 4;

/** A copy of the counters and of whose places are whose. */
export interface AreaCounters {
  /** Four counters an area: ACTIVE, LOCKED, SOLD, BLOCKED. */
  readonly counts: Int32Array;
  readonly price: Uint16Array;
  readonly changedAtMs: Float64Array;
  /** Triples: area index, hold slot, places; by area, the oldest hold first. */
  readonly held: Uint32Array;
}

export class Areas {
  /** Places: four counters an area, ACTIVE, LOCKED, SOLD, BLOCKED. */
  readonly #counts: Int32Array;
  /** Price slot by area; 0 for none. */
  readonly price: Uint16Array;
  /** Milliseconds since 1970 of the last change, by area. */
  readonly changedAtMs: Float64Array;
  /** By area: places by hold slot, the oldest hold first. */
  readonly #held: readonly Map<number, number>[];
  /** By session: the slots of its holds that have places in an area. */
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

  places(area: number, state: Counted): number {
    return this.#counts[area * STATES + state - SeatState.ACTIVE]!;
  }

  capacity(area: number): number {
    const { ACTIVE, LOCKED, SOLD, BLOCKED } = SeatState;
    return [ACTIVE, LOCKED, SOLD, BLOCKED].reduce((sum, s) => sum + this.places(area, s), 0);
  }

  add(area: number, state: Counted, places: number): void {
    const index = area * STATES + state - SeatState.ACTIVE;
    const after = this.#counts[index]! + places;
    assert(after >= 0, "a counter is never negative");
    this.#counts[index] = after;
  }

  /** Places that the hold has in the area. */
  held(area: number, slot: number): number {
    return this.#held[area]!.get(slot) ?? 0;
  }

  /** Hold slots with places in the area, the oldest first, and how many. */
  holdsIn(area: number): ReadonlyMap<number, number> {
    return this.#held[area]!;
  }

  /** Slots of the session's holds that have places in any area, the oldest first. */
  slotsOf(session: string): Iterable<number> {
    return this.#slotsOfSession.get(session) ?? [];
  }

  hold(area: number, slot: number, session: string, places: number): void {
    assert(!this.#held[area]!.has(slot), "a hold takes its places in an area once");
    this.#held[area]!.set(slot, places);
    this.#find(slot, session);
  }

  unhold(area: number, slot: number, places: number): void {
    const left = this.held(area, slot) - places;
    assert(left >= 0, "a hold gives no more places than it has");
    if (left === 0) this.#held[area]!.delete(slot);
    else this.#held[area]!.set(slot, left);
  }

  /** To be called when a hold has ended. */
  forget(slot: number, session: string): void {
    const slots = this.#slotsOfSession.get(session);
    if (slots === undefined || !slots.delete(slot)) return;
    if (slots.size === 0) this.#slotsOfSession.delete(session);
  }

  /** Cost: O(areas + holds with places in them). */
  copy(): AreaCounters {
    const holdCount = this.#held.reduce((sum, places) => sum + places.size, 0);
    const held = new Uint32Array(3 * holdCount);
    let at = 0;
    for (let area = 0; area < this.count; area++) {
      for (const [slot, places] of this.#held[area]!) {
        held[at] = area;
        held[at + 1] = slot;
        held[at + 2] = places;
        at += 3;
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
   * Takes on copied counters; to be called on areas that nothing was done to.
   * @param holds - Those of the partition, restored before.
   */
  restore(counters: AreaCounters, holds: Holds): void {
    const { counts, price, changedAtMs, held } = counters;
    assert(counts.length === this.#counts.length, "the counters are those of the same areas");
    this.#counts.set(counts);
    this.price.set(price);
    this.changedAtMs.set(changedAtMs);
    const holders = new Set<number>();
    for (let i = 0; i < held.length; i += 3) {
      assert(held[i]! < this.count && held[i + 2]! > 0, "a hold has places in an area");
      this.#held[held[i]!]!.set(held[i + 1]!, held[i + 2]!);
      holders.add(held[i + 1]!);
    }
    for (const slot of holds.slots()) {
      if (holders.has(slot)) this.#find(slot, holds.get(slot).session);
    }
  }

  #find(slot: number, session: string): void {
    const slots = this.#slotsOfSession.get(session);
    if (slots === undefined) this.#slotsOfSession.set(session, new Set([slot]));
    else slots.add(slot);
  }
}
