/**
 * Indexes over the units of an event for one filter. A ranking orders the units by their best block
 * of one size; a census keeps the sizes of blocks of each unit. Both follow the list of changed
 * seats when they are next asked, so a lock or a sale costs nothing more.
 */
import { assert } from "../assert.ts";
import { BEST_QUANTITY_MAX, NONE } from "../constants.ts";
import { type Units, unitsOfGroups } from "../layout/units.ts";
import {
  type Block,
  type Blocks,
  Criteria,
  type Filter,
  indexIn,
  type SeatsOfEvent,
  type Sizes,
} from "./blocks.ts";
import { Tournament } from "./tournament.ts";

/** Objects of a ranking or a census besides the content of its columns. */
const INDEX_BYTES = 2_048;

/** Units evaluated one by one before the rest is evaluated in one pass, without replays. */
const SHARE_ONE_BY_ONE = 1 / 16;

/** As a partition has them. */
export interface ChangingSeats extends SeatsOfEvent {
  readonly changes: {
    readonly touches: number;
    /** The seat changed last. */
    readonly newest: number;
    /** The seat changed just before `seat`. */
    earlierThan(seat: number): number;
  };
}

/** Shared by all indexes of an event. */
export interface IndexSource {
  readonly partition: ChangingSeats;
  readonly units: Units;
  readonly blocks: Blocks;
}

/** Per-unit columns, updated lazily from the change list. */
abstract class UnitIndex {
  readonly criteria: Criteria;
  readonly count: number;
  protected readonly source: IndexSource;
  /** The unit of each entry, rising; null for all units. */
  readonly #list: Uint32Array | null;
  readonly #seatCount: number;
  /** `ChangeList.touches` of the last update. */
  #touches = -1;

  constructor(source: IndexSource, filter: Filter) {
    const { partition, units } = source;
    const { groupIds } = filter;
    this.source = source;
    this.criteria = new Criteria(filter);
    this.#list = groupIds === null ? null : unitsOfGroups(partition.layout, groupIds);
    this.count = this.#list?.length ?? units.count;
    let seatCount = 0;
    for (let entry = 0; entry < this.count; entry++) {
      const unit = this.unitOf(entry);
      seatCount += units.starts[unit + 1]! - units.starts[unit]!;
    }
    this.#seatCount = seatCount;
  }

