/**
 * The crowd's shared view of the event: seats and areas together, so a buyer need not know which of
 * the two a basket holds. Every answer updates it. See `SeatMap` for its limits.
 */
import type { Unsuitable } from "./buyer.ts";
import type { Inventory } from "./client.ts";
import {
  type AreaCounters,
  type Basket,
  type BestWish,
  type ListedSeat,
  type RefusedObject,
  seatPosition,
  type SeatState,
} from "./contract.ts";
import type { Random } from "./random.ts";

export interface Wish extends SeatWish {
  /** Places in a general-admission area rather than seats. */
  readonly prefersPlaces: boolean;
  readonly unsuitable?: Unsuitable | undefined;
}

/** Free seats, or free places, without a choice for `best`, until their number changes. */
type Barren = Record<"seats" | "places", number>;

export class InventoryView {
  readonly #seats: SeatMap;
  readonly #areas: AreaMap;
  readonly #barren: Barren = { seats: 0, places: 0 };
  #isStale = false;

  constructor({ seats, areas }: Inventory) {
    this.#seats = new SeatMap(seats);
    this.#areas = new AreaMap(areas);
  }

  /** Seats and places, free by the view, less those without a choice for `best`. */
  get freeCount(): number {
    return this.#freeSeats + this.#freePlaces;
  }

  get #freeSeats(): number {
    const { freeCount } = this.#seats;
    return freeCount === this.#barren.seats ? 0 : freeCount;
  }

  get #freePlaces(): number {
    const { freeCount } = this.#areas;
    return freeCount === this.#barren.places ? 0 : freeCount;
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

  /**
   * @returns A wish for `best`: what the buyer wants or, after a refusal, the largest block of what
   * is left; undefined if nothing seems free.
   */
  wishFor({ count, prefersPlaces, unsuitable }: Wish, random: Random): BestWish | undefined {
    if (this.freeCount === 0) return undefined;
    const isPlaces = this.#freePlaces > 0 && (prefersPlaces || this.#freeSeats === 0);
    const areaIds = isPlaces ? this.#areas.idsOfFree(random) : [];
    const hasSome = unsuitable !== undefined && unsuitable.available > 0;
    return { quantity: hasSome ? suitableCount(count, unsuitable) : count, areaIds };
  }

  /** After a refusal of `best`. */
  markUnsuitable(
    { areaIds }: BestWish,
    { quantity, largestTogether, available }: Unsuitable,
  ): void {
    if (available > 0 && (largestTogether > 0 || quantity === 1)) return;
    if (areaIds.length > 0) this.#barren.places = this.#areas.freeCount;
    else this.#barren.seats = this.#seats.freeCount;
  }

  /** `best` may find something again. */
  forgetUnsuitable(): void {
    this.#barren.seats = 0;
    this.#barren.places = 0;
  }

  markHeld(basket: Basket): void {
    this.#setSeats(basket, Availability.HELD);
    for (const { id, capacity } of basket.areas) this.#areas.add(id, -capacity);
  }

  markReleased(basket: Basket): void {
    this.#setSeats(basket, Availability.FREE);
    for (const { id, capacity } of basket.areas) this.#areas.add(id, capacity);
    // A basket of unknown content too: the view may have shown it as free all the time.
    this.forgetUnsuitable();
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
      if (code === "HELD_LIMIT" || code === "VISITOR_LIMIT") continue;
      const isShort = code === "INSUFFICIENT_CAPACITY";
      for (const { id, capacity } of basket.areas) {
        this.#areas.limitBelow(id, isShort ? capacity : 1);
      }
      const seatId = basket.seatIds[seatPosition(field) ?? -1];
      if (seatId === undefined) continue;
      const isHeld = code === "LOCKED" || code.startsWith("HELD_BY_");
      if (!isHeld) this.#seats.set(seatId, Availability.UNAVAILABLE);
      else if (this.#seats.isFree(seatId)) this.#seats.set(seatId, Availability.HELD);
    }
  }

  #setSeats(basket: Basket, availability: Availability): void {
    for (const seatId of basket.seatIds) this.#seats.set(seatId, availability);
  }
}

/** Without a smaller block, one seat alone would leave an orphan, and two seats would not. */
function suitableCount(count: number, { largestTogether }: Unsuitable): number {
  return largestTogether === 0 ? 2 : Math.min(largestTogether, count);
}

