/**
 * What the crowd sees of the house: seats and areas together, so that a buyer need not care which
 * of the two a basket holds. Answers change it; see `SeatMap` for what it is worth.
 */

import type { Basket, SeatBasket } from "../basket.ts";
import {
  type AreaCounters,
  type ListedSeat,
  type RefusedObject,
  RefusalCode,
  seatPosition,
} from "../contract.ts";
import type { Random } from "../random.ts";
import { AreaBoard } from "./area-board.ts";
import { Belief, SeatMap, type Wish } from "./seat-map.ts";

export interface BuyerWish extends Wish {
  /** Places in a general-admission area are wanted rather than seats. */
  readonly prefersPlaces: boolean;
}

export class View {
  readonly #seats: SeatMap;
  readonly #areas: AreaBoard;
  #isDoubted = false;

  constructor(listing: readonly ListedSeat[], areas: readonly AreaCounters[]) {
    this.#seats = new SeatMap(listing);
    this.#areas = new AreaBoard(areas);
  }

  /** Seats and places that seem free. */
  get freeCount(): number {
    return this.#seats.freeCount + this.#areas.freeCount;
  }

  /** Seats and places that may still be bought in this sale. */
  get openCount(): number {
    return this.#seats.openCount + this.#areas.openCount;
  }

  /** Nothing seems free, or what seems free is refused again and again. */
  get needsUpdate(): boolean {
    return this.freeCount === 0 || this.#isDoubted;
  }

  /** The view must be wrong somewhere, and no answer to a buyer will correct it. */
  doubt(): void {
    this.#isDoubted = true;
  }

  updateSeats(listing: readonly ListedSeat[]): void {
    this.#seats.update(listing);
    this.#isDoubted = false;
  }

  updateAreas(areas: readonly AreaCounters[]): void {
    this.#areas.update(areas);
  }

  /** @returns what the buyer prefers, else the other kind, else undefined: nothing seems left. */
  choose(wish: BuyerWish, random: Random): Basket | undefined {
    const seats = () => this.#seats.choose(wish, random);
    const places = () => this.#areas.choose(wish.count, random);
    return wish.prefersPlaces ? (places() ?? seats()) : (seats() ?? places());
  }

  held(basket: Basket): void {
    if (basket.kind === "places") this.#areas.add(basket.areaId, -basket.count);
    else this.#believeAll(basket, Belief.HELD);
  }

  released(basket: Basket): void {
    if (basket.kind === "places") this.#areas.add(basket.areaId, basket.count);
    else this.#believeAll(basket, Belief.FREE);
  }

  sold(basket: Basket): void {
    if (basket.kind === "seats") this.#believeAll(basket, Belief.GONE);
  }

  /** After a refused lock: the objects that the answer names are not to be had. */
  learn(basket: Basket, objects: readonly RefusedObject[]): void {
    for (const { field, code } of objects) {
      if (basket.kind === "places") {
        const isShort = code === RefusalCode.INSUFFICIENT_CAPACITY;
        this.#areas.learnBelow(basket.areaId, isShort ? basket.count : 1);
      } else {
        const index = basket.indexes[seatPosition(field) ?? -1];
        if (index !== undefined) this.#learnSeat(index, code);
      }
    }
  }

  /**
   * A refusal may arrive after the news that its seat was sold since; so "held" is believed only
   * of a seat that seemed free.
   */
  #learnSeat(index: number, code: string): void {
    const isHeld = code === RefusalCode.LOCKED || code === RefusalCode.HELD_BY_ANOTHER_SESSION;
    if (!isHeld) this.#seats.believe(index, Belief.GONE);
    else if (this.#seats.isFree(index)) this.#seats.believe(index, Belief.HELD);
  }

  #believeAll(basket: SeatBasket, belief: Belief): void {
    for (const index of basket.indexes) this.#seats.believe(index, belief);
  }
}
