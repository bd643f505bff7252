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

interface Batch {
  readonly first: number;
  readonly bytes: Buffer;
  /** Index: record of the batch. One more for the end of the last. */
  readonly starts: Uint32Array;
  readonly timeMs: number;
}

export class RecentMoves {
  #batches: Batch[] = [];
  /** Batches before it were dropped. */
  #head = 0;
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
    const starts = new Uint32Array(recordCount + 1).fill(NOT_KEPT);
    const bytes = Buffer.allocUnsafeSlow(movesIn(payload));
    let kept = 0;
    for (let i = 0, at = 0; i < recordCount; i++) {
      const recordBytes = payload.readUInt32LE(at);
      if (payload[at + TYPE_AT] === RecordType.MOVE) {
        payload.copy(bytes, kept, at, at + recordBytes);
        starts[i] = kept;
        kept += recordBytes;
      }
      at += recordBytes;
    }
    assert(kept === bytes.length, "every move of a batch is kept");
    this.#batches.push({ first, bytes, starts, timeMs: payload.readDoubleLE(TIME_AT) });
    this.bytes += sizeOf(bytes, starts);
  }

  /** Drops the oldest batch. */
  drop(): void {
    const { bytes, starts, first } = this.#batches[this.#head]!;
    this.bytes -= sizeOf(bytes, starts);
    this.first = first + starts.length - 1;
    this.#head += 1;
    if (this.#head * 2 < this.#batches.length) return;
    this.#batches = this.#batches.slice(this.#head);
    this.#head = 0;
  }

  /** @param sequence - Of a move that is kept. Cost: O(log batches + seats of the move). */
  at(sequence: number): { readonly timeMs: number; readonly record: MoveRecord } {
    const { first, bytes, starts } = this.#batchOf(sequence);
    const start = starts[sequence - first]!;
    assert(start !== NOT_KEPT, "only moves are read from the recent records");
    const end = start + bytes.readUInt32LE(start);
    let found: { timeMs: number; record: MoveRecord } | null = null;
    decodeRecords(bytes.subarray(start, end), sequence, 1, (_, timeMs, record) => {
      found = { timeMs, record: record as MoveRecord };
    });
    return found!;
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

/** With the objects around them. */
function sizeOf(bytes: Buffer, starts: Uint32Array): number {
  return bytes.length + starts.byteLength + 512;
}
