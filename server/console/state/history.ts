/**
 * The past of an event in memory. Each change keeps its before-image, so a step in either direction
 * applies or undoes changes without a request.
 */
import type { HistoryPage } from "../api/calls.ts";
import {
  type AreaCounts,
  countArea,
  type LiveSeats,
  NO_PRICE,
  noSeats,
  STATE_OF_LETTER,
  type Totals,
  totalsOf,
} from "../map/seats.ts";

/** Indexes of the seats, areas and prices of an event. */
export interface Places {
  readonly seatCount: number;
  readonly areaCount: number;
  /** Undefined for a seat removed from the layout. */
  readonly seatOf: (id: number) => number | undefined;
  readonly areaOf: (id: number) => number | undefined;
  readonly priceIndex: (id: number) => number;
}

/** The seats and areas changed by a step. */
export interface Step {
  readonly seats: readonly number[];
  readonly areas: readonly number[];
}

/** Figures of equal parts of the time, for a chart. */
export interface Bucket {
  readonly timeMs: number;
  /** Changes in it. */
  readonly changes: number;
  /** At its end. */
  readonly totals: Totals;
}

interface AreaChange {
  readonly area: number;
  readonly before: AreaCounts;
  readonly after: AreaCounts;
}

export class History {
  /** As of `position`. The arrays stay the same ones. */
  readonly seats: LiveSeats;
  readonly calls: string[] = [];
  readonly #places: Places;
  /** Index: change. */
  readonly #sequences: number[] = [];
  readonly #times: number[] = [];
  readonly #calls: number[] = [];
  /** Index: change. Where its seats and areas end. */
  readonly #seatEnds: number[] = [];
  readonly #areaEnds: number[] = [];
  /** Index: a seat of a change. State and price before and after it, a byte each. */
  readonly #seatsChanged: number[] = [];
  readonly #moves: number[] = [];
  readonly #areasChanged: AreaChange[] = [];
  #position = 0;

  constructor(places: Places) {
    this.#places = places;
    this.seats = noSeats(places.seatCount, places.areaCount);
  }

  /** The number of changes. */
  get length(): number {
    return this.#times.length;
  }

  /** Number of applied changes. */
  get position(): number {
    return this.#position;
  }

  /** The last record: the cursor for later changes. */
  get sequence(): number {
    return this.#sequences.at(-1) ?? 0;
  }

  timeAt(change: number): number {
    return this.#times[change]!;
  }

  sequenceAt(change: number): number {
    return this.#sequences[change]!;
  }

