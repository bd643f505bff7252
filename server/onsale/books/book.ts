/** The crowd's own book of what it was told it bought: the one side of the final check. */

import type { Basket } from "../basket.ts";

export class Book {
  readonly #seatIds = new Set<number>();
  readonly #seatIdsSoldTwice = new Set<number>();
  readonly #placesByArea = new Map<number, number>();
  #seatCount = 0;
  #placeCount = 0;

  /** Enters what one buyer was told it bought. */
  enter(basket: Basket): void {
    if (basket.kind === "places") {
      this.#placeCount += basket.count;
      this.#placesByArea.set(basket.areaId, this.placesOf(basket.areaId) + basket.count);
      return;
    }
    this.#seatCount += basket.seatIds.length;
    for (const id of basket.seatIds) {
      if (this.#seatIds.has(id)) this.#seatIdsSoldTwice.add(id);
      this.#seatIds.add(id);
    }
  }

  /** Seats bought; one that two buyers were sold counts twice. */
  get seatCount(): number {
    return this.#seatCount;
  }

  get placeCount(): number {
    return this.#placeCount;
  }

  get seatIds(): ReadonlySet<number> {
    return this.#seatIds;
  }

  get seatIdsSoldTwice(): ReadonlySet<number> {
    return this.#seatIdsSoldTwice;
  }

  placesOf(areaId: number): number {
    return this.#placesByArea.get(areaId) ?? 0;
  }
}
