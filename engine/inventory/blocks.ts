/**
 * Blocks: seats together that a request for the best places could take, within one unit of the
 * layout. One `Blocks` reads the units of a partition under one filter, and evaluates one unit at a
 * time. It copies the unit first: its loops then run over small arrays of their own.
 */
import { assert } from "../assert.ts";
import type { OrphanMode } from "../catalog.ts";
import { BEST_QUANTITY_MAX, NONE } from "../constants.ts";
import type { Layout } from "../layout/layout.ts";
import { distance, Mark, type Point } from "../layout/seating.ts";
import { type Units, unitsOf } from "../layout/units.ts";
import { SeatState } from "./states.ts";

/** Of a table with more candidates, the best by score stand for all blocks near a point. */
const TABLE_CHOICES_MAX = 12;

/** The request without its size: blocks of every size are found under it. */
export interface Filter {
  /** Price slots; null for any. */
  readonly prices: ReadonlySet<number> | null;
  /** Ids of sections, tables and rows; null for the whole hall. */
  readonly groupIds: readonly number[] | null;
  /** Accessible seats of the block: exactly, or with `includeAccessible` at least. */
  readonly accessible: number;
  readonly includeAccessible: boolean;
  readonly orphanMode: OrphanMode;
  /** A block with fewer new orphans is better. */
  readonly avoidOrphans: boolean;
}

/** New orphans first, then the distance, the sum of the scores and the ids. */
export interface Quality {
  orphans: number;
  /** 0 unless nearness counts. */
  distance: number;
  sum: number;
  /** The smallest seat index: blocks of two units have no seat in common. */
  least: number;
}

/** The seats of a partition. Index: the seat index of the layout. */
export interface SeatsOfEvent {
  readonly layout: Layout;
  /** A `SeatState` each. */
  readonly state: Uint8Array;
  /** Price slots; 0 for none. */
  readonly price: Uint16Array;
}

const [IS_ACTIVE, IS_CANDIDATE, IS_ACCESSIBLE] = [1, 2, 4];
const NO_SEATS: ReadonlySet<number> = new Set();

/** True when `a` is better than `b`, of another unit. */
export function isBetter(a: Quality, b: Quality): boolean {
  if (a.orphans !== b.orphans) return a.orphans < b.orphans;
  if (a.distance !== b.distance) return a.distance < b.distance;
  return a.sum === b.sum ? a.least < b.least : a.sum < b.sum;
}

/** Its members are those of the block found last. */
export class Blocks implements Quality {
  orphans = 0;
  distance = 0;
  sum = Infinity;
  least = NONE;
  readonly units: Units;
  readonly #partition: SeatsOfEvent;
  readonly #filter: Filter;
  /** Candidates have none of these. */
  readonly #excluded: number;
  readonly #accessibleMin: number;
  readonly #accessibleMax: number;
  /** Rows that may be used; null for whole units. */
  readonly #rows: ReadonlySet<number> | null;
  // The loaded unit, by the place of a seat in it.
  #unit = NONE as number;
  #length = 0;
  #flags = new Uint8Array(64);
  #scores = new Float64Array(64);
  #candidates = 0;
  #accessible = 0;
  // The block found last: `#size` seats of the unit from `#start` on, or those of `#chosen`.
  #start = 0;
  #size = 0;
  #chosen: readonly number[] = [];

  /** Cost: O(groups of the filter and their rows). */
  constructor(partition: SeatsOfEvent, filter: Filter) {
    const { accessible, includeAccessible, groupIds } = filter;
    this.#partition = partition;
    this.#filter = filter;
    this.units = unitsOf(partition.layout);
    const isKept = accessible === 0 && !includeAccessible;
    this.#excluded = isKept ? Mark.HIDDEN | Mark.ACCESSIBLE : Mark.HIDDEN;
    this.#accessibleMin = accessible;
    this.#accessibleMax = includeAccessible ? BEST_QUANTITY_MAX : accessible;
    this.#rows = groupIds === null ? null : rowsOf(partition, groupIds);
  }

  /** Candidates of the loaded unit. */
  get candidates(): number {
    return this.#candidates;
  }