// The client's view of the seats: the last known availability of each, and the choice of adjacent
// seats that leaves no single seat behind. All buyers share this view, and it may be out of date;
// only the server knows. Adjacent seats follow each other in one row of the listing. The listing
// does not show aisles, so the server may still refuse a choice that looks right.

export const Availability = {
  /** Sold, blocked or without a price: not for sale in this run. */
  UNAVAILABLE: 0,
  /** Held by a session, which may still release it. */
  HELD: 1,
  FREE: 2,
} as const;
export type Availability = (typeof Availability)[keyof typeof Availability];

/** The number of places on the map that a buyer looks at before choosing the best of them. */
const LOOKS_MAX = 8;
/** After more refusals for an orphan seat than this, the order of the listing is ignored. */
const ORDERED_REFUSALS_MAX = 4;

interface SeatWish {
  /** Seats or places wanted. */
  readonly count: number;
  /**
   * Consecutive refusals for an orphan seat. They show that the view is wrong about adjacent seats,
   * so the choice depends less and less on it.
   */
  readonly orphanRefusals: number;
}

/** Adjacent free seats. */
interface Run {
  readonly firstIndex: number;
  readonly count: number;
}

export class SeatMap {
  /** Seat id by seat index. The seats of a row are together, in the order of the listing. */
  readonly #ids: Float64Array;
  /** Row id by seat index. */
  readonly #rowIds: Float64Array;
  /** `Availability` by seat index. */
  readonly #availability: Uint8Array;
  readonly #indexOfId = new Map<number, number>();
  /** The free seats, unordered: the first `#freeCount` entries are seat indexes. */
  readonly #free: Uint32Array;
  /** Position of a free seat in `#free`, by seat index. Meaningful only while the seat is free. */
  readonly #positionInFree: Uint32Array;
  #freeCount = 0;
  #heldCount = 0;

  constructor(listing: readonly ListedSeat[]) {
    const seats = listing.toSorted((a, b) => a.rowId - b.rowId);
    this.#ids = Float64Array.from(seats, (seat) => seat.seatId);
    this.#rowIds = Float64Array.from(seats, (seat) => seat.rowId);
    this.#availability = new Uint8Array(seats.length).fill(Availability.UNAVAILABLE);
    this.#free = new Uint32Array(seats.length);
    this.#positionInFree = new Uint32Array(seats.length);
    for (const [index, seat] of seats.entries()) this.#indexOfId.set(seat.seatId, index);
    this.update(listing);
  }

  get freeCount(): number {
    return this.#freeCount;
  }

  /** Seats that are free or held. */
  get openCount(): number {
    return this.#freeCount + this.#heldCount;
  }

  /** Takes over a listing. */
  update(listing: readonly ListedSeat[]): void {
    for (const { seatId, state } of listing) this.set(seatId, availabilityOf(state));
  }

  /** Ignores seats that were not in the first listing. Cost: constant. */
  set(seatId: number, availability: Availability): void {
    const index = this.#indexOfId.get(seatId);
    if (index === undefined) return;
    const before = this.#availability[index];
    if (before === availability) return;
    if (before === Availability.FREE) this.#removeFree(index);
    if (before === Availability.HELD) this.#heldCount -= 1;
    if (availability === Availability.FREE) this.#addFree(index);
    if (availability === Availability.HELD) this.#heldCount += 1;
    this.#availability[index] = availability;
  }

  isFree(seatId: number): boolean {
    return this.#isFreeAt(this.#indexOfId.get(seatId) ?? -1);
  }

