/** The records of one group commit, encoded into a frame as they arrive. */
import { assert } from "../../engine/assert.ts";
import type { LogRecord } from "../../engine/records.ts";
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
