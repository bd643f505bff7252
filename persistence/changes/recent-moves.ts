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
const OFFSET_BYTES = 4;
/** Memory of the objects around a batch, at most. */
const BATCH_BYTES = 512;
const CHUNK_BYTES = 256 * 1_024;

/**
 * Memory of several batches. Chunks are used again: memory outside the heap that comes and goes
 * makes the collector look through the whole heap several times a second.
 */
interface Chunk {
  readonly bytes: Buffer;
  used: number;
  batches: number;
}

interface Batch {
  readonly first: number;
  readonly recordCount: number;
  readonly timeMs: number;
  readonly chunk: Chunk;
  /** In the chunk: the offsets of its records, each as four bytes, then the records. */
  readonly offsets: number;
  readonly moves: number;
  readonly bytes: number;
}

export class RecentMoves {
  #batches: Batch[] = [];
  /** Batches before it were dropped. */
  #head = 0;
  #chunk: Chunk | null = null;
  readonly #idle: Chunk[] = [];
  /** Chunks that were made. */
  chunkCount = 0;
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
    const offsetBytes = OFFSET_BYTES * recordCount;
    const bytes = offsetBytes + movesIn(payload);
    const chunk = this.#chunkFor(bytes);
    const offsets = chunk.used;
    const moves = offsets + offsetBytes;
    const hasOnlyMoves = bytes - offsetBytes === payload.length;
    if (hasOnlyMoves) payload.copy(chunk.bytes, moves);
    let kept = 0;
    for (let i = 0, at = 0; i < recordCount; i++) {
      const recordBytes = payload.readUInt32LE(at);
      const isMove = payload[at + TYPE_AT] === RecordType.MOVE;
      chunk.bytes.writeUInt32LE(isMove ? kept : NOT_KEPT, offsets + OFFSET_BYTES * i);
      if (isMove) {
        if (!hasOnlyMoves) payload.copy(chunk.bytes, moves + kept, at, at + recordBytes);
        kept += recordBytes;
      }
      at += recordBytes;
    }
    assert(offsetBytes + kept === bytes, "every move of a batch is kept");
    chunk.used += bytes;
    chunk.batches += 1;
    const timeMs = payload.readDoubleLE(TIME_AT);
    this.#batches.push({ first, recordCount, timeMs, chunk, offsets, moves, bytes });
    this.bytes += bytes + BATCH_BYTES;
  }

  #chunkFor(bytes: number): Chunk {
    const present = this.#chunk;
    if (present !== null && present.used + bytes <= present.bytes.length) return present;
    const idle = bytes <= CHUNK_BYTES ? this.#idle.pop() : undefined;
    this.#chunk = idle ?? this.#newChunk(Math.max(bytes, CHUNK_BYTES));
    return this.#chunk;
  }

  #newChunk(bytes: number): Chunk {
    this.chunkCount += 1;
    return { bytes: Buffer.allocUnsafeSlow(bytes), used: 0, batches: 0 };
  }

  #free(chunk: Chunk): void {
    chunk.used = 0;
    if (chunk !== this.#chunk && chunk.bytes.length === CHUNK_BYTES) this.#idle.push(chunk);
  }

  /** Drops the oldest batch. */
  drop(): void {
    const { bytes, first, recordCount, chunk } = this.#batches[this.#head]!;
    this.bytes -= bytes + BATCH_BYTES;
    this.first = first + recordCount;
    this.#head += 1;
    chunk.batches -= 1;
    if (chunk.batches === 0) this.#free(chunk);
    if (this.#head * 2 < this.#batches.length) return;
    this.#batches = this.#batches.slice(this.#head);
    this.#head = 0;
  }

  /** @param sequence - Of a move that is kept. Cost: O(log batches + seats of the move). */
  at(sequence: number): { readonly timeMs: number; readonly record: MoveRecord } {
    const { first, chunk, offsets, moves } = this.#batchOf(sequence);
    const offset = chunk.bytes.readUInt32LE(offsets + OFFSET_BYTES * (sequence - first));
    assert(offset !== NOT_KEPT, "only moves are read from the recent records");
    const start = moves + offset;
    const end = start + chunk.bytes.readUInt32LE(start);
    let found: { timeMs: number; record: MoveRecord } | null = null;
    decodeRecords(chunk.bytes.subarray(start, end), sequence, 1, (_, timeMs, record) => {
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
