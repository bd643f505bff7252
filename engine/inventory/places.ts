/**
 * The index of the best places of one event. A ranking keeps the best block of each unit for one
 * filter and size, and the best of all as the winner of a tournament; a census keeps the sizes of
 * blocks that each unit has. Both are made for their first request, and brought up to date by the
 * next one: they follow the list of changed seats, so a lock or a sale costs nothing more. Nothing
 * of it is stored, and nothing depends on it but the time that an answer takes.
 */
import { assert } from "../assert.ts";
import { BEST_QUANTITY_MAX, NONE } from "../constants.ts";
import type { Point } from "../layout/seating.ts";
import { alongRows, type Units, unitsOf, unitsOfGroups } from "../layout/units.ts";
import {
  Blocks,
  type Filter,
  isBetter,
  meanOf,
  type Quality,
  type SeatsOfEvent,
} from "./blocks.ts";

/** Memory of the index of one event, per seat: within the estimate of `EVENT_SEAT_BYTES`. */
const BYTES_PER_SEAT = 24;
/** Of a ranking or a census besides its columns. */
const INDEX_BYTES = 1_024;

/** Seats together. */
export interface Block {
  /** Seat indexes, along the row. */
  readonly seats: readonly number[];
  readonly unit: number;
}

/** As a partition has them. */
interface ChangingSeats extends SeatsOfEvent {
  readonly changes: {
    readonly touches: number;
    /** The seat changed last. */
    readonly newest: number;
    /** The seat changed just before `seat`. */
    earlierThan(seat: number): number;
  };
}

export class Places {
  readonly #partition: ChangingSeats;
  readonly #units: Units;
  /** By filter and size, the one used last at the end. */
  readonly #indexes = new Map<string, Ranking | Census>();
  /** Estimated memory of the indexes. */
  bytes = 0;

  constructor(partition: ChangingSeats) {
    this.#partition = partition;
    this.#units = unitsOf(partition.layout);
  }

  /**
   * The best block of the size; null for none. Cost: O(units changed since the same was asked, each
   * with its seats and a path of the tournament); the first time O(seats).
   */
  best(filter: Filter, size: number): Block | null {
    const key = `${size} ${keyOf(filter)}`;
    const ranking = this.#find(key, () => new Ranking(this.#partition, filter, size));
    assert(ranking instanceof Ranking, "the keys of rankings begin with a size");
    return ranking.best();
  }

  /** Cost: as `best`. */
  census(filter: Filter): Census {
    const census = this.#find(keyOf(filter), () => new Census(this.#partition, filter));
    assert(census instanceof Census, "the keys of censuses begin with a filter");
    return census;
  }

  #find(key: string, make: () => Ranking | Census): Ranking | Census {
    const known = this.#indexes.get(key);
    const found = known ?? make();
    if (known === undefined) this.bytes += found.bytes;
    else this.#indexes.delete(key);
    this.#indexes.set(key, found);
    found.update();
    for (const [oldest, index] of this.#indexes) {
      if (this.bytes <= BYTES_PER_SEAT * this.#units.seats.length) break;
      this.#indexes.delete(oldest);
      this.bytes -= index.bytes;
    }
    return found;
  }
}

function keyOf(filter: Filter): string {
  const { prices, groupIds, accessible, includeAccessible, orphanMode, avoidOrphans } = filter;
  const slots = prices === null ? "any" : [...prices].sort((a, b) => a - b).join();
  const groups = groupIds === null ? "all" : groupIds.join();
  const flags = `${includeAccessible ? "+" : ""}${orphanMode}${avoidOrphans ? "-" : ""}`;
  return `p${slots} g${groups} a${accessible}${flags}`;
}

/** Per-unit columns, updated lazily from the change list. */
abstract class UnitIndex {
  protected readonly partition: ChangingSeats;
  protected readonly blocks: Blocks;
  /** The unit of each entry; null for all units in order. */
  protected readonly list: Uint32Array | null;
  protected readonly count: number;
  /** The entry of each unit of `list`. */
  readonly #entryOf: ReadonlyMap<number, number> | null;
  readonly #seatCount: number;
  /** `ChangeList.touches` of the last update. */
  #touches = -1;

  constructor(partition: ChangingSeats, filter: Filter) {
    this.partition = partition;
    this.blocks = new Blocks(partition, filter);
    const { units } = this.blocks;
    const { groupIds } = filter;
    this.list = groupIds === null ? null : unitsOfGroups(partition.layout, groupIds);
    this.count = this.list?.length ?? units.count;
    this.#entryOf = this.list === null ? null : new Map(Array.from(this.list, (u, i) => [u, i]));
    let seatCount = 0;
    for (let entry = 0; entry < this.count; entry++) {
      const unit = this.unitOf(entry);
      seatCount += units.starts[unit + 1]! - units.starts[unit]!;
    }
    this.#seatCount = seatCount;
  }

  protected unitOf(entry: number): number {
    return this.list === null ? entry : this.list[entry]!;
  }