  /**
   * Copies a unit. Cost: O(its seats), usually 20.
   *
   * @param taken - Seats that an earlier block of the request takes.
   */
  load(unit: number, taken: ReadonlySet<number> = NO_SEATS): void {
    const { units } = this;
    const { state, price, layout } = this.#partition;
    const { marks, scores, rowOfSeat } = layout;
    const { prices } = this.#filter;
    const rows = this.#rows;
    const start = units.starts[unit]!;
    const length = units.starts[unit + 1]! - start;
    if (length > this.#flags.length) {
      this.#flags = new Uint8Array(2 * length);
      this.#scores = new Float64Array(2 * length);
    }
    const [flags, ownScores] = [this.#flags, this.#scores];
    let [candidates, accessible] = [0, 0];
    for (let i = 0; i < length; i++) {
      const seat = units.seats[start + i]!;
      flags[i] = 0;
      if (state[seat] !== SeatState.ACTIVE || (taken.size > 0 && taken.has(seat))) continue;
      flags[i] = IS_ACTIVE;
      const mark = marks[seat]!;
      const slot = price[seat]!;
      if ((mark & this.#excluded) !== 0 || slot === 0) continue;
      if (prices !== null && !prices.has(slot)) continue;
      if (rows !== null && !rows.has(rowOfSeat[seat]!)) continue;
      ownScores[i] = scores[seat]!;
      candidates += 1;
      if ((mark & Mark.ACCESSIBLE) === 0) flags[i] = IS_ACTIVE | IS_CANDIDATE;
      else {
        flags[i] = IS_ACTIVE | IS_CANDIDATE | IS_ACCESSIBLE;
        accessible += 1;
      }
    }
    this.#unit = unit;
    this.#length = length;
    this.#candidates = candidates;
    this.#accessible = accessible;
  }

  /**
   * The sizes of which the loaded unit has a block, up to 50: bit 0 of the first number is size 1,
   * bit 0 of the second size 33. Cost: O(seats), with a wish for accessible seats 50 times that.
   */
  sizes(): readonly [number, number] {
    let [low, high] = [0, 0];
    const add = (size: number) => {
      if (size <= 32) low |= 1 << (size - 1);
      else high |= 1 << (size - 33);
    };
    const most = Math.min(this.#candidates, BEST_QUANTITY_MAX);
    const isPlain = this.#accessibleMin === 0;
    if (isPlain && this.units.isTable[this.#unit] === 1) {
      for (let size = 1; size <= most; size++) add(size);
    } else if (isPlain) {
      const longest = this.#longestRun();
      // Of two blocks fewer than its seats a run has three, and its two ends refuse at most two.
      const certain = Math.min(longest - (this.#filter.orphanMode === "off" ? 0 : 2), most);
      for (let size = 1; size <= certain; size++) add(size);
      for (let size = Math.max(1, certain + 1); size <= Math.min(longest, most); size++) {
        if (this.find(size)) add(size);
      }
    } else if (this.#accessible >= this.#accessibleMin) {
      for (let size = this.#accessibleMin; size <= most; size++) if (this.find(size)) add(size);
    }
    return [low, high];
  }

  #longestRun(): number {
    let [longest, run] = [0, 0];
    for (let i = 0; i < this.#length; i++) {
      run = (this.#flags[i]! & IS_CANDIDATE) === 0 ? 0 : run + 1;
      if (run > longest) longest = run;
    }
    return longest;
  }

  /**
   * Finds the best block of the size in the loaded unit.
   *
   * @param near - The point to which the nearest block is better; null when nearness does not count.
   * @returns False without a block. Cost: O(seats of the unit).
   */
  find(size: number, near: Point | null = null): boolean {
    assert(size >= 1 && size <= BEST_QUANTITY_MAX, "a block has a place");
    this.sum = Infinity;
    this.least = NONE;
    this.#size = size;
    if (this.#candidates < size || this.#accessible < this.#accessibleMin) return false;
    if (this.units.isTable[this.#unit] === 1) this.#findAtTable(size, near);
    else this.#findInRun(size, near);
    return this.sum < Infinity;
  }

  #findInRun(size: number, near: Point | null): void {
    const [flags, length] = [this.#flags, this.#length];
    let at = 0;
    while (at < length) {
      if (flags[at] === 0) {
        at += 1;
        continue;
      }
      const first = at;
      while (at < length && flags[at] !== 0) at += 1;
      if (at - first >= size) this.#findInStretch(first, at, near);
    }
    if (this.sum < Infinity) this.least = this.#leastOf(this.#start);
  }

  /** ACTIVE neighbours from `first` to before `end`, of which the candidates may be taken. */
  #findInStretch(first: number, end: number, near: Point | null): void {
    const [flags, scores, size] = [this.#flags, this.#scores, this.#size];
    const [min, max] = [this.#accessibleMin, this.#accessibleMax];
    const { avoidOrphans, orphanMode } = this.#filter;
    let [run, sum, accessible] = [0, 0, 0];
    for (let i = first; i < end; i++) {
      const flag = flags[i]!;
      if ((flag & IS_CANDIDATE) === 0) {
        run = 0;
        sum = 0;
        accessible = 0;
        continue;
      }
      run += 1;
      sum += scores[i]!;
      if ((flag & IS_ACCESSIBLE) !== 0) accessible += 1;
      if (run > size) {
        sum -= scores[i - size]!;
        if ((flags[i - size]! & IS_ACCESSIBLE) !== 0) accessible -= 1;
      }
      if (run < size || accessible < min || accessible > max) continue;
      const start = i - size + 1;
      const orphans = (start - first === 1 ? 1 : 0) + (end - i === 2 ? 1 : 0);
      if (orphans > 0 && isRefused(orphanMode, end - first - size)) continue;
      this.#consider(start, avoidOrphans ? orphans : 0, sum, near);
    }
  }

  #consider(start: number, orphans: number, sum: number, near: Point | null): void {
    const isFirst = this.sum === Infinity;
    if (!isFirst && orphans > this.orphans) return;
    let away = 0;
    if (near !== null) away = this.#distanceTo(near, this.#seatsFrom(start));
    if (!isFirst && orphans === this.orphans) {
      if (away > this.distance) return;
      if (away === this.distance) {
        if (sum > this.sum) return;
        if (sum === this.sum && !this.#comesBefore(start, this.#start)) return;
      }
    }
    this.orphans = orphans;
    this.distance = away;
    this.sum = sum;
    this.#start = start;
  }

  #seatsFrom(start: number): readonly number[] {
    const from = this.units.starts[this.#unit]! + start;
    return Array.from(this.units.seats.subarray(from, from + this.#size));
  }

  #leastOf(start: number): number {
    const from = this.units.starts[this.#unit]! + start;
    let least: number = NONE;
    for (let i = from; i < from + this.#size; i++) least = Math.min(least, this.units.seats[i]!);
    return least;
  }

  /** Whether the ids of one block, rising, are smaller than those of another one. */
  #comesBefore(start: number, other: number): boolean {
    const [least, otherLeast] = [this.#leastOf(start), this.#leastOf(other)];
    if (least !== otherLeast) return least < otherLeast;
    return comesBefore(this.#seatsFrom(start), this.#seatsFrom(other));
  }

  #findAtTable(size: number, near: Point | null): void {
    const places: number[] = [];
    for (let i = 0; i < this.#length; i++) {
      if ((this.#flags[i]! & IS_CANDIDATE) !== 0) places.push(i);
    }
    const best = this.#bestAtTable(size, places);
    if (best === null) return;
    this.orphans = 0;
    const isAnyOpen = this.#accessibleMin === 0 && places.length <= TABLE_CHOICES_MAX;
    if (near === null || !isAnyOpen) this.#choose(best, near);
    else for (const chosen of subsets(places, size)) this.#choose(chosen, near);
  }

  /** The places are in order of score and id, so the first ones are the best. */
  #bestAtTable(size: number, places: readonly number[]): readonly number[] | null {
    const [min, max] = [this.#accessibleMin, this.#accessibleMax];
    const isAccessible = (place: number) => (this.#flags[place]! & IS_ACCESSIBLE) !== 0;
    const first = places.slice(0, size);
    const accessible = first.filter(isAccessible).length;
    if (accessible >= min && accessible <= max) return first;
    const wanted = accessible < min ? min : max;
    const chosen = places.filter(isAccessible).slice(0, wanted);
    chosen.push(...places.filter((place) => !isAccessible(place)).slice(0, size - wanted));
    return chosen.length === size ? chosen.sort((a, b) => a - b) : null;
  }

  #choose(places: readonly number[], near: Point | null): void {
    const { seats, starts } = this.units;
    const chosen = places.map((place) => seats[starts[this.#unit]! + place]!);
    const sum = places.reduce((total, place) => total + this.#scores[place]!, 0);
    const away = near === null ? 0 : this.#distanceTo(near, chosen);
    if (this.sum < Infinity) {
      if (away > this.distance) return;
      if (away === this.distance && sum > this.sum) return;
      const isSame = away === this.distance && sum === this.sum;
      if (isSame && !comesBefore(chosen, this.#chosen)) return;
    }
    this.distance = away;
    this.sum = sum;
    this.least = Math.min(...chosen);
    this.#chosen = chosen;
  }

  /** The least distance that a block of the unit can have; 0 when nothing is known of it. */
  distanceAtLeast(unit: number, near: Point): number {
    const { bounds } = this.units;
    const left = bounds[4 * unit]!;
    if (Number.isNaN(near.x) || Number.isNaN(left)) return 0;
    const dx = Math.max(left - near.x, 0, near.x - bounds[4 * unit + 2]!);
    const dy = Math.max(bounds[4 * unit + 1]! - near.y, 0, near.y - bounds[4 * unit + 3]!);
    return distance(dx, dy);
  }

  /** Infinity for a block without a position. */
  #distanceTo(near: Point, seats: readonly number[]): number {
    if (Number.isNaN(near.x)) return 0;
    const mean = meanOf(this.#partition, seats);
    return Number.isNaN(mean.x) ? Infinity : distance(mean.x - near.x, mean.y - near.y);
  }

  /** The seats of the block found last, in no order. */
  get seats(): readonly number[] {
    const isTable = this.units.isTable[this.#unit] === 1;
    return isTable ? this.#chosen : this.#seatsFrom(this.#start);
  }
}

/**
 * True where a request may leave no new orphan. @param left - Seats of the stretch that it leaves:
 * with the last one, every choice of as many would leave an orphan.
 */
function isRefused(mode: OrphanMode, left: number): boolean {
  return mode === "strict" || (mode === "lenient" && left > 1);
}

function rowsOf({ layout }: SeatsOfEvent, groupIds: readonly number[]): ReadonlySet<number> {
  const rows = new Set<number>();
  for (const id of groupIds) {
    const { type, index } = layout.groups.get(id)!;
    if (type === "ROW") rows.add(index);
    else for (const row of layout.sections[index]!.rows) rows.add(row);
  }
  return rows;
}

/** The mean of the positions of the seats that have one; NaN when none has. */
export function meanOf({ layout: { x, y } }: SeatsOfEvent, seats: readonly number[]): Point {
  let [left, top, count] = [0, 0, 0];
  for (const seat of seats) {
    if (Number.isNaN(x[seat]!)) continue;
    left += x[seat]!;
    top += y[seat]!;
    count += 1;
  }
  return { x: left / count, y: top / count };
}

function comesBefore(seats: readonly number[], others: readonly number[]): boolean {
  const [a, b] = [seats, others].map((list) => list.toSorted((one, two) => one - two));
  const at = a!.findIndex((seat, i) => seat !== b![i]);
  return at >= 0 && a![at]! < b![at]!;
}

/** Every choice of `size` items, in their order. */
function* subsets(items: readonly number[], size: number, from = 0): Generator<number[], void> {
  if (size === 0) {
    yield [];
    return;
  }
  for (let i = from; i + size <= items.length; i++) {
    for (const rest of subsets(items, size - 1, i + 1)) yield [items[i]!, ...rest];
  }
}
