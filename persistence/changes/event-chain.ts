/**
 * The recent changes of one event: the sequences of their records, and what later records would
 * hide of what the older ones say.
 */
import type { EventChange } from "../../engine/queries/event-change.ts";

/** What moves before a change of prices, layout or event refer to. */
export interface Era {
  /** The record of that change. */
  readonly until: number;
  /** Index: seat. */
  readonly seatIds: Float64Array;
  /** Index: seat. Value: the price slot. */
  readonly price: Uint16Array;
  /** By slot, when the change removes prices; null when a later era or the catalog has them. */
  readonly priceIds: ReadonlyMap<number, number> | null;
}

/** A change, or the part of it that is not in the encoded record. */
export type Captured = Omit<EventChange, "sequence" | "previous">;

export class EventChain {
  readonly partition: number;
  /** The event's last record before those that are kept. */
  before: number;
  readonly #sequences: number[] = [];
  #head = 0;
  /** Records that are in the list no more. */
  #dropped = 0;
  /** The oldest first. */
  readonly eras: Era[] = [];
  /** The record with which the present era began. */
  eraStart = 0;
  /** By record: changes of anything but seats. They are made when they are first asked for. */
  readonly captured = new Map<number, (eventId: string) => Captured>();
  /** Called after each batch with a change. */
  readonly watchers = new Set<() => void>();
  isDirty = false;
  /** The last record on disk when the chain became dirty: the watchers know of it. */
  shown = 0;

  constructor(partition: number, before: number) {
    this.partition = partition;
    this.before = before;
  }

  /** The event's last record. */
  get last(): number {
    return this.#head < this.#sequences.length ? this.#sequences.at(-1)! : this.before;
  }

  get isEmpty(): boolean {
    return this.#head === this.#sequences.length;
  }

  add(sequence: number): void {
    this.#sequences.push(sequence);
  }

  /** Forgets records before `first`. */
  trim(first: number): void {
    const end = this.#indexAfter(first - 1);
    if (end === this.#head) return;
    this.before = this.#sequences[end - 1]!;
    this.#head = end;
    if (end * 2 < this.#sequences.length) return;
    this.#sequences.splice(0, end);
    this.#dropped += end;
    this.#head = 0;
  }

  /** @returns The last record up to `sequence`. */
  lastUpTo(sequence: number): number {
    const index = this.#indexAfter(sequence);
    return index === this.#head ? this.before : this.#sequences[index - 1]!;
  }

  /** @returns Records after `since` and up to `until`, at most `limit`. */
  after(since: number, until: number, limit: number): readonly number[] {
    const start = this.#indexAfter(since);
    const end = Math.min(this.#indexAfter(until), start + limit);
    return this.#sequences.slice(start, end);
  }

  /** @returns Records after `since` and up to `until`, to the end of a block of so many at most. */
  inBlock(since: number, until: number, blockRecords: number): readonly number[] {
    const start = this.#indexAfter(since);
    const left = blockRecords - ((this.#dropped + start) % blockRecords);
    return this.#sequences.slice(start, Math.min(this.#indexAfter(until), start + left));
  }

  /** @returns The index of the era of a record; that after the last for the present one. */
  eraOf(sequence: number): number {
    return lowerBound(this.eras.length, 0, (i) => this.eras[i]!.until > sequence);
  }

  /** @returns Prices by slot in an era; null when the catalog has them. */
  priceIdsFrom(era: number): ReadonlyMap<number, number> | null {
    for (let i = era; i < this.eras.length; i++) {
      const { priceIds } = this.eras[i]!;
      if (priceIds !== null) return priceIds;
    }
    return null;
  }

  /** @returns The index of the first record after `sequence`. */
  #indexAfter(sequence: number): number {
    const isAfter = (i: number) => this.#sequences[i]! > sequence;
    return lowerBound(this.#sequences.length, this.#head, isAfter);
  }
}

/** @returns The first index that matches; all after it match too. */
function lowerBound(end: number, start: number, matches: (index: number) => boolean): number {
  let [low, high] = [start, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (matches(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