  update(): void {
    const { changes } = this.partition;
    const behind = changes.touches - this.#touches;
    if (this.#touches < 0 || behind > this.#seatCount) this.rebuild();
    else if (behind > 0) this.#follow(behind);
    this.#touches = changes.touches;
  }

  /** The last touched seats end the list of changes. */
  #follow(touches: number): void {
    const { changes } = this.partition;
    const { unitOfSeat } = this.blocks.units;
    const entries = new Set<number>();
    let seat = changes.newest;
    for (let left = touches; left > 0 && seat !== NONE; left--) {
      const unit = unitOfSeat[seat]!;
      const entry = this.#entryOf === null ? unit : this.#entryOf.get(unit);
      if (entry !== undefined) entries.add(entry);
      seat = changes.earlierThan(seat);
    }
    for (const entry of entries) this.refresh(entry);
  }

  abstract readonly bytes: number;

  protected abstract rebuild(): void;

  protected abstract refresh(entry: number): void;
}

/** The best block of the size in each unit, and the best of these. */
class Ranking extends UnitIndex {
  readonly bytes: number;
  readonly #size: number;
  /** By entry: new orphans and the sum of scores as one number; Infinity without a block. */
  readonly #ranks: Float64Array;
  /** By entry: the smallest seat index of the block. */
  readonly #least: Uint32Array;
  /** The tournament: entry i is its leaf `count + i`, and node n the better of 2n and 2n + 1. */
  readonly #winners: Uint32Array;

  constructor(partition: ChangingSeats, filter: Filter, size: number) {
    super(partition, filter);
    this.#size = size;
    this.#ranks = new Float64Array(this.count);
    this.#least = new Uint32Array(this.count);
    this.#winners = new Uint32Array(this.count);
    this.bytes = INDEX_BYTES + (this.list === null ? 16 : 80) * this.count;
  }

