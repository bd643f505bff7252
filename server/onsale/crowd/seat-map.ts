/**
 * The player's view of the seats: what each was when last heard of, and the choice of neighbours
 * that leaves no single seat behind. The view is a hint, shared by all buyers and never quite up
 * to date; only the server knows. Neighbours are seats that follow each other in one row of the
 * listing. The listing does not show aisles, so a choice that seems fit may still be refused.
 */

import type { SeatBasket } from "../basket.ts";
import { type ListedSeat, SeatState } from "../contract.ts";
import type { Random } from "../random.ts";

/** What the player believes of a seat. */
export const Belief = {
  /** Sold, blocked or without a price: nobody can have it in this sale. */
  GONE: 0,
  /** Held by somebody, who may yet give it up. */
  HELD: 1,
  FREE: 2,
} as const;
export type Belief = (typeof Belief)[keyof typeof Belief];

/** How many places on the map a buyer looks at before taking the best fit seen. */
const LOOKS_MAX = 8;
/** After so many refusals for an orphan the order of the listing is not trusted any more. */
const TRUSTING_REFUSALS_MAX = 4;

export interface Wish {
  /** Seats or places wanted. */
  readonly count: number;
  /**
   * Refusals for an orphan seat, one after the other. They tell that the view is wrong about the
   * neighbours, and so make the choice less and less bound to them.
   */
  readonly orphanRefusals: number;
}

/** Seats next to each other, by seat index. */
interface Run {
  readonly firstIndex: number;
  readonly count: number;
}

export class SeatMap {
  /** Seat id by seat index; the seats of a row stand together, in the order of the listing. */
  readonly #ids: Float64Array;
  /** Row id by seat index. */
  readonly #rowIds: Float64Array;
  /** `Belief` by seat index. */
  readonly #beliefs: Uint8Array;
  readonly #indexOfId = new Map<number, number>();
  /** The free seats, in no order: the first `#freeCount` entries are seat indexes. */
  readonly #free: Uint32Array;
  /** Where a free seat stands in `#free`, by seat index. Meaningful only while it is free. */
  readonly #placeInFree: Uint32Array;
  #freeCount = 0;
  #heldCount = 0;

  constructor(listing: readonly ListedSeat[]) {
    const seats = inRows(listing);
    this.#ids = Float64Array.from(seats, (seat) => seat.seatId);
    this.#rowIds = Float64Array.from(seats, (seat) => seat.rowId);
    this.#beliefs = new Uint8Array(seats.length).fill(Belief.GONE);
    this.#free = new Uint32Array(seats.length);
    this.#placeInFree = new Uint32Array(seats.length);
    for (const [index, seat] of seats.entries()) this.#indexOfId.set(seat.seatId, index);
    this.update(listing);
  }

  get freeCount(): number {
    return this.#freeCount;
  }

  /** Seats that may still be bought in this sale: free, or held by somebody. */
  get openCount(): number {
    return this.#freeCount + this.#heldCount;
  }

  /** Takes over what a listing says. Seats that were not in the first listing are passed over. */
  update(listing: readonly ListedSeat[]): void {
    for (const seat of listing) {
      const index = this.#indexOfId.get(seat.seatId);
      if (index !== undefined) this.believe(index, beliefOf(seat.state));
    }
  }

  /** Cost: constant, so that every answer may be taken over at once. */
  believe(index: number, belief: Belief): void {
    const before = this.#beliefs[index];
    if (before === belief) return;
    if (before === Belief.FREE) this.#removeFree(index);
    if (before === Belief.HELD) this.#heldCount -= 1;
    if (belief === Belief.FREE) this.#addFree(index);
    if (belief === Belief.HELD) this.#heldCount += 1;
    this.#beliefs[index] = belief;
  }

  isFree(index: number): boolean {
    return this.#beliefs[index] === Belief.FREE;
  }

