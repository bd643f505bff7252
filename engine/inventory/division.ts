/** A quantity in several blocks, one after the other, each of what those before it leave. */
import { assert } from "../assert.ts";
import { NONE } from "../constants.ts";
import { distanceToBounds } from "../layout/units.ts";
import { type Anchor, type Block, hasSize, meanOf, type Sizes } from "./blocks.ts";
import { Tournament } from "./tournament.ts";
import {
  type Census,
  countChange,
  type IndexSource,
  isBound,
  largestIn,
  type Ranking,
} from "./unit-indexes.ts";

/** Choices of seats at tables that one request compares, at most: a millisecond. */
const CHOICES_MAX = 100_000;

/**
 * The partition must not change before it ends. Memory while it lasts: for each size asked, a
 * ranking and 25 bytes per unit; besides a byte per seat.
 */
export class Division {
  readonly #source: IndexSource;
  readonly #census: Census;
  readonly #rankingOf: (size: number) => Ranking;
  /** Index: size. Value: units that have a block of it now. */
  readonly #having: Int32Array;
  /** Index: seat. Value: 1 when a block has it. */
  readonly #taken: Uint8Array;
  /** By unit with taken seats: its sizes now. */
  readonly #changed = new Map<number, Sizes>();
  /** By size. */
  readonly #orders = new Map<number, NearestUnits>();
  /** Null before the first block, and when that has no position. */
  #anchor: Anchor | null = null;

  constructor(source: IndexSource, census: Census, rankingOf: (size: number) => Ranking) {
    this.#source = source;
    this.#census = census;
    this.#rankingOf = rankingOf;
    this.#having = census.copyHaving();
    this.#taken = new Uint8Array(source.units.seats.length);
  }