  best(): Block | null {
    if (this.count === 0) return null;
    const entry = this.count === 1 ? 0 : this.#winners[1]!;
    if (this.#ranks[entry] === Infinity) return null;
    const { blocks } = this;
    const unit = this.unitOf(entry);
    blocks.load(unit);
    const isFound = blocks.find(this.#size);
    assert(isFound, "a ranking is up to date");
    return { unit, seats: alongRows(this.partition.layout, blocks.seats) };
  }

  protected override rebuild(): void {
    for (let entry = 0; entry < this.count; entry++) this.#evaluate(entry);
    for (let node = this.count - 1; node > 0; node--) this.#winners[node] = this.#winner(node);
  }

  protected override refresh(entry: number): void {
    this.#evaluate(entry);
    for (let node = (this.count + entry) >> 1; node > 0; node >>= 1) {
      const before = this.#winners[node]!;
      const winner = this.#winner(node);
      this.#winners[node] = winner;
      if (before !== entry && winner !== entry) return;
    }
  }

  #evaluate(entry: number): void {
    const { blocks } = this;
    blocks.load(this.unitOf(entry));
    const isFound = blocks.find(this.#size);
    this.#ranks[entry] = isFound ? blocks.orphans * ORPHAN_RANK + blocks.sum : Infinity;
    this.#least[entry] = blocks.least;
  }

  #winner(node: number): number {
    const [a, b] = [this.#entryAt(2 * node), this.#entryAt(2 * node + 1)];
    const [rank, other] = [this.#ranks[a]!, this.#ranks[b]!];
    if (rank !== other) return rank < other ? a : b;
    return this.#least[a]! <= this.#least[b]! ? a : b;
  }

  #entryAt(node: number): number {
    return node < this.count ? this.#winners[node]! : node - this.count;
  }
}

/** More than the sum of all scores of a block. */
const ORPHAN_RANK = 2 ** 40;

/** The sizes of the blocks in each unit. */
export class Census extends UnitIndex {
  readonly bytes: number;
  /** Candidates of all units. */
  candidates = 0;
  /** Index: size. Value: units that have a block of it. */
  readonly #having = new Int32Array(BEST_QUANTITY_MAX + 1);
  /** By entry: its sizes up to 32, those above, and its candidates. */
  readonly #low: Uint32Array;
  readonly #high: Uint32Array;
  readonly #candidates: Uint32Array;

  constructor(partition: ChangingSeats, filter: Filter) {
    super(partition, filter);
    this.#low = new Uint32Array(this.count);
    this.#high = new Uint32Array(this.count);
    this.#candidates = new Uint32Array(this.count);
    this.bytes = INDEX_BYTES + (this.list === null ? 12 : 76) * this.count;
  }

  /** The largest size up to `most` of which there is a block; 0 for none. */
  largest(most: number): number {
    return largestOf(this.#having, most);
  }

  /** Begins a choice of several blocks. Nothing changes the partition before it ends. */
  divide(): Division {
    return new Division({
      partition: this.partition,
      blocks: this.blocks,
      having: this.#having.slice(),
      count: this.count,
      unitOf: (entry) => this.unitOf(entry),
      has: (entry, size) => hasSize([this.#low[entry]!, this.#high[entry]!], size),
    });
  }

  protected override rebuild(): void {
    for (let entry = 0; entry < this.count; entry++) this.refresh(entry);
  }

  protected override refresh(entry: number): void {
    const { blocks } = this;
    blocks.load(this.unitOf(entry));
    const [low, high] = blocks.sizes();
    count(this.#having, this.#low[entry]! ^ low, low, 1);
    count(this.#having, this.#high[entry]! ^ high, high, 33);
    this.#low[entry] = low;
    this.#high[entry] = high;
    this.candidates += blocks.candidates - this.#candidates[entry]!;
    this.#candidates[entry] = blocks.candidates;
  }
}

type Sizes = readonly [low: number, high: number];

function hasSize([low, high]: Sizes, size: number): boolean {
  return size <= 32 ? ((low >>> (size - 1)) & 1) === 1 : ((high >>> (size - 33)) & 1) === 1;
}

/** @param having - Index: size. Value: units that have a block of it. */
function largestOf(having: Int32Array, most: number): number {
  let size = most;
  while (size > 0 && having[size] === 0) size -= 1;
  return size;
}

/** Counts the changed sizes: those that are there now up, the others down. */
function count(having: Int32Array, changed: number, now: number, first: number): void {
  for (let left = changed; left !== 0; left &= left - 1) {
    const bit = 31 - Math.clz32(left & -left);
    having[first + bit]! += ((now >>> bit) & 1) === 1 ? 1 : -1;
  }
}

interface DivisionSource {
  readonly partition: ChangingSeats;
  readonly blocks: Blocks;
  readonly having: Int32Array;
  readonly count: number;
  readonly unitOf: (entry: number) => number;
  readonly has: (entry: number, size: number) => boolean;
}

/** Blocks one after the other, each of what those before it leave. */
export class Division {
  readonly #source: DivisionSource;
  readonly #taken = new Set<number>();
  /** By unit with taken seats: its sizes now. */
  readonly #changed = new Map<number, Sizes>();

  constructor(source: DivisionSource) {
    this.#source = source;
  }

  /** The largest size up to `most` of which there is a block; 0 for none. */
  largest(most: number): number {
    return largestOf(this.#source.having, most);
  }

  /** True when another unit has a block of the size. */
  hasBeside(size: number, unit: number): boolean {
    const own = this.#changed.get(unit);
    assert(own !== undefined, "a block beside is asked for after its neighbour was taken");
    return this.#source.having[size]! > (hasSize(own, size) ? 1 : 0);
  }

  take({ seats, unit }: Block): void {
    for (const seat of seats) this.#taken.add(seat);
    this.#recount(unit);
  }

  giveBack({ seats, unit }: Block): void {
    for (const seat of seats) this.#taken.delete(seat);
    this.#recount(unit);
  }

  #recount(unit: number): void {
    const { blocks, having } = this.#source;
    const [low, high] = this.#changed.get(unit) ?? this.#sizesOf(unit, new Set());
    const now = this.#sizesOf(unit, this.#taken);
    count(having, low ^ now[0], now[0], 1);
    count(having, high ^ now[1], now[1], 33);
    assert(blocks.units.count > unit, "a taken block is in a unit");
    this.#changed.set(unit, now);
  }

  #sizesOf(unit: number, taken: ReadonlySet<number>): Sizes {
    const { blocks } = this.#source;
    blocks.load(unit, taken);
    return blocks.sizes();
  }

  /** The block of the size nearest to a point. Cost: O(units), and O(seats) of those near it. */
  nearest(size: number, near: Point): Block | null {
    const { count: entries, unitOf, has } = this.#source;
    const best = { orphans: Infinity, distance: Infinity, sum: Infinity, least: NONE as number };
    let block: Block | null = null;
    for (const [unit, sizes] of this.#changed) {
      if (hasSize(sizes, size)) block = this.#nearer(unit, size, near, best) ?? block;
    }
    for (let entry = 0; entry < entries; entry++) {
      if (!has(entry, size)) continue;
      const unit = unitOf(entry);
      if (!this.#changed.has(unit)) block = this.#nearer(unit, size, near, best) ?? block;
    }
    return block;
  }

  #nearer(unit: number, size: number, near: Point, best: Quality): Block | null {
    const { blocks, partition } = this.#source;
    const isBeyond = best.orphans === 0 && blocks.distanceAtLeast(unit, near) > best.distance;
    if (isBeyond) return null;
    blocks.load(unit, this.#taken);
    const isFound = blocks.find(size, near);
    assert(isFound, "a census is up to date");
    if (!isBetter(blocks, best)) return null;
    best.orphans = blocks.orphans;
    best.distance = blocks.distance;
    best.sum = blocks.sum;
    best.least = blocks.least;
    return { unit, seats: alongRows(partition.layout, blocks.seats) };
  }

  meanOf({ seats }: Block): Point {
    return meanOf(this.#source.partition, seats);
  }
}
