/**
 * Columns that grow without copying: chunks of a fixed length, and an index of entries in shards,
 * so that no growth takes more than a fraction of a millisecond.
 */
import { NONE } from "../constants.ts";

type Numbers = Uint8Array | Uint32Array | Float64Array;
interface NumbersType<N> {
  new (length: number): N;
}

const CHUNK_BITS = 15;
/** Elements of a chunk. */
const CHUNK = 1 << CHUNK_BITS;
/** Of an index: the place in its chunk. */
const IN_CHUNK = CHUNK - 1;

export class Column<N extends Numbers> {
  readonly #type: NumbersType<N>;
  /** Numbers per element. */
  readonly #lanes: number;
  /** Undefined for a chunk that was dropped. */
  readonly #chunks: (N | undefined)[] = [];

  constructor(type: NumbersType<N>, lanes = 1) {
    this.#type = type;
    this.#lanes = lanes;
  }

  get(at: number): number {
    return this.#chunks[at >>> CHUNK_BITS]?.[at & IN_CHUNK] ?? 0;
  }

  set(at: number, value: number): void {
    this.#chunkFor(at)[at & IN_CHUNK] = value;
  }

  /** The numbers of one element; a view. */
  lanes(at: number): N {
    const from = (at & IN_CHUNK) * this.#lanes;
    return this.#chunkFor(at).subarray(from, from + this.#lanes) as N;
  }

  setLanes(at: number, values: N): void {
    this.#chunkFor(at).set(values, (at & IN_CHUNK) * this.#lanes);
  }

  /** One of the numbers of an element that is there. */
  lane(at: number, lane: number): number {
    return this.#chunks[at >>> CHUNK_BITS]![(at & IN_CHUNK) * this.#lanes + lane]!;
  }

  #chunkFor(at: number): N {
    const number = at >>> CHUNK_BITS;
    return (this.#chunks[number] ??= new this.#type(CHUNK * this.#lanes));
  }

  /** Gives back the memory of whole chunks before an element; they are not read again. */
  dropBefore(at: number): void {
    for (let number = (at >>> CHUNK_BITS) - 1; number >= 0; number--) {
      if (this.#chunks[number] === undefined) return;
      this.#chunks[number] = undefined;
    }
  }

  /** A copy of the elements from `from` to before `to`. */
  slice(from: number, to: number): N {
    const lanes = this.#lanes;
    const out = new this.#type((to - from) * lanes);
    for (let at = from; at < to;) {
      const end = Math.min(to, ((at >>> CHUNK_BITS) + 1) * CHUNK);
      const start = (at & IN_CHUNK) * lanes;
      const part = this.#chunks[at >>> CHUNK_BITS]?.subarray(start, start + (end - at) * lanes);
      if (part !== undefined) out.set(part, (at - from) * lanes);
      at = end;
    }
    return out;
  }

  /** Stores the elements of `values` from `from` on. */
  fill(from: number, values: N): void {
    const lanes = this.#lanes;
    const to = from + values.length / lanes;
    for (let at = from; at < to;) {
      const end = Math.min(to, ((at >>> CHUNK_BITS) + 1) * CHUNK);
      const part = values.subarray((at - from) * lanes, (end - from) * lanes);
      this.#chunkFor(at).set(part, (at & IN_CHUNK) * lanes);
      at = end;
    }
  }
}

const SHARDS = 256;
const SHARD_SLOTS_MIN = 8;

interface Shard {
  /** Open addressing: elements; NONE where free. The length is a power of two. */
  slots: Uint32Array;
  count: number;
}

/**
 * Finds elements of a column by their bytes, which are hashes: the first byte chooses the shard, the
 * next four the slot. Memory: 5.3 to 10.7 bytes per element.
 */
export class EntryIndex {
  readonly #shards: readonly Shard[] = Array.from({ length: SHARDS }, () => ({
    slots: new Uint32Array(SHARD_SLOTS_MIN).fill(NONE),
    count: 0,
  }));

  /** @returns NONE for none. */
  find(column: Column<Uint8Array>, bytes: Uint8Array): number {
    const { slots } = this.#shards[bytes[0]!]!;
    const hash = hashOf(bytes[1]!, bytes[2]!, bytes[3]!, bytes[4]!);
    for (let slot = hash & (slots.length - 1); ; slot = (slot + 1) & (slots.length - 1)) {
      const at = slots[slot]!;
      if (at === NONE || hasBytes(column, at, bytes)) return at;
    }
  }

  /** Cost: constant; O(elements of the shard) when it grows. */
  add(column: Column<Uint8Array>, at: number): void {
    const shard = this.#shards[column.lane(at, 0)]!;
    shard.count += 1;
    // At most three quarters are in use.
    if (shard.count * 4 > shard.slots.length * 3) {
      const before = shard.slots;
      shard.slots = new Uint32Array(2 * before.length).fill(NONE);
      for (const one of before) if (one !== NONE) put(shard.slots, column, one);
    }
    put(shard.slots, column, at);
  }
}

function put(slots: Uint32Array, column: Column<Uint8Array>, at: number): void {
  const [a, b] = [column.lane(at, 1), column.lane(at, 2)];
  let slot = hashOf(a, b, column.lane(at, 3), column.lane(at, 4)) & (slots.length - 1);
  while (slots[slot] !== NONE) slot = (slot + 1) & (slots.length - 1);
  slots[slot] = at;
}

function hashOf(a: number, b: number, c: number, d: number): number {
  return (a << 24) | (b << 16) | (c << 8) | d;
}

function hasBytes(column: Column<Uint8Array>, at: number, bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i++) if (column.lane(at, i) !== bytes[i]) return false;
  return true;
}
