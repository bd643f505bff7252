/**
 * Blocks: seats together that a request for the best places could take, within one unit of the
 * layout. One `Blocks` serves all filters of a partition, and evaluates one unit at a time. It
 * copies the unit first: its loops then run over small arrays of their own.
 */
import { assert } from "../assert.ts";
import type { OrphanMode } from "../catalog.ts";
import { BEST_QUANTITY_MAX, NONE } from "../constants.ts";
import type { Layout } from "../layout/layout.ts";
import { distance, Mark, type Point } from "../layout/seating.ts";
import { alongRows, type Units } from "../layout/units.ts";
import { isKeptFrom } from "./channels.ts";
import { SeatState } from "./states.ts";

/** The request without its size: blocks of every size are found under it. */
export interface Filter {
  /** Price slots; null for any. */
  readonly prices: ReadonlySet<number> | null;
  /** Ids of sections, tables and rows, rising; null for the whole hall. */
  readonly groupIds: readonly number[] | null;
  /** Accessible seats of the block: exactly, or with `includeAccessible` at least. */
  readonly accessible: number;
  readonly includeAccessible: boolean;
  readonly orphanMode: OrphanMode;
  /** A block with fewer new orphans is better. */
  readonly avoidOrphans: boolean;
  /** Slot of the channel whose seats may be taken beside those of none; 0 for none. */
  readonly channel: number;
}

/** Seats together. */
export interface Block {
  /** Seat indexes: of a run along the row, of a table in any order. */
  readonly seats: readonly number[];
  readonly unit: number;
}

/** The point to which a block is near. */
export interface Anchor extends Point {
  /**
   * Choices of seats at tables still compared one by one. A table with more is represented by its
   * block of the best scores: the nearest choice of k seats is a subset-sum problem.
   */
  choicesLeft: number;
}

/** The seats of a partition. Index: the seat index of the layout. */
export interface SeatsOfEvent {
  readonly layout: Layout;
  /** A `SeatState` each. */
  readonly state: Uint8Array;
  /** Price slots; 0 for none. */
  readonly price: Uint16Array;
  /** As in `SeatColumns`. */
  readonly channels: Uint8Array | null;
}

/** Sizes of blocks as bits: bit 0 of `low` is size 1, bit 0 of `high` size 33. */
export type Sizes = readonly [low: number, high: number];

/** Of a price in a set, and of a group: measured, rounded up. */
const [PRICE_BYTES, GROUP_BYTES] = [48, 8];

const [IS_ACTIVE, IS_CANDIDATE, IS_ACCESSIBLE] = [1, 2, 4];

/** A filter in terms of the columns. */
export class Criteria {
  readonly prices: ReadonlySet<number> | null;
  /** Rising; null for the whole hall. */
  readonly groupIds: Float64Array | null;
  /** Candidates have none of these marks. */
  readonly excluded: number;
  readonly accessibleMin: number;
  readonly accessibleMax: number;
  readonly orphanMode: OrphanMode;
  readonly avoidOrphans: boolean;
  readonly channel: number;

  constructor(filter: Filter) {
    const { prices, groupIds, accessible, includeAccessible } = filter;
    this.prices = prices;
    this.groupIds = groupIds === null ? null : Float64Array.from(groupIds);
    const isKept = accessible === 0 && !includeAccessible;
    this.excluded = isKept ? Mark.HIDDEN | Mark.ACCESSIBLE : Mark.HIDDEN;
    this.accessibleMin = accessible;
    this.accessibleMax = includeAccessible ? BEST_QUANTITY_MAX : accessible;
    this.orphanMode = filter.orphanMode;
    this.avoidOrphans = filter.avoidOrphans;
    this.channel = filter.channel;
  }

  /** Memory of prices and groups. */
  get bytes(): number {
    return PRICE_BYTES * (this.prices?.size ?? 0) + GROUP_BYTES * (this.groupIds?.length ?? 0);
  }

  /** Cost: O(log groups). */
  names(groupId: number): boolean {
    const ids = this.groupIds;
    return ids === null || ids[indexIn(ids, groupId)] === groupId;
  }
}