  /**
   * Chooses neighbouring seats at one end of a free run: as many as wanted, or the whole of a
   * shorter run, or one fewer (for a single seat: a pair) where the rest would be a single seat.
   *
   * After a refusal for an orphan: any number up to that, since an aisle may run through what
   * seems one run. After several: any free seats of one row, since the row may stand in another
   * order than it is listed in. Some such choice is always one that the server accepts.
   * @returns undefined when the view shows no free seat.
   * @remarks Cost: O(seats in a row), whatever the size of the house.
   */
  choose(wish: Wish, random: Random): SeatBasket | undefined {
    if (this.#freeCount === 0) return undefined;
    const countMax = Math.max(wish.count, 2);
    if (wish.orphanRefusals > TRUSTING_REFUSALS_MAX) return this.#scatter(countMax, random);
    const run = this.#findRun(wish.count, random);
    const count =
      wish.orphanRefusals > 0
        ? random.between(1, Math.min(run.count, countMax))
        : fittingCount(run.count, wish.count);
    const first = random.chance(0.5) ? run.firstIndex : run.firstIndex + run.count - count;
    return this.#basketOf(Array.from({ length: count }, (_, offset) => first + offset));
  }

  /** Any free seats of one row, from one to `countMax`, each choice as likely as the other. */
  #scatter(countMax: number, random: Random): SeatBasket {
    const free = this.#freeOfRow(this.#randomFree(random));
    const count = random.between(1, Math.min(free.length, countMax));
    for (let place = 0; place < count; place++) {
      const other = random.between(place, free.length - 1);
      [free[place], free[other]] = [free[other]!, free[place]!];
    }
    return this.#basketOf(free.slice(0, count));
  }

  /** The free seats of the row in which the seat stands. */
  #freeOfRow(seatIndex: number): number[] {
    const rowId = this.#rowIds[seatIndex];
    let first = seatIndex;
    while (this.#rowIds[first - 1] === rowId) first -= 1;
    const free: number[] = [];
    for (let index = first; this.#rowIds[index] === rowId; index++) {
      if (this.isFree(index)) free.push(index);
    }
    return free;
  }

  #basketOf(indexes: readonly number[]): SeatBasket {
    return { kind: "seats", indexes, seatIds: indexes.map((index) => this.#ids[index]!) };
  }

  #randomFree(random: Random): number {
    return this.#free[random.below(this.#freeCount)]!;
  }

  /** Looks at a few free runs and keeps the one that seats the buyer best. */
  #findRun(wantedCount: number, random: Random): Run {
    let best = this.#runAround(this.#randomFree(random));
    for (let look = 1; look < LOOKS_MAX; look++) {
      const missing = Math.abs(fittingCount(best.count, wantedCount) - wantedCount);
      if (missing === 0) break;
      const run = this.#runAround(this.#randomFree(random));
      if (Math.abs(fittingCount(run.count, wantedCount) - wantedCount) < missing) best = run;
    }
    return best;
  }

  #runAround(index: number): Run {
    const rowId = this.#rowIds[index];
    let first = index;
    let last = index;
    while (this.isFree(first - 1) && this.#rowIds[first - 1] === rowId) first -= 1;
    while (this.isFree(last + 1) && this.#rowIds[last + 1] === rowId) last += 1;
    return { firstIndex: first, count: last - first + 1 };
  }

  #addFree(index: number): void {
    this.#free[this.#freeCount] = index;
    this.#placeInFree[index] = this.#freeCount;
    this.#freeCount += 1;
  }

  /** The last free seat moves into the gap. */
  #removeFree(index: number): void {
    this.#freeCount -= 1;
    const moved = this.#free[this.#freeCount]!;
    const place = this.#placeInFree[index]!;
    this.#free[place] = moved;
    this.#placeInFree[moved] = place;
  }
}

/**
 * How many seats to take at the end of a free run so that what stays is none or at least two.
 * Only a pair that one buyer wants a single seat of gives more than was wanted: one of the two
 * alone would leave an orphan, so the pair would stay for ever.
 */
export function fittingCount(runCount: number, wantedCount: number): number {
  if (runCount <= wantedCount) return runCount;
  if (runCount - wantedCount > 1) return wantedCount;
  return wantedCount > 1 ? wantedCount - 1 : runCount;
}

/** Brings the seats of each row together and keeps their order within the row. */
function inRows(listing: readonly ListedSeat[]): ListedSeat[] {
  const rows = new Map<number, ListedSeat[]>();
  for (const seat of listing) {
    const row = rows.get(seat.rowId);
    if (row === undefined) rows.set(seat.rowId, [seat]);
    else row.push(seat);
  }
  return [...rows.values()].flat();
}

function beliefOf(state: SeatState | null): Belief {
  if (state === SeatState.ACTIVE) return Belief.FREE;
  return state === SeatState.LOCKED ? Belief.HELD : Belief.GONE;
}