  callAt(change: number): string {
    return this.calls[this.#calls[change]!]!;
  }

  /** The seats and areas of a change. */
  placesAt(change: number): Step {
    return this.#between(change, change + 1);
  }

  /** The position at a time: after all changes up to it. */
  positionAt(timeMs: number): number {
    return countUpTo(this.#times, timeMs);
  }

  /** Adds the changes of a page. Afterwards the position is at their end. */
  add(page: HistoryPage): void {
    this.seek(this.length);
    const { changes, seats } = page;
    const prices = page.prices.map((id) => this.#places.priceIndex(id));
    const calls = page.calls.map((call) => this.#callIndex(call));
    let [sequence, time, id, seatAt, areaAt] = [0, 0, 0, 0, 0];
    for (const [i, call] of changes.calls.entries()) {
      sequence += changes.sequences[i]!;
      time += changes.times[i]!;
      for (const end = seatAt + changes.seatCounts[i]!; seatAt < end; seatAt++) {
        id += seats.ids[seatAt]!;
        const price = prices[seats.priceIndexes[seatAt]!] ?? NO_PRICE;
        this.#addSeat(id, STATE_OF_LETTER[seats.states[seatAt]!]!, price);
      }
      for (const end = areaAt + changes.areaCounts[i]!; areaAt < end; areaAt++) {
        const after = page.areas[areaAt]!;
        this.#addArea(this.#places.areaOf(after.groupOfSeatsId), after);
      }
      this.#sequences.push(sequence);
      this.#times.push(time);
      this.#calls.push(calls[call]!);
      this.#seatEnds.push(this.#seatsChanged.length);
      this.#areaEnds.push(this.#areasChanged.length);
    }
    this.#position = this.length;
  }

  #callIndex(call: string): number {
    const index = this.calls.indexOf(call);
    return index >= 0 ? index : this.calls.push(call) - 1;
  }

  #addSeat(id: number, state: number, price: number): void {
    const { states, prices } = this.seats;
    const seat = this.#places.seatOf(id);
    if (seat === undefined) return;
    this.#seatsChanged.push(seat);
    this.#moves.push(packMove(states[seat]!, prices[seat]!, state, price));
    states[seat] = state;
    prices[seat] = price;
  }

  #addArea(area: number | undefined, after: AreaCounts): void {
    if (area === undefined) return;
    this.#areasChanged.push({ area, before: this.seats.areas[area]!, after });
    this.seats.areas[area] = after;
  }

  /** Goes to a position. Cost: O(places of the changes in between). */
  seek(position: number): Step {
    const to = Math.max(0, Math.min(this.length, position));
    const [from, isBack] = [this.#position, to < this.#position];
    const [first, last] = isBack ? [to, from] : [from, to];
    const ranges = this.#rangesOf(first, last);
    if (isBack) this.#undo(...ranges);
    else this.#apply(...ranges);
    this.#position = to;
    return this.#between(first, last);
  }

  #between(first: number, last: number): Step {
    const [seats, places] = this.#rangesOf(first, last);
    const areas = this.#areasChanged.slice(...places).map(({ area }) => area);
    return { seats: this.#seatsChanged.slice(...seats), areas: [...new Set(areas)] };
  }

  /** The seats and the areas of the changes from `first` up to `last`. */
  #rangesOf(first: number, last: number): [seats: Range, areas: Range] {
    return [
      [endAt(this.#seatEnds, first), endAt(this.#seatEnds, last)],
      [endAt(this.#areaEnds, first), endAt(this.#areaEnds, last)],
    ];
  }

  #apply([from, to]: Range, [areaFrom, areaTo]: Range): void {
    const { states, prices, areas } = this.seats;
    for (let i = from; i < to; i++) {
      const [seat, move] = [this.#seatsChanged[i]!, this.#moves[i]!];
      states[seat] = (move >>> 8) & 0xff;
      prices[seat] = move & 0xff;
    }
    for (let i = areaFrom; i < areaTo; i++) {
      const { area, after } = this.#areasChanged[i]!;
      areas[area] = after;
    }
  }

  #undo([from, to]: Range, [areaFrom, areaTo]: Range): void {
    const { states, prices, areas } = this.seats;
    for (let i = to - 1; i >= from; i--) {
      const [seat, move] = [this.#seatsChanged[i]!, this.#moves[i]!];
      states[seat] = move >>> 24;
      prices[seat] = (move >>> 16) & 0xff;
    }
    for (let i = areaTo - 1; i >= areaFrom; i--) {
      const { area, before } = this.#areasChanged[i]!;
      areas[area] = before;
    }
  }

  /** @param fromMs - Where the first part begins. Cost: O(places of all changes). */
  buckets(count: number, fromMs = this.#times[0]): Bucket[] {
    if (fromMs === undefined || this.length === 0) return [];
    const [first, last] = [fromMs, this.#times.at(-1)!];
    const span = Math.max(1, last - first);
    const before = this.#position;
    let change = countUpTo(this.#times, first - 1);
    this.seek(change);
    const totals = totalsOf(this.seats);
    const buckets: Bucket[] = [];
    for (let bucket = 1; bucket <= count; bucket++) {
      const timeMs = bucket === count ? last : first + Math.round((span * bucket) / count);
      const end = this.positionAt(timeMs);
      const [[seatFrom, seatTo], [areaFrom, areaTo]] = this.#rangesOf(change, end);
      for (let i = seatFrom; i < seatTo; i++) {
        const move = this.#moves[i]!;
        totals[move >>> 24]! -= 1;
        totals[(move >>> 8) & 0xff]! += 1;
      }
      for (let i = areaFrom; i < areaTo; i++) {
        const { before: was, after } = this.#areasChanged[i]!;
        countArea(totals, was, -1);
        countArea(totals, after, 1);
      }
      buckets.push({ timeMs, changes: end - change, totals: [...totals] });
      change = end;
    }
    this.seek(before);
    return buckets;
  }
}

type Range = readonly [from: number, to: number];

function packMove(before: number, priceBefore: number, after: number, price: number): number {
  return ((before << 24) | (priceBefore << 16) | (after << 8) | price) >>> 0;
}

/** End offset of the change before this position. */
function endAt(ends: readonly number[], position: number): number {
  return position === 0 ? 0 : ends[position - 1]!;
}

/** @param rising - Numbers. @returns How many are at most `value`. */
function countUpTo(rising: readonly number[], value: number): number {
  let [low, high] = [0, rising.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rising[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
