/** The purchases that were confirmed to the buyers. The final check compares it with the server. */
import type { Basket } from "../basket.ts";

export class SalesRecord {
  /** Seats bought. A seat that was sold to two buyers counts twice. */
  seatCount = 0;
  placeCount = 0;
  readonly seatIds = new Set<number>();
  readonly seatIdsSoldTwice = new Set<number>();
  readonly #placesByArea = new Map<number, number>();

  /** Adds a basket whose sale was acknowledged. */
  add({ seatIds, areas }: Basket): void {
    for (const { id, capacity } of areas) {
      this.placeCount += capacity;
      this.#placesByArea.set(id, this.placesOf(id) + capacity);
    }
    for (const id of seatIds) {
      this.seatCount += 1;
      if (this.seatIds.has(id)) this.seatIdsSoldTwice.add(id);
      this.seatIds.add(id);
    }
  }

  placesOf(areaId: number): number {
    return this.#placesByArea.get(areaId) ?? 0;
  }
}