  #isFreeAt(index: number): boolean {
    return this.#availability[index] === Availability.FREE;
  }

  /**
   * Chooses adjacent seats at one end of a free run: as many as wanted, all of a shorter run, or
   * one fewer (two for a single seat) if the rest would be a single seat.
   *
   * After a refusal for an orphan seat, it chooses any number up to that, because an aisle may
   * cross the run. After several, it chooses any free seats of one row, because the listing may
   * show the row in another order. The server accepts at least one of these choices.
   * @returns undefined if no seat seems free.
   * @remarks Cost: O(seats in a row).
   */
  choose(wish: SeatWish, random: Random): Basket | undefined {
    if (this.#freeCount === 0) return undefined;
    const countMax = Math.max(wish.count, 2);
    if (wish.orphanRefusals > ORDERED_REFUSALS_MAX) return this.#chooseInRow(countMax, random);
    const run = this.#findRun(wish.count, random);
    const count =
      wish.orphanRefusals > 0
        ? random.between(1, Math.min(run.count, countMax))
        : fittingCount(run.count, wish.count);
    const first = random.chance(0.5) ? run.firstIndex : run.firstIndex + run.count - count;
    return this.#basketOf(Array.from({ length: count }, (_, offset) => first + offset));
  }

  /** Chooses from one to `countMax` free seats of one row; every choice is equally likely. */
  #chooseInRow(countMax: number, random: Random): Basket {
    const free = this.#freeInRowOf(this.#randomFree(random));
    const count = random.between(1, Math.min(free.length, countMax));
    for (let position = 0; position < count; position++) {
      const other = random.between(position, free.length - 1);
      [free[position], free[other]] = [free[other]!, free[position]!];
    }
    return this.#basketOf(free.slice(0, count));
  }

  #freeInRowOf(seatIndex: number): number[] {
    const rowId = this.#rowIds[seatIndex];
    let first = seatIndex;
    while (this.#rowIds[first - 1] === rowId) first -= 1;
    const free: number[] = [];
    for (let index = first; this.#rowIds[index] === rowId; index++) {
      if (this.#isFreeAt(index)) free.push(index);
    }
    return free;
  }

  #basketOf(seatIndexes: readonly number[]): Basket {
    return { seatIds: seatIndexes.map((index) => this.#ids[index]!), areas: [] };
  }

  #randomFree(random: Random): number {
    return this.#free[random.below(this.#freeCount)]!;
  }

  /** Looks at a few free runs and returns the one that fits best. */
  #findRun(wantedCount: number, random: Random): Run {
    let best: Run | undefined;
    let bestDifference = Infinity;
    for (let look = 0; look < LOOKS_MAX && bestDifference > 0; look++) {
      const run = this.#runAround(this.#randomFree(random));
      const difference = Math.abs(fittingCount(run.count, wantedCount) - wantedCount);
      if (difference < bestDifference) [best, bestDifference] = [run, difference];
    }
    return best!;
  }

  #runAround(index: number): Run {
    const rowId = this.#rowIds[index];
    let first = index;
    let last = index;
    while (this.#isFreeAt(first - 1) && this.#rowIds[first - 1] === rowId) first -= 1;
    while (this.#isFreeAt(last + 1) && this.#rowIds[last + 1] === rowId) last += 1;
    return { firstIndex: first, count: last - first + 1 };
  }

  #addFree(index: number): void {
    this.#free[this.#freeCount] = index;
    this.#positionInFree[index] = this.#freeCount;
    this.#freeCount += 1;
  }

  /** Moves the last free seat to the position of the removed one. */
  #removeFree(index: number): void {
    this.#freeCount -= 1;
    const last = this.#free[this.#freeCount]!;
    const position = this.#positionInFree[index]!;
    this.#free[position] = last;
    this.#positionInFree[last] = position;
  }
}

/**
 * The number of seats to take at the end of a free run so that none or at least two remain. This is
 * more than wanted only for a single seat of a pair: one seat alone would leave an orphan, and the
 * pair would never be sold.
 */
export function fittingCount(runCount: number, wantedCount: number): number {
  if (runCount <= wantedCount) return runCount;
  if (runCount - wantedCount > 1) return wantedCount;
  return wantedCount > 1 ? wantedCount - 1 : runCount;
}

function availabilityOf(state: SeatState | null): Availability {
  if (state === "ACTIVE") return Availability.FREE;
  return state === "LOCKED" ? Availability.HELD : Availability.UNAVAILABLE;
}

// The client's view of the general-admission areas: how many places each had when the client last
// heard of it. Like the seat map, it may be out of date; the server decides.

class AreaMap {
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
      this.#freeById.set(groupOfSeatsId, priceId === undefined ? 0 : active);
      if (priceId !== undefined) this.#openCount += active + locked;
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

  /** Areas with free places, beginning with a random one. */
  idsOfFree(random: Random): number[] {
    const ids = [...this.#freeById].flatMap(([id, free]) => (free > 0 ? [id] : []));
    const first = random.below(ids.length);
    return [...ids.slice(first), ...ids.slice(0, first)];
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
