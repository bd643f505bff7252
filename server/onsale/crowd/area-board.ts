/**
 * The player's view of the general-admission areas: how many places each had to give when last
 * heard of. Like the seat map it is a hint; the counters of the server decide.
 */

import type { PlaceBasket } from "../basket.ts";
import type { AreaCounters } from "../contract.ts";
import type { Random } from "../random.ts";

export class AreaBoard {
  /** Believed free places by area id. */
  readonly #freeById = new Map<number, number>();
  #freeCount = 0;
  #openCount = 0;

  constructor(areas: readonly AreaCounters[]) {
    this.update(areas);
  }

  /** Believed free places in all areas. */
  get freeCount(): number {
    return this.#freeCount;
  }

  /** Places free or held in all areas, as the counters last said. */
  get openCount(): number {
    return this.#openCount;
  }

  /** Takes over the counters. An area without a price has nothing to give. */
  update(areas: readonly AreaCounters[]): void {
    this.#openCount = 0;
    for (const area of areas) {
      const isPriced = area.priceId !== null;
      this.#setFree(area.groupOfSeatsId, isPriced ? area.active : 0);
      if (isPriced) this.#openCount += area.active + area.locked;
    }
  }

  /** Adds to the believed free places; negative for places that were taken. */
  add(areaId: number, count: number): void {
    this.#setFree(areaId, Math.max(0, (this.#freeById.get(areaId) ?? 0) + count));
  }

  /** After a refusal: the area has less than `count` to give. */
  learnBelow(areaId: number, count: number): void {
    this.#setFree(areaId, Math.min(count - 1, this.#freeById.get(areaId) ?? 0));
  }

  /**
   * Chooses places in one area; an area is as likely as it has free places.
   * @returns undefined when the view shows no free place.
   */
  choose(wantedCount: number, random: Random): PlaceBasket | undefined {
    if (this.#freeCount === 0) return undefined;
    let skip = random.below(this.#freeCount);
    for (const [areaId, free] of this.#freeById) {
      if (skip < free) return { kind: "places", areaId, count: Math.min(wantedCount, free) };
      skip -= free;
    }
    return undefined;
  }

  #setFree(areaId: number, count: number): void {
    this.#freeCount += count - (this.#freeById.get(areaId) ?? 0);
    this.#freeById.set(areaId, count);
  }
}
