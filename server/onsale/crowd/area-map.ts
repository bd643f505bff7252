/**
 * The client's view of the general-admission areas: how many places each had when the client last
 * heard of it. Like the seat map, it may be out of date; the server decides.
 */
import type { Basket } from "../basket.ts";
import type { AreaCounters } from "../contract.ts";
import type { Random } from "../random.ts";

export class AreaMap {
  /** Places that seem free, by area id. */
  readonly #freeById = new Map<number, number>();
  #openCount = 0;

  constructor(areas: readonly AreaCounters[]) {
    this.update(areas);
  }

  /** Places that seem free in all areas. */
  get freeCount(): number {
    return [...this.#freeById.values()].reduce((sum, free) => sum + free, 0);
  }

  /** Places that are free or held in all areas, according to the last counters. */
  get openCount(): number {
    return this.#openCount;
  }

  /** Takes over the counters. An area without a price sells nothing. */
  update(areas: readonly AreaCounters[]): void {
    this.#openCount = 0;
    for (const { groupOfSeatsId, priceId, active, locked } of areas) {
      this.#freeById.set(groupOfSeatsId, priceId === null ? 0 : active);
      if (priceId !== null) this.#openCount += active + locked;
    }
  }

  /** Adds free places; a negative number removes them. */
  add(areaId: number, count: number): void {
    this.#freeById.set(areaId, Math.max(0, (this.#freeById.get(areaId) ?? 0) + count));
  }

  /** After a refusal: fewer than `count` places are free. */
  limitBelow(areaId: number, count: number): void {
    this.#freeById.set(areaId, Math.min(count - 1, this.#freeById.get(areaId) ?? 0));
  }

  /**
   * Chooses places in one area, with a probability in proportion to the free places.
   * @returns undefined if no place seems free.
   */
  choose(wantedCount: number, random: Random): Basket | undefined {
    let skip = random.below(this.freeCount);
    for (const [areaId, free] of this.#freeById) {
      if (skip < free) {
        const area = { id: areaId, capacity: Math.min(wantedCount, free) };
        return { seatIds: [], areas: [area] };
      }
      skip -= free;
    }
    return undefined;
  }
}
