/**
 * The index of the best places of one event: a cache of rankings and censuses. Each is made for its
 * first request, and follows the changed seats at the next one. Nothing of it is stored, and nothing
 * depends on it but the time that an answer takes.
 */
import { assert } from "../assert.ts";
import { unitsOf } from "../layout/units.ts";
import { type Block, Blocks, type Filter } from "./blocks.ts";
import { Division } from "./division.ts";
import { Census, type ChangingSeats, type IndexSource, Ranking } from "./unit-indexes.ts";

type Index = Ranking | Census;

/** Memory of the index of one event, per seat: within the estimate of `EVENT_SEAT_BYTES`. */
const BYTES_PER_SEAT = 24;

export class Places {
  readonly #source: IndexSource;
  readonly #bytesMax: number;
  /** By filter and size, the one used last at the end. */
  readonly #indexes = new Map<string, Index>();
  #bytes: number;
  /** Seats that a draft has changed, beside the list of changes; null without a draft. */
  #drafted: readonly number[] | null = null;
  /** By index: how many of these it has followed. */
  readonly #followed = new Map<Index, number>();

  constructor(partition: ChangingSeats) {
    const units = unitsOf(partition.layout);
    const blocks = new Blocks(partition, units);
    this.#source = { partition, units, blocks };
    this.#bytesMax = BYTES_PER_SEAT * units.seats.length;
    this.#bytes = blocks.bytes;
  }

  /** Estimated memory: of the scratch, of the indexes and of their keys. At most 24 per seat. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The best block of the size; null for none. Cost: O(log units) for each changed seat and each
   * unit evaluated, and the seats of these: the changed units, and those that come first by their
   * bound. The first time O(units); in a hall without such a block O(seats).
   */
  best(filter: Filter, size: number): Block | null {
    return this.#ranking(filter, size).best();
  }

  /** Cost: O(seats of the changed units); the first time O(seats). */
  census(filter: Filter): Census {
    const census = this.#find(keyOf(filter), () => new Census(this.#source, filter));
    assert(census instanceof Census, "the keys of censuses begin with a filter");
    return census;
  }

  /** Begins a choice of several blocks. Cost: as `census`. */
  divide(filter: Filter): Division {
    return new Division(this.#source, this.census(filter), (size) => this.#ranking(filter, size));
  }

  /** @param drafted - Seats that a draft has changed; more may be added, until `forget`. */
  show(drafted: readonly number[]): void {
    assert(this.#drafted === null || this.#drafted === drafted, "one draft is shown at a time");
    this.#drafted = drafted;
  }

  /**
   * To be called when the seats of the draft are back.
   * Cost: O(changes of the draft) for each index asked with it, as in `best`.
   */
  forget(): void {
    for (const index of this.#followed.keys()) index.follow(this.#drafted!);
    this.#followed.clear();
    this.#drafted = null;
  }

  #ranking(filter: Filter, size: number): Ranking {
    const key = `${size} ${keyOf(filter)}`;
    const ranking = this.#find(key, () => new Ranking(this.#source, filter, size));
    assert(ranking instanceof Ranking, "the keys of rankings begin with a size");
    return ranking;
  }

  #find(key: string, make: () => Index): Index {
    const known = this.#indexes.get(key);
    const index = known ?? make();
    if (known === undefined) this.#bytes += key.length + index.bytes;
    else this.#indexes.delete(key);
    this.#indexes.set(key, index);
    index.update();
    if (this.#drafted !== null) this.#followDraft(index, this.#drafted);
    for (const [oldest, { bytes }] of this.#indexes) {
      if (this.#bytes <= this.#bytesMax) break;
      this.#indexes.delete(oldest);
      this.#bytes -= oldest.length + bytes;
    }
    return index;
  }

  #followDraft(index: Index, drafted: readonly number[]): void {
    index.follow(drafted.slice(this.#followed.get(index) ?? 0));
    this.#followed.set(index, drafted.length);
  }
}

function keyOf(filter: Filter): string {
  const { prices, groupIds, accessible, includeAccessible, orphanMode, avoidOrphans } = filter;
  const { channel } = filter;
  const slots = prices === null ? "any" : [...prices].sort((a, b) => a - b).join();
  const groups = groupIds === null ? "all" : groupIds.join();
  const flags = `${includeAccessible ? "+" : ""}${orphanMode}${avoidOrphans ? "-" : ""}`;
  const own = channel === 0 ? "" : ` c${channel}`;
  return `p${slots} g${groups} a${accessible}${flags}${own}`;
}
