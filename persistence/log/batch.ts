/** The records of one group commit, encoded into a frame as they arrive, and counters of them. */
import { assert } from "../../engine/assert.ts";
import type { LogRecord } from "../../engine/records.ts";
import { Durations } from "../disk/durations.ts";
import { ByteWriter } from "./bytes.ts";
import { encodeRecord } from "./codec.ts";
import {
  FRAME_HEADER_BYTES,
  type FrameHeader,
  LOG_VERSION,
  padToSector,
  sealFrame,
} from "./frame.ts";

const BATCH_BYTES = 64 * 1024;
/** A longer buffer is released after use, because a long record must not occupy memory for good. */
const BATCH_BYTES_KEPT_MAX = 4 * 1024 * 1024;

/** The part of the frame header that the writer provides. */
type FrameFacts = Omit<FrameHeader, "version" | "recordCount" | "frameBytes">;

export class Batch {
  recordCount = 0;
  /** `bytes` before the last record was added. */
  #bytesBefore = FRAME_HEADER_BYTES;
  #out = emptyFrame();

  /** Bytes of the header and the records. */
  get bytes(): number {
    return this.#out.length;
  }

  /**
   * Adds the record. When it cannot be encoded, this throws and the batch is unchanged.
   * @returns Bytes of the record.
   */
  add(timeMs: number, record: LogRecord): number {
    const lengthBefore = this.#out.length;
    let recordBytes: number;
    try {
      recordBytes = encodeRecord(this.#out, timeMs, record);
    } catch (error) {
      this.#out.length = lengthBefore;
      throw error;
    }
    this.recordCount += 1;
    this.#bytesBefore = lengthBefore;
    return recordBytes;
  }

  /** Removes the record that was added last. To be called once for it. */
  removeLast(): void {
    assert(this.bytes > this.#bytesBefore, "the last record is removed once");
    this.recordCount -= 1;
    this.#out.length = this.#bytesBefore;
    // Otherwise the memory for a very long record would stay until the next batch.
    if (this.recordCount === 0) this.clear();
  }

  /** @returns The frame, in memory that `clear` reuses, and the chain after it. */
  seal(facts: FrameFacts, chainBefore: Uint8Array): { frame: Buffer; chain: Buffer } {
    const frameBytes = this.#out.length;
    const paddedBytes = padToSector(frameBytes);
    this.#out.reserve(paddedBytes - frameBytes);
    const frame = this.#out.bytes.subarray(0, paddedBytes);
    const { recordCount } = this;
    const { flags, firstSequence, durableSequence, epoch, offset } = facts;
    // Written out, because the spread of another object costs microseconds here.
    const header = {
      version: LOG_VERSION,
      flags,
      firstSequence,
      durableSequence,
      epoch,
      recordCount,
      offset,
      frameBytes,
    };
    return { frame, chain: sealFrame(frame, header, chainBefore) };
  }

  clear(): void {
    this.recordCount = 0;
    if (this.#out.bytes.length > BATCH_BYTES_KEPT_MAX) this.#out = emptyFrame();
    else this.#out.length = FRAME_HEADER_BYTES;
  }
}

function emptyFrame(): ByteWriter {
  const out = new ByteWriter(BATCH_BYTES);
  out.length = FRAME_HEADER_BYTES;
  return out;
}

/** Counters since the log was opened. */
export class LogStats {
  /** Frames with records. */
  batches = 0;
  /** Bytes of all frames. */
  bytes = 0;
  /** Frames that became durable. */
  syncs = 0;
  /** Frames that the engine's own thread wrote. */
  direct = 0;
  /** For each frame, the time that it took to become durable. */
  readonly syncTimes = new Durations();
  /** For each batch, the time from its first record until the batch is durable. */
  readonly commitTimes = new Durations();
  readonly #open: () => Batch;

  /** @param open - The batch that waits for the disk. */
  constructor(open: () => Batch) {
    this.#open = open;
  }

  get pendingBytes(): number {
    return this.#open().bytes;
  }

  get pendingRecords(): number {
    return this.#open().recordCount;
  }

  /** @param openedMs - When its first record was appended; null when it has none. */
  count(
    frameBytes: number,
    { sentMs, openedMs }: { readonly sentMs: number; readonly openedMs: number | null },
    nowMs: number,
  ): void {
    this.bytes += frameBytes;
    this.syncs += 1;
    this.syncTimes.add(nowMs - sentMs);
    if (openedMs === null) return;
    this.batches += 1;
    this.commitTimes.add(nowMs - openedMs);
  }
}