  /** Sets the point to which later blocks are near: the middle of the block. */
  anchorTo({ seats }: Block): void {
    const mean = meanOf(this.#source.partition, seats);
    this.#anchor = mean === null ? null : { ...mean, choicesLeft: CHOICES_MAX };
  }

  /** The largest size up to `most` of which there is a block; 0 for none. */
  largest(most: number): number {
    return largestIn(this.#having, most);
  }

  /** True when another unit has a block of the size. */
  hasBeside(size: number, unit: number): boolean {
    return this.#having[size]! > (hasSize(this.#sizesOf(unit), size) ? 1 : 0);
  }

  take({ seats, unit }: Block): void {
    for (const seat of seats) this.#taken[seat] = 1;
    this.#recount(unit);
  }

  giveBack({ seats, unit }: Block): void {
    for (const seat of seats) this.#taken[seat] = 0;
    this.#recount(unit);
  }

  #recount(unit: number): void {
    const { blocks } = this.#source;
    blocks.load(this.#census.criteria, unit, this.#taken);
    const now = blocks.sizes();
    countChange(this.#having, this.#sizesOf(unit), now);
    this.#changed.set(unit, now);
    for (const order of this.#orders.values()) order.reset(unit);
  }

  #sizesOf(unit: number): Sizes {
    return this.#changed.get(unit) ?? this.#census.sizesOf(unit);
  }

  /**
   * The best block of the size: with the fewest new orphans, then nearest to the anchor. Cost: O(units)
   * the first time for a size, then O(log units) for each unit evaluated, and its seats: those
   * changed since, and those that come first by bound. No unit is evaluated twice without a change.
   */
  nearest(size: number): Block | null {
    let order = this.#orders.get(size);
    if (order === undefined) {
      const leftovers = { taken: this.#taken, changed: this.#changed };
      order = new NearestUnits(this.#source, this.#rankingOf(size), this.#anchor, leftovers);
      this.#orders.set(size, order);
    }
    return order.best();
  }
}

/** The state of the seats after the earlier blocks of a request. */
interface Leftovers {
  /** Index: seat. Value: 1 when a block has it. */
  readonly taken: Uint8Array;
  /** The units with other seats than their ranking has. */
  readonly changed: ReadonlyMap<number, unknown>;
}

/** No block: after all numbers of new orphans. */
const NO_BLOCK = 255;

/**
 * The units by their best block of one size near the anchor. As in a ranking, a unit is evaluated
 * when it comes first; until then its distance is that of its bounds, and its sum a bound.
 */
class NearestUnits {
  readonly #source: IndexSource;
  readonly #ranking: Ranking;
  readonly #anchor: Anchor | null;
  readonly #leftovers: Leftovers;
  /** By entry of the ranking, as the members of `Blocks`. */
  readonly #orphans: Uint8Array;
  readonly #distances: Float64Array;
  readonly #sums: Float64Array;
  readonly #least: Uint32Array;
  readonly #tournament: Tournament;
  /** By entry. Kept, as a second search at a table could exceed the choices left. */
  readonly #blocks = new Map<number, Block>();

  constructor(source: IndexSource, ranking: Ranking, anchor: Anchor | null, leftovers: Leftovers) {
    const { count } = ranking;
    this.#source = source;
    this.#ranking = ranking;
    this.#anchor = anchor;
    this.#leftovers = leftovers;
    this.#orphans = new Uint8Array(count);
    this.#distances = new Float64Array(count);
    this.#sums = new Float64Array(count);
    this.#least = new Uint32Array(count).fill(NONE);
    this.#tournament = new Tournament(count, (a, b) => this.#precedes(a, b));
    for (let entry = 0; entry < count; entry++) this.#bound(entry);
    this.#tournament.rebuild();
  }

  #precedes(a: number, b: number): boolean {
    const [orphans, distances, sums] = [this.#orphans, this.#distances, this.#sums];
    if (orphans[a] !== orphans[b]) return orphans[a]! < orphans[b]!;
    if (distances[a] !== distances[b]) return distances[a]! < distances[b]!;
    return sums[a] === sums[b] ? this.#least[a]! <= this.#least[b]! : sums[a]! < sums[b]!;
  }

  /** Puts the unit before all that it can be. */
  #bound(entry: number): void {
    const unit = this.#ranking.unitOf(entry);
    this.#distances[entry] =
      this.#anchor === null ? 0 : distanceToBounds(this.#source.units, unit, this.#anchor);
    const sum = this.#ranking.sumAtLeast(entry);
    this.#sums[entry] = sum;
    this.#least[entry] = NONE;
    this.#orphans[entry] = sum === Infinity ? NO_BLOCK : 0;
    if (!this.#leftovers.changed.has(unit)) this.#adopt(entry);
  }

  /** Takes over what the ranking knows of an unchanged unit. */
  #adopt(entry: number): void {
    const orphans = this.#ranking.orphansOf(entry);
    this.#orphans[entry] = orphans === Infinity ? NO_BLOCK : orphans;
    if (this.#anchor !== null || orphans === Infinity) return;
    this.#sums[entry] = this.#ranking.sumOf(entry);
    this.#least[entry] = this.#ranking.leastOf(entry);
  }

  /** Follows a change of the unit's taken seats. Cost: O(log units). */
  reset(unit: number): void {
    const entry = this.#ranking.entryOf(unit);
    this.#blocks.delete(entry);
    this.#bound(entry);
    this.#tournament.replay(entry);
  }

  best(): Block | null {
    if (this.#ranking.count === 0) return null;
    for (;;) {
      const entry = this.#tournament.first;
      if (this.#orphans[entry] === NO_BLOCK) return null;
      if (!isBound(this.#sums[entry]!)) return this.#blockAt(entry);
      this.#evaluate(entry);
      this.#tournament.replay(entry);
    }
  }

  /** Makes the members of a unit exact, or its orphans alone where these are more than expected. */
  #evaluate(entry: number): void {
    const unit = this.#ranking.unitOf(entry);
    if (!this.#leftovers.changed.has(unit)) {
      const expected = this.#orphans[entry]!;
      this.#ranking.evaluate(entry);
      this.#adopt(entry);
      if (this.#anchor === null || this.#orphans[entry] !== expected) return;
    }
    const { blocks } = this.#source;
    const isFound = this.#find(entry);
    this.#orphans[entry] = isFound ? blocks.orphans : NO_BLOCK;
    this.#distances[entry] = blocks.distance;
    this.#sums[entry] = blocks.sum;
    this.#least[entry] = blocks.least;
    if (isFound) this.#blocks.set(entry, blocks.block);
  }

  #find(entry: number): boolean {
    const { blocks } = this.#source;
    const { criteria, size } = this.#ranking;
    const unit = this.#ranking.unitOf(entry);
    const { changed, taken } = this.#leftovers;
    blocks.load(criteria, unit, changed.has(unit) ? taken : null);
    return blocks.find(size, this.#anchor);
  }

  #blockAt(entry: number): Block {
    const { blocks } = this.#source;
    const known = this.#blocks.get(entry);
    if (known !== undefined) return blocks.inOrder(known);
    const isFound = this.#find(entry);
    assert(isFound, "a ranking is up to date");
    return blocks.inOrder(blocks.block);
  }
}