  /** Memory of the index, in bytes. */
  get bytes(): number {
    return INDEX_BYTES + this.criteria.bytes + (this.#list?.byteLength ?? 0) + this.columnBytes;
  }

  unitOf(entry: number): number {
    return this.#list === null ? entry : this.#list[entry]!;
  }

  /** NONE for a unit outside the groups. Cost: O(log units) with groups. */
  entryOf(unit: number): number {
    if (this.#list === null) return unit;
    const entry = indexIn(this.#list, unit);
    return this.#list[entry] === unit ? entry : NONE;
  }

  /** Cost: O(seats changed since the last update), at most that of a rebuild. */
  update(): void {
    const { changes } = this.source.partition;
    const behind = changes.touches - this.#touches;
    if (this.#touches < 0 || behind > this.#seatCount) this.rebuild();
    else if (behind > 0) this.follow(lastTouched(changes, behind));
    this.#touches = changes.touches;
  }

  /** Reads the units of changed seats again. Cost: O(seats), and that of `refresh` for each unit. */
  follow(seats: Iterable<number>): void {
    const { unitOfSeat } = this.source.units;
    const entries = new Set<number>();
    for (const seat of seats) {
      const entry = this.entryOf(unitOfSeat[seat]!);
      if (entry !== NONE) entries.add(entry);
    }
    for (const entry of entries) this.refresh(entry);
  }

  protected abstract readonly columnBytes: number;

  protected abstract rebuild(): void;

  protected abstract refresh(entry: number): void;
}

/** The last touched seats end the list of changes. */
function* lastTouched(changes: ChangingSeats["changes"], touches: number): Generator<number> {
  let seat = changes.newest;
  for (let left = touches; left > 0 && seat !== NONE; left--) {
    yield seat;
    seat = changes.earlierThan(seat);
  }
}

/**
 * The units by their best block of one size. A unit is evaluated when it comes first: until then its
 * rank is a bound, half below the smallest one possible.
 */
export class Ranking extends UnitIndex {
  readonly size: number;
  /** By entry: new orphans and the sum of scores as one number; Infinity without a block. */
  readonly #ranks: Float64Array;
  /** By entry: the smallest seat index of the block. */
  readonly #least: Uint32Array;
  readonly #tournament: Tournament;

  constructor(source: IndexSource, filter: Filter, size: number) {
    super(source, filter);
    this.size = size;
    this.#ranks = new Float64Array(this.count);
    this.#least = new Uint32Array(this.count);
    this.#tournament = new Tournament(this.count, (a, b) => {
      const [rank, other] = [this.#ranks[a]!, this.#ranks[b]!];
      return rank === other ? this.#least[a]! <= this.#least[b]! : rank < other;
    });
  }

  protected override get columnBytes(): number {
    return this.#ranks.byteLength + this.#least.byteLength + this.#tournament.bytes;
  }

  /** Cost: O(log units) for each unit evaluated, and its seats: those that come first by bound. */
  best(): Block | null {
    if (this.count === 0) return null;
    let entry = this.#tournament.first;
    for (let evaluated = 0; isBound(this.#ranks[entry]!); evaluated++) {
      if (evaluated < this.count * SHARE_ONE_BY_ONE) this.evaluate(entry);
      else this.#evaluateAll();
      entry = this.#tournament.first;
    }
    if (this.#ranks[entry] === Infinity) return null;
    const { blocks } = this.source;
    blocks.load(this.criteria, this.unitOf(entry));
    const isFound = blocks.find(this.size);
    assert(isFound, "a ranking is up to date");
    return blocks.inOrder(blocks.block);
  }

  /** New orphans of the unit's best block, at least; Infinity without a block. */
  orphansOf(entry: number): number {
    const rank = this.#ranks[entry]!;
    return rank === Infinity ? Infinity : Math.floor(Math.max(rank, 0) / ORPHAN_RANK);
  }

  /** The sum of scores of that block; not a whole number: a bound below it. */
  sumOf(entry: number): number {
    return this.#ranks[entry]! - this.orphansOf(entry) * ORPHAN_RANK;
  }

  /** The smallest seat index of that block. */
  leastOf(entry: number): number {
    return this.#least[entry]!;
  }

  /** Makes the members of a unit exact. Cost: O(its seats + log units). */
  evaluate(entry: number): void {
    if (!isBound(this.#ranks[entry]!)) return;
    this.#measure(entry);
    this.#tournament.replay(entry);
  }

  #evaluateAll(): void {
    for (let entry = 0; entry < this.count; entry++)
      if (isBound(this.#ranks[entry]!)) this.#measure(entry);
    this.#tournament.rebuild();
  }

  #measure(entry: number): void {
    const { blocks } = this.source;
    blocks.load(this.criteria, this.unitOf(entry));
    const isFound = blocks.find(this.size);
    this.#ranks[entry] = isFound ? blocks.orphans * ORPHAN_RANK + blocks.sum : Infinity;
    this.#least[entry] = blocks.least;
  }

  protected override rebuild(): void {
    for (let entry = 0; entry < this.count; entry++) this.#ranks[entry] = this.sumAtLeast(entry);
    this.#least.fill(NONE);
    this.#tournament.rebuild();
  }

  protected override refresh(entry: number): void {
    this.#ranks[entry] = this.sumAtLeast(entry);
    this.#least[entry] = NONE;
    this.#tournament.replay(entry);
  }

  /** Half below the smallest sum of scores of a block there; Infinity in a unit that is too short. */
  sumAtLeast(entry: number): number {
    const { starts, lowScores } = this.source.units;
    const unit = this.unitOf(entry);
    return starts[unit + 1]! - starts[unit]! < this.size
      ? Infinity
      : this.size * lowScores[unit]! - 0.5;
  }
}

/** True for a bound below a sum of scores, which is a whole number. */
export function isBound(sum: number): boolean {
  return sum !== Infinity && !Number.isInteger(sum);
}

/** More than the sum of all scores of a block. */
const ORPHAN_RANK = 2 ** 40;

/** The sizes of the blocks in each unit. */
export class Census extends UnitIndex {
  /** Candidates of all units. */
  candidates = 0;
  /** Index: size. Value: units that have a block of it. */
  readonly #having = new Int32Array(BEST_QUANTITY_MAX + 1);
  /** By entry: its sizes up to 32, those above, and its candidates. */
  readonly #low: Uint32Array;
  readonly #high: Uint32Array;
  readonly #candidates: Uint32Array;

  constructor(source: IndexSource, filter: Filter) {
    super(source, filter);
    this.#low = new Uint32Array(this.count);
    this.#high = new Uint32Array(this.count);
    this.#candidates = new Uint32Array(this.count);
  }

  protected override get columnBytes(): number {
    return this.#low.byteLength + this.#high.byteLength + this.#candidates.byteLength;
  }

  /** The largest size up to `most` of which there is a block; 0 for none. */
  largest(most: number): number {
    return largestIn(this.#having, most);
  }

  /** Index: size. Value: units that have a block of it. A copy. */
  copyHaving(): Int32Array {
    return this.#having.slice();
  }

  sizesOf(unit: number): Sizes {
    const entry = this.entryOf(unit);
    assert(entry !== NONE, "a unit with a block is within the groups");
    return [this.#low[entry]!, this.#high[entry]!];
  }

  protected override rebuild(): void {
    for (let entry = 0; entry < this.count; entry++) this.refresh(entry);
  }

  protected override refresh(entry: number): void {
    const { blocks } = this.source;
    blocks.load(this.criteria, this.unitOf(entry));
    const now = blocks.sizes();
    countChange(this.#having, [this.#low[entry]!, this.#high[entry]!], now);
    this.#low[entry] = now[0];
    this.#high[entry] = now[1];
    this.candidates += blocks.candidates - this.#candidates[entry]!;
    this.#candidates[entry] = blocks.candidates;
  }
}

/** @param having - Index: size. Value: units that have a block of it. */
export function largestIn(having: Int32Array, most: number): number {
  let size = most;
  while (size > 0 && having[size] === 0) size -= 1;
  return size;
}

/** Counts the changed sizes: those that are there now up, the others down. */
export function countChange(having: Int32Array, before: Sizes, now: Sizes): void {
  countBits(having, before[0] ^ now[0], now[0], 1);
  countBits(having, before[1] ^ now[1], now[1], 33);
}

function countBits(having: Int32Array, changed: number, now: number, first: number): void {
  for (let left = changed; left !== 0; left &= left - 1) {
    const bit = 31 - Math.clz32(left & -left);
    having[first + bit]! += ((now >>> bit) & 1) === 1 ? 1 : -1;
  }
}