/** The index of the first item that is not smaller. @param rising - Sorted numbers. */
export function indexIn(rising: Float64Array | Uint32Array, wanted: number): number {
  let [low, high] = [0, rising.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rising[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Scratch of an event for one unit at a time; its members are those of the block found last.
 * Memory: 5 bytes per seat of the longest unit.
 */
export class Blocks {
  /** New orphans; 0 unless the filter avoids them. */
  orphans = 0;
  /** Whole drawing units; 0 unless nearness counts, Infinity for a block without a position. */
  distance = 0;
  sum = Infinity;
  /** The smallest seat index: blocks of two units have no seat in common. */
  least = NONE as number;
  readonly bytes: number;
  readonly #partition: SeatsOfEvent;
  readonly #units: Units;
  // The loaded unit, by the place of a seat in it.
  #criteria: Criteria | null = null;
  #unit = NONE as number;
  #length = 0;
  readonly #flags: Uint8Array;
  readonly #scores: Uint32Array;
  #candidates = 0;
  #accessible = 0;
  #lowSizes = 0;
  #highSizes = 0;
  // The block found last: `#size` seats of the unit from `#start` on, or at the `#chosen` places.
  #start = 0;
  #size = 0;
  readonly #chosen = new Uint32Array(BEST_QUANTITY_MAX);

  constructor(partition: SeatsOfEvent, units: Units) {
    this.#partition = partition;
    this.#units = units;
    this.#flags = new Uint8Array(units.longest);
    this.#scores = new Uint32Array(units.longest);
    this.bytes = this.#flags.byteLength + this.#scores.byteLength + this.#chosen.byteLength;
  }

  /** Candidates of the loaded unit. */
  get candidates(): number {
    return this.#candidates;
  }

  /**
   * Copies a unit with seats of the groups. Cost: O(its seats), usually 20.
   *
   * @param taken - Index: seat. Value: 1 for one that an earlier block of the request takes.
   */
  load(criteria: Criteria, unit: number, taken: Uint8Array | null = null): void {
    const { state, price, channels, layout } = this.#partition;
    const { marks, scores } = layout;
    const { seats, starts, isTable } = this.#units;
    const { prices, excluded, channel } = criteria;
    const start = starts[unit]!;
    const length = starts[unit + 1]! - start;
    const [flags, ownScores] = [this.#flags, this.#scores];
    // A run lies in one row, so the groups name all of it.
    const isPartial = criteria.groupIds !== null && isTable[unit] === 1;
    let [candidates, accessible] = [0, 0];
    for (let i = 0; i < length; i++) {
      const seat = seats[start + i]!;
      flags[i] = 0;
      if (state[seat] !== SeatState.ACTIVE || (taken !== null && taken[seat] === 1)) continue;
      flags[i] = IS_ACTIVE;
      const mark = marks[seat]!;
      const slot = price[seat]!;
      if ((mark & excluded) !== 0 || slot === 0) continue;
      if (prices !== null && !prices.has(slot)) continue;
      if (isPartial && !isNamed(layout, criteria, seat)) continue;
      if (channels !== null && isKeptFrom(channels, seat, channel)) continue;
      ownScores[i] = scores[seat]!;
      candidates += 1;
      if ((mark & Mark.ACCESSIBLE) === 0) flags[i] = IS_ACTIVE | IS_CANDIDATE;
      else {
        flags[i] = IS_ACTIVE | IS_CANDIDATE | IS_ACCESSIBLE;
        accessible += 1;
      }
    }
    this.#criteria = criteria;
    this.#unit = unit;
    this.#length = length;
    this.#candidates = candidates;
    this.#accessible = accessible;
  }

  /** The sizes of which the loaded unit has a block, up to 50. Cost: O(its seats), one pass. */
  sizes(): Sizes {
    const { accessibleMin: min, accessibleMax: max } = this.#criteria!;
    this.#lowSizes = 0;
    this.#highSizes = 0;
    if (this.#accessible < min || this.#candidates === 0) return [0, 0];
    if (this.#units.isTable[this.#unit] === 1) {
      const others = this.#candidates - this.#accessible;
      this.#addSizes(Math.max(min, 1), others + Math.min(max, this.#accessible));
    } else {
      for (let at = 0; at < this.#length; at++) {
        if (this.#flags[at] === 0) continue;
        const first = at;
        while (at < this.#length && this.#flags[at] !== 0) at += 1;
        this.#addSizesOf(first, at);
      }
    }
    return [this.#lowSizes, this.#highSizes];
  }

  /** The sizes from `first`, at least 1, to `last`, and none above the largest quantity. */
  #addSizes(first: number, last: number): void {
    const most = Math.min(last, BEST_QUANTITY_MAX);
    if (first > most) return;
    this.#lowSizes |= onesBelow(most) & ~onesBelow(first - 1);
    if (most > 32) this.#highSizes |= onesBelow(most - 32) & ~onesBelow(Math.max(first - 33, 0));
  }

  /**
   * For each last seat of a block, its first seats form a range: with `min` accessible ones from
   * `latest` back, with `max` up to `earliest`.
   */
  #addSizesOf(first: number, end: number): void {
    const flags = this.#flags;
    const { accessibleMin: min, accessibleMax: max, orphanMode } = this.#criteria!;
    // Without a wish for accessible seats every shorter block is one, too.
    const isSimple = orphanMode === "off" && min === 0;
    let longest = 0;
    let [earliest, latest] = [first, first];
    let [fromEarliest, fromLatest] = [0, 0];
    for (let last = first; last < end; last++) {
      if ((flags[last]! & IS_CANDIDATE) === 0) {
        earliest = last + 1;
        latest = last + 1;
        fromEarliest = 0;
        fromLatest = 0;
        continue;
      }
      const own = accessibleIn(flags[last]!);
      fromEarliest += own;
      fromLatest += own;
      while (fromEarliest > max) fromEarliest -= accessibleIn(flags[earliest++]!);
      while (latest < last && fromLatest - accessibleIn(flags[latest]!) >= min)
        fromLatest -= accessibleIn(flags[latest++]!);
      if (fromLatest < min) continue;
      const [smallest, largest] = [last - latest + 1, last - earliest + 1];
      if (isSimple) {
        longest = Math.max(longest, largest);
        continue;
      }
      if (orphanMode === "off") {
        this.#addSizes(smallest, largest);
        continue;
      }
      // The block of all but one seat: from the first seat, or to the last one.
      const allButOne = end - first - 1;
      const isSpared = orphanMode === "lenient";
      if (end - last === 2) {
        if (isSpared && earliest === first) this.#addSizes(allButOne, allButOne);
        continue;
      }
      const fromSecond = last - first;
      if (isSpared && fromSecond === allButOne) this.#addSizes(smallest, largest);
      else {
        this.#addSizes(smallest, Math.min(largest, fromSecond - 1));
        this.#addSizes(Math.max(smallest, fromSecond + 1), largest);
      }
    }
    this.#addSizes(1, longest);
  }

  /**
   * Finds the best block of the size in the loaded unit: fewer new orphans, then nearer, then the
   * smaller sum of scores, then the smaller ids.
   *
   * @param near - Null when nearness does not count.
   * @returns False without a block. Cost: O(seats of the unit); with `near` times the size, and at a
   * table O(choices), as many as the anchor has left.
   */
  find(size: number, near: Anchor | null = null): boolean {
    assert(size >= 1 && size <= BEST_QUANTITY_MAX, "a block has a place");
    this.sum = Infinity;
    this.least = NONE;
    this.orphans = 0;
    this.distance = 0;
    this.#size = size;
    if (this.#candidates < size || this.#accessible < this.#criteria!.accessibleMin) return false;
    if (this.#units.isTable[this.#unit] === 1) this.#findAtTable(near);
    else this.#findInRun(near);
    return this.sum < Infinity;
  }

  #findInRun(near: Anchor | null): void {
    const [flags, length] = [this.#flags, this.#length];
    let at = 0;
    while (at < length) {
      if (flags[at] === 0) {
        at += 1;
        continue;
      }
      const first = at;
      while (at < length && flags[at] !== 0) at += 1;
      if (at - first >= this.#size) this.#findInStretch(first, at, near);
    }
    if (this.sum < Infinity) this.least = this.#leastBetween(this.#start, this.#start + this.#size);
  }

  /** ACTIVE neighbours from `first` to before `end`, of which the candidates may be taken. */
  #findInStretch(first: number, end: number, near: Anchor | null): void {
    const [flags, scores, size] = [this.#flags, this.#scores, this.#size];
    const { accessibleMin, accessibleMax, orphanMode, avoidOrphans } = this.#criteria!;
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
      accessible += accessibleIn(flag);
      if (run > size) {
        sum -= scores[i - size]!;
        accessible -= accessibleIn(flags[i - size]!);
      }
      if (run < size || accessible < accessibleMin || accessible > accessibleMax) continue;
      const start = i - size + 1;
      const orphans = (start - first === 1 ? 1 : 0) + (end - i === 2 ? 1 : 0);
      if (orphans > 0 && isRefused(orphanMode, end - first - size)) continue;
      this.#consider(start, avoidOrphans ? orphans : 0, sum, near);
    }
  }

  #consider(start: number, orphans: number, sum: number, near: Anchor | null): void {
    const isFirst = this.sum === Infinity;
    if (!isFirst && orphans > this.orphans) return;
    const away = near === null ? 0 : this.#distanceOfRun(near, start);
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

  #distanceOfRun(near: Anchor, start: number): number {
    const { x, y } = this.#partition.layout;
    const { seats, starts } = this.#units;
    const from = starts[this.#unit]! + start;
    let [left, top, placed] = [0, 0, 0];
    for (let i = from; i < from + this.#size; i++) {
      const seat = seats[i]!;
      if (Number.isNaN(x[seat]!)) continue;
      left += x[seat]!;
      top += y[seat]!;
      placed += 1;
    }
    return distanceTo(near, left / placed, top / placed);
  }

  /** The smallest seat index of the places from `from` to before `to`; NONE for no place. */
  #leastBetween(from: number, to: number): number {
    const { seats, starts } = this.#units;
    const offset = starts[this.#unit]!;
    let least: number = NONE;
    for (let i = offset + from; i < offset + to; i++) least = Math.min(least, seats[i]!);
    return least;
  }

  /**
   * Lexicographic order of the rising ids: of two sets of one size, the one with the smallest id
   * that is not in both comes first.
   */
  #comesBefore(start: number, other: number): boolean {
    const size = this.#size;
    const shift = Math.min(Math.abs(start - other), size);
    const isLater = start > other;
    const own = isLater ? start + size - shift : start;
    const others = isLater ? other : other + size - shift;
    return this.#leastBetween(own, own + shift) < this.#leastBetween(others, others + shift);
  }

  #findAtTable(near: Anchor | null): void {
    if (!this.#chooseByScore()) return;
    if (near !== null) {
      // Later blocks of a request ask for no accessible seat, so any candidates are a block.
      assert(this.#criteria!.accessibleMin === 0, "a block is near without a wish for its seats");
      const isPlaced = !Number.isNaN(this.#units.bounds[4 * this.#unit]!);
      const choices = choicesOf(this.#candidates, this.#size, near.choicesLeft);
      if (!isPlaced || choices === 1 || choices > near.choicesLeft)
        this.distance = this.#distanceOfChosen(near);
      else {
        near.choicesLeft -= choices;
        this.#chooseNearest(near);
      }
    }
    this.sum = 0;
    for (let i = 0; i < this.#size; i++) {
      this.sum += this.#scores[this.#chosen[i]!]!;
      this.least = Math.min(this.least, this.#seatAt(this.#chosen[i]!));
    }
  }

  #seatAt(place: number): number {
    return this.#units.seats[this.#units.starts[this.#unit]! + place]!;
  }

  /** The places are in order of score and id, so the first ones are the best. */
  #chooseByScore(): boolean {
    const [flags, size] = [this.#flags, this.#size];
    const { accessibleMin, accessibleMax } = this.#criteria!;
    let [seen, accessible] = [0, 0];
    for (let i = 0; seen < size; i++) {
      if ((flags[i]! & IS_CANDIDATE) === 0) continue;
      seen += 1;
      accessible += accessibleIn(flags[i]!);
    }
    let wanted = Math.min(Math.max(accessible, accessibleMin), accessibleMax);
    let others = size - wanted;
    if (others < 0 || others > this.#candidates - this.#accessible) return false;
    for (let i = 0, at = 0; at < size; i++) {
      if ((flags[i]! & IS_CANDIDATE) === 0) continue;
      const isAccessible = accessibleIn(flags[i]!) === 1;
      if (isAccessible ? wanted === 0 : others === 0) continue;
      if (isAccessible) wanted -= 1;
      else others -= 1;
      this.#chosen[at++] = i;
    }
    return true;
  }

  #distanceOfChosen(near: Anchor): number {
    const { x, y } = this.#partition.layout;
    let [left, top, placed] = [0, 0, 0];
    for (let i = 0; i < this.#size; i++) {
      const seat = this.#seatAt(this.#chosen[i]!);
      if (Number.isNaN(x[seat]!)) continue;
      left += x[seat]!;
      top += y[seat]!;
      placed += 1;
    }
    return distanceTo(near, left / placed, top / placed);
  }

  /** Compares every choice, in lexicographic order of the ids: the first of equal ones is best. */
  #chooseNearest(near: Anchor): void {
    const { x, y } = this.#partition.layout;
    const size = this.#size;
    const places: number[] = [];
    for (let i = 0; i < this.#length; i++)
      if ((this.#flags[i]! & IS_CANDIDATE) !== 0) places.push(i);
    places.sort((a, b) => this.#seatAt(a) - this.#seatAt(b));
    // Index: depth. Value: the place chosen there, and the sums of those before it.
    const picks = new Int32Array(size).fill(-1);
    const sums = Array.from({ length: size + 1 }, () => new Float64Array(4));
    let [bestDistance, bestSum] = [Infinity, Infinity];
    for (let depth = 0; depth >= 0;) {
      const at = ++picks[depth]!;
      if (at + size - depth > places.length) {
        depth -= 1;
        continue;
      }
      const seat = this.#seatAt(places[at]!);
      const left = x[seat]!;
      const isPlaced = !Number.isNaN(left);
      const [before, now] = [sums[depth]!, sums[depth + 1]!];
      now[0] = before[0]! + (isPlaced ? left : 0);
      now[1] = before[1]! + (isPlaced ? y[seat]! : 0);
      now[2] = before[2]! + (isPlaced ? 1 : 0);
      now[3] = before[3]! + this.#scores[places[at]!]!;
      depth += 1;
      if (depth < size) {
        picks[depth] = at;
        continue;
      }
      depth -= 1;
      const away = distanceTo(near, now[0] / now[2], now[1] / now[2]);
      if (away > bestDistance || (away === bestDistance && now[3] >= bestSum)) continue;
      bestDistance = away;
      bestSum = now[3];
      for (let i = 0; i < size; i++) this.#chosen[i] = places[picks[i]!]!;
    }
    this.distance = bestDistance;
  }

  /** The block found last. */
  get block(): Block {
    const [unit, size] = [this.#unit, this.#size];
    const { seats, starts, isTable } = this.#units;
    if (isTable[unit] === 1) {
      const chosen = Array.from(this.#chosen.subarray(0, size), (place) => this.#seatAt(place));
      return { unit, seats: chosen };
    }
    const from = starts[unit]! + this.#start;
    return { unit, seats: Array.from(seats.subarray(from, from + size)) };
  }

  /** The block with its seats along the rows. Cost: at a table O(seats of its rows). */
  inOrder({ unit, seats }: Block): Block {
    if (this.#units.isTable[unit] === 0) return { unit, seats };
    return { unit, seats: alongRows(this.#partition.layout, seats) };
  }
}

function accessibleIn(flag: number): number {
  return (flag & IS_ACCESSIBLE) === 0 ? 0 : 1;
}

function isNamed({ rows, rowOfSeat, sections }: Layout, criteria: Criteria, seat: number): boolean {
  const row = rows[rowOfSeat[seat]!]!;
  return criteria.names(row.id) || criteria.names(sections[row.section]!.id);
}

/** The lowest `count` bits, at most 32. */
function onesBelow(count: number): number {
  return count >= 32 ? -1 : (1 << count) - 1;
}

export function hasSize([low, high]: Sizes, size: number): boolean {
  return size <= 32 ? ((low >>> (size - 1)) & 1) === 1 : ((high >>> (size - 33)) & 1) === 1;
}

/**
 * True where a request may leave no new orphan. @param left - Seats of the stretch that it leaves:
 * with the last one, every choice of as many would leave an orphan.
 */
function isRefused(mode: OrphanMode, left: number): boolean {
  return mode === "strict" || (mode === "lenient" && left > 1);
}

/** Choices of `size` of `count` seats; above `most` any number above it. */
function choicesOf(count: number, size: number, most: number): number {
  let choices = 1;
  for (let i = 1; i <= Math.min(size, count - size); i++) {
    choices = (choices * (count - i + 1)) / i;
    if (choices > most) return choices;
  }
  return choices;
}

/** Infinity for a block without a position. */
function distanceTo(near: Anchor, x: number, y: number): number {
  const away = distance(x - near.x, y - near.y);
  return Number.isNaN(away) ? Infinity : away;
}

/** The mean of the positions of the seats that have one; null when none has. */
export function meanOf({ layout: { x, y } }: SeatsOfEvent, seats: readonly number[]): Point | null {
  let [left, top, count] = [0, 0, 0];
  for (const seat of seats) {
    if (Number.isNaN(x[seat]!)) continue;
    left += x[seat]!;
    top += y[seat]!;
    count += 1;
  }
  return count === 0 ? null : { x: left / count, y: top / count };
}
