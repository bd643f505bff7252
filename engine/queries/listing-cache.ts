/**
 * Sorted listings that are kept, because few seats move from one request to the next. Those of all
 * events share one bound. The least recently used listing is dropped first.
 */
import type { Partition } from "../inventory/partition.ts";
import type { SortedSeats } from "./sorted-seats.ts";

const MEBIBYTE = 1_024 * 1_024;
/** About 70 listings of 60,000 seats. */
export const LISTING_BYTES_MAX = 48 * MEBIBYTE;
/** Listings of one event. */
export const LISTINGS_PER_EVENT_MAX = 16;
/** A seat takes a place in a block, and the number of the block. */
const SEAT_BYTES = 12;
/** A character of a text. */
const CHARACTER_BYTES = 2;

/** A listing must not refer to its partition, which would then outlive its event. */
export interface CachedListing {
  readonly seats: SortedSeats;
  /** The value of `ChangeList.touches` up to which the listing is current. */
  touches: number;
  /** What it depends on besides the partition, as it was then: prices and the event's change. */
  readonly outside: string;
}

interface Kept {
  readonly key: string;
  readonly listing: CachedListing;
  readonly bytes: number;
  /** The listings of the same event by key, the least recently used first. */
  readonly own: Map<string, Kept>;
  /** Gone when the event was deleted, or is on another layout, and garbage was collected since. */
  readonly partition: WeakRef<Partition>;
}

export class ListingCache {
  /** Memory of all listings, as estimated from their seats. */
  bytes = 0;
  /** Listings that were dropped to make room for others. */
  dropped = 0;
  readonly #bytesMax: number;
  /** The least recently used first. */
  readonly #all = new Set<Kept>();
  readonly #byPartition = new WeakMap<Partition, Map<string, Kept>>();

  constructor(bytesMax = LISTING_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** Those of partitions that are gone count until another event has its first listing. */
  get count(): number {
    return this.#all.size;
  }

  find(partition: Partition, key: string): CachedListing | undefined {
    return this.#byPartition.get(partition)?.get(key)?.listing;
  }

  /** Makes it the most recently used one. @param key - Its filters and sort order. */
  keep(partition: Partition, key: string, listing: CachedListing): void {
    let own = this.#byPartition.get(partition);
    if (own === undefined) {
      this.#forgetGone();
      this.#byPartition.set(partition, (own = new Map()));
    }
    this.#remove(own.get(key));
    const texts = key.length + listing.outside.length;
    const bytes = partition.layout.seatCount * SEAT_BYTES + texts * CHARACTER_BYTES;
    const kept = { key, listing, bytes, own, partition: new WeakRef(partition) };
    own.set(key, kept);
    this.#all.add(kept);
    this.bytes += bytes;
    if (own.size > LISTINGS_PER_EVENT_MAX) this.#drop(own.values());
    while (this.bytes > this.#bytesMax) this.#drop(this.#all.values());
  }

  #forgetGone(): void {
    for (const kept of this.#all) if (kept.partition.deref() === undefined) this.#remove(kept);
  }

  /** Drops the first one. */
  #drop(listings: Iterator<Kept, undefined>): void {
    this.#remove(listings.next().value);
    this.dropped += 1;
  }

  #remove(kept: Kept | undefined): void {
    if (kept === undefined) return;
    this.#all.delete(kept);
    kept.own.delete(kept.key);
    this.bytes -= kept.bytes;
  }
}
