/**
 * The newest moves on disk, as the log encoded them: a batch costs one copy of its bytes, and a
 * record is decoded only when somebody asks for it.
 */
import { assert } from "../../engine/assert.ts";
import { type MoveRecord, RecordType } from "../../engine/records.ts";
import { decodeRecords } from "../log/codec.ts";

/** Offsets of the fields in the head of a record. */
const TYPE_AT = 4;
const TIME_AT = 8;
/** In place of an offset, for a record that is not a move. */
const NOT_KEPT = 0xffffffff;

/** Memory is taken in pieces of this size: one for each batch would cost more than the copy. */
const SLAB_BYTES = 1024 * 1024;
/** What a batch takes beside its moves, in bytes, estimated. */
const BATCH_BYTES = 200;

interface Batch {
  readonly first: number;
  readonly recordCount: number;
  /** Where its moves are: between `start` and `end` of the slab. */
  readonly slab: Buffer;
  readonly start: number;
  readonly end: number;
  /** Index: record of the batch. Value: where it begins in the slab. Null when all are moves. */
  readonly starts: Uint32Array | null;
  readonly timeMs: number;
}

export class RecentMoves {
  #batches: Batch[] = [];
  /** Batches before it were dropped. */
  #head = 0;
  /** The slab that is being filled, and how far. */
  #slab: Buffer = Buffer.alloc(0);
  #slabEnd = 0;
  /** A slab whose batches were dropped. */
  #spare: Buffer | null = null;
  /** The move that was read last: changes are usually read in order. */
  #read = { sequence: 0, at: 0 };
  /** The first record that is kept. */
  first: number;
  bytes = 0;

  /** @param first - The first record that will be kept. */
  constructor(first: number) {
    this.first = first;
  }

  /** Milliseconds since 1970: the time of the oldest record; 0 when there is none. */
  get oldestMs(): number {
    return this.#batches[this.#head]?.timeMs ?? 0;
  }

  get batchCount(): number {
    return this.#batches.length - this.#head;
  }

  /** Adds a batch. @param payload - Its records as encoded; valid only during this call. */
  keep(payload: Buffer, first: number, recordCount: number): void {
    const moveBytes = movesIn(payload);
    this.#makeRoom(moveBytes);
    const [slab, start] = [this.#slab, this.#slabEnd];
    this.#slabEnd += moveBytes;
    let starts: Uint32Array | null = null;
    if (moveBytes === payload.length) payload.copy(slab, start);
    else starts = copyMoves(payload, recordCount, slab, start);
    const timeMs = payload.readDoubleLE(TIME_AT);
    const batch = { first, recordCount, slab, start, end: this.#slabEnd, starts, timeMs };
    this.#batches.push(batch);
    this.bytes += sizeOf(batch);
  }

  #makeRoom(bytes: number): void {
    if (this.#slabEnd + bytes <= this.#slab.length) return;
    if (this.#spare !== null && bytes <= this.#spare.length) {
      this.#slab = this.#spare;
      this.#spare = null;
    } else {
      this.#slab = Buffer.allocUnsafeSlow(Math.max(bytes, SLAB_BYTES));
    }
    this.#slabEnd = 0;
  }

  /** Drops the oldest batch. */
  drop(): void {
    const batch = this.#batches[this.#head]!;
    const { first, recordCount, slab } = batch;
    this.bytes -= sizeOf(batch);
    this.first = first + recordCount;
    this.#head += 1;
    const isLastOfSlab = this.#batches[this.#head]?.slab !== slab && slab !== this.#slab;
    if (isLastOfSlab && slab.length === SLAB_BYTES) this.#spare = slab;
    if (this.#head * 2 < this.#batches.length) return;
    this.#batches = this.#batches.slice(this.#head);
    this.#head = 0;
  }

  /** @param sequence - Of a move that is kept. Cost: O(log batches + seats of the move). */
  at(sequence: number): { readonly timeMs: number; readonly record: MoveRecord } {
    const { slab, at } = this.#find(sequence);
    const end = at + slab.readUInt32LE(at);
    let found: { timeMs: number; record: MoveRecord } | null = null;
    decodeRecords(slab.subarray(at, end), sequence, 1, (_, timeMs, record) => {
      found = { timeMs, record: record as MoveRecord };
    });
    return found!;
  }

  /** Cost: O(log batches), and O(its batch) unless it comes after the move that was read last. */
  #find(sequence: number): { readonly slab: Buffer; readonly at: number } {
    const { first, slab, start, end, starts } = this.#batchOf(sequence);
    if (starts !== null) {
      const at = starts[sequence - first]!;
      assert(at !== NOT_KEPT, "only moves are read from the recent records");
      return { slab, at };
    }
    const isAfterLast = this.#read.sequence >= first && this.#read.sequence <= sequence;
    let { sequence: reached, at } = isAfterLast ? this.#read : { sequence: first, at: start };
    for (; reached < sequence; reached++) at += slab.readUInt32LE(at);
    assert(at < end, "a move is in its batch");
    this.#read = { sequence, at };
    return { slab, at };
  }

  #batchOf(sequence: number): Batch {
    let [low, high] = [this.#head, this.#batches.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#batches[middle]!.first <= sequence) low = middle;
      else high = middle - 1;
    }
    const batch = this.#batches[low]!;
    assert(sequence >= batch.first, "a recent record is in a batch");
    return batch;
  }
}

function movesIn(payload: Buffer): number {
  let bytes = 0;
  for (let at = 0; at < payload.length;) {
    const recordBytes = payload.readUInt32LE(at);
    if (payload[at + TYPE_AT] === RecordType.MOVE) bytes += recordBytes;
    at += recordBytes;
  }
  return bytes;
}

/** @returns As `starts` of a batch. */
function copyMoves(payload: Buffer, recordCount: number, slab: Buffer, start: number): Uint32Array {
  const starts = new Uint32Array(recordCount).fill(NOT_KEPT);
  for (let i = 0, at = 0, to = start; i < recordCount; i++) {
    const end = at + payload.readUInt32LE(at);
    if (payload[at + TYPE_AT] === RecordType.MOVE) {
      starts[i] = to;
      to += payload.copy(slab, to, at, end);
    }
    at = end;
  }
  return starts;
}

function sizeOf({ start, end, starts }: Batch): number {
  return end - start + (starts?.byteLength ?? 0) + BATCH_BYTES;
}
