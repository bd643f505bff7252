/**
 * The draw of a door: the order of entries by HMAC-SHA256 with the seed as key, over the 32
 * hexadecimal digits of the entry, and where there is a beacon a colon and its value. Without a
 * beacon the keys can be made ahead, as visitors join; the order then takes 0.2 µs per visitor. All
 * work is in steps of less than a millisecond.
 */
import { createHash, createHmac } from "node:crypto";

const STEP = 256;
const HASH_BYTES = 32;
const SORT_STEP = 8_192;
const BUCKETS = 65_536;
const BUCKETS_PER_STEP = 512;
const GROWTH = 2;
const CAPACITY_MIN = 1_024;

/** The entry at an index: sixteen bytes. */
type EntryAt = (index: number) => Uint8Array;

export class Draw {
  /** The value of the beacon; null for none. */
  readonly beacon: string | null;
  readonly #seed: Uint8Array;
  readonly #entryAt: EntryAt;
  /** By index: the first four bytes of the key, and the next four. */
  #high = new Uint32Array(CAPACITY_MIN);
  #low = new Uint32Array(CAPACITY_MIN);
  /** Keys made so far. */
  count = 0;

  constructor(seed: Uint8Array, entryAt: EntryAt, beacon: string | null = null) {
    this.beacon = beacon;
    this.#seed = seed;
    this.#entryAt = entryAt;
  }

  /** Makes the keys of the first `count` entries that have none. Cost: 3 µs each. */
  *prepare(count: number): Generator<void, void> {
    while (this.count < count) {
      const end = Math.min(count, this.count + STEP);
      if (end > this.#high.length) this.#grow();
      for (; this.count < end; this.count++) {
        const key = this.#keyOf(this.count);
        this.#high[this.count] = key.readUInt32BE(0);
        this.#low[this.count] = key.readUInt32BE(4);
      }
      yield;
    }
  }

  #grow(): void {
    this.#high = grown(this.#high);
    this.#low = grown(this.#low);
  }

  /** @returns The first `count` entries by their keys: indexes, the first place first. */
  *order(count: number): Generator<void, Uint32Array> {
    yield* this.prepare(count);
    const high = this.#high;
    const starts = new Uint32Array(BUCKETS + 1);
    for (let i = 0; i < count; i++) {
      starts[(high[i]! >>> 16) + 1]! += 1;
      if (i % SORT_STEP === 0) yield;
    }
    for (let bucket = 0; bucket < BUCKETS; bucket++) starts[bucket + 1]! += starts[bucket]!;
    const order = new Uint32Array(count);
    const ends = starts.slice();
    for (let i = 0; i < count; i++) {
      order[ends[high[i]! >>> 16]!++] = i;
      if (i % SORT_STEP === 0) yield;
    }
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      this.#sort(order, starts[bucket]!, starts[bucket + 1]!);
      if (bucket % BUCKETS_PER_STEP === 0) yield;
    }
    return order;
  }

  /** Insertion: a bucket has fifteen of a million. */
  #sort(order: Uint32Array, from: number, to: number): void {
    for (let i = from + 1; i < to; i++) {
      const moved = order[i]!;
      let at = i;
      for (; at > from && this.#compare(order[at - 1]!, moved) > 0; at--)
        order[at] = order[at - 1]!;
      order[at] = moved;
    }
  }

  #compare(a: number, b: number): number {
    const byHigh = this.#high[a]! - this.#high[b]!;
    if (byHigh !== 0) return byHigh;
    const byLow = this.#low[a]! - this.#low[b]!;
    return byLow === 0 ? Buffer.compare(this.#keyOf(a), this.#keyOf(b)) : byLow;
  }

  #keyOf(index: number): Buffer {
    const entry = Buffer.from(this.#entryAt(index)).toString("hex");
    const message = this.beacon === null ? entry : `${entry}:${this.beacon}`;
    return createHmac("sha256", this.#seed).update(message).digest();
  }
}

/**
 * A hash over entries in order of arrival, from 32 zero bytes on: each is the SHA-256 of the one
 * before and the sixteen bytes of the entry. Who has seen it for so many entries knows that these
 * stay as they were.
 */
export class EntryChain {
  /** Entries so far. */
  count = 0;
  #hash: Uint8Array = new Uint8Array(HASH_BYTES);
  readonly #entryAt: EntryAt;

  constructor(entryAt: EntryAt) {
    this.#entryAt = entryAt;
  }

  /** Takes the entries up to the count. Cost: 2 µs each, in steps. */
  *follow(count: number): Generator<void, void> {
    while (this.count < count) {
      const end = Math.min(count, this.count + STEP);
      for (; this.count < end; this.count++) {
        const hash = createHash("sha256").update(this.#hash).update(this.#entryAt(this.count));
        this.#hash = hash.digest();
      }
      yield;
    }
  }

  /** In hexadecimal. */
  get hash(): string {
    return Buffer.from(this.#hash).toString("hex");
  }
}

function grown(before: Uint32Array): Uint32Array<ArrayBuffer> {
  const after = new Uint32Array(before.length * GROWTH);
  after.set(before);
  return after;
}
