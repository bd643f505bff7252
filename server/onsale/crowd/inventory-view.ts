/**
 * The crowd's shared view of the event: seats and areas together, so a buyer need not know which of
 * the two a basket holds. Every answer updates it. See `SeatMap` for its limits.
 */
import type { Basket } from "../basket.ts";
import { type RefusedObject, seatPosition } from "../contract.ts";
import type { Inventory } from "../http/inventory-reader.ts";
import type { Random } from "../random.ts";
import { AreaMap } from "./area-map.ts";
import { Availability, SeatMap, type SeatWish } from "./seat-map.ts";

export interface Wish extends SeatWish {
  /** Places in a general-admission area rather than seats. */
  readonly prefersPlaces: boolean;
}

export class InventoryView {
  readonly #seats: SeatMap;
  readonly #areas: AreaMap;
  #isStale = false;

  constructor({ seats, areas }: Inventory) {
    this.#seats = new SeatMap(seats);
    this.#areas = new AreaMap(areas);
  }

  /** Seats and places that seem free. */
  get freeCount(): number {
    return this.#seats.freeCount + this.#areas.freeCount;
  }

  /** Seats and places that may still be bought in this sale: free, or held by a session. */
  get openCount(): number {
    return this.#seats.openCount + this.#areas.openCount;
  }

  /** Nothing seems free, or the server keeps refusing what seems free. */
  get needsUpdate(): boolean {
    return this.freeCount === 0 || this.#isStale;
  }

  /** The view is wrong in a way that no answer to a buyer will correct. */
  markStale(): void {
    this.#isStale = true;
  }

  /** Takes over what was read from the server. `seats` may be a part of the listing. */
  update({ seats, areas }: Inventory): void {
    this.#seats.update(seats);
    this.#areas.update(areas);
    this.#isStale = false;
  }

  /** @returns What the buyer prefers, or else the other kind; undefined if nothing seems free. */
  choose(wish: Wish, random: Random): Basket | undefined {
    const seats = () => this.#seats.choose(wish, random);
    const places = () => this.#areas.choose(wish.count, random);
    return wish.prefersPlaces ? (places() ?? seats()) : (seats() ?? places());
  }

  markHeld(basket: Basket): void {
    this.#setSeats(basket, Availability.HELD);
    for (const { id, capacity } of basket.areas) this.#areas.add(id, -capacity);
  }

  markReleased(basket: Basket): void {
    this.#setSeats(basket, Availability.FREE);
    for (const { id, capacity } of basket.areas) this.#areas.add(id, capacity);
  }

  markSold(basket: Basket): void {
    this.#setSeats(basket, Availability.UNAVAILABLE);
  }

  /**
   * After a refused lock: the objects named in the answer are not free. The refusal may arrive
   * after the news that its seat was sold, so only a seat that seems free becomes held.
   */
  markRefused(basket: Basket, objects: readonly RefusedObject[]): void {
    for (const { field, code } of objects) {
      const isShort = code === "INSUFFICIENT_CAPACITY";
      for (const { id, capacity } of basket.areas) {
        this.#areas.limitBelow(id, isShort ? capacity : 1);
      }
      const seatId = basket.seatIds[seatPosition(field) ?? -1];
      if (seatId === undefined) continue;
      const isHeld = code === "LOCKED" || code === "HELD_BY_ANOTHER_SESSION";
      if (!isHeld) this.#seats.set(seatId, Availability.UNAVAILABLE);
      else if (this.#seats.isFree(seatId)) this.#seats.set(seatId, Availability.HELD);
    }
  }

  #setSeats(basket: Basket, availability: Availability): void {
    for (const seatId of basket.seatIds) this.#seats.set(seatId, availability);
  }
}
