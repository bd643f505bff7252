/** The records of one group commit, encoded as they come into the frame that will be written. */
import { assert } from "../../engine/assert.ts";
import type { LogRecord } from "../../engine/records.ts";
import { ByteWriter } from "./bytes.ts";
import { encodeRecord } from "./codec.ts";
import { FRAME_HEADER_BYTES, LOG_VERSION, padToSector, sealFrame } from "./frame.ts";

const BATCH_BYTES = 64 * 1024;
/** A buffer that grew beyond is given back after use: a long record must not stay in memory. */
const BATCH_BYTES_KEPT_MAX = 16 * 1024 * 1024;

/** What the log writer knows of the frame. */
export interface FrameFacts {
  readonly flags: number;
  readonly firstSequence: number;
  readonly durableSequence: number;
  readonly epoch: number;
  readonly offset: number;
}

export class Batch {
  recordCount = 0;
  /** Before the record that was added last. */
  #bytesBefore = FRAME_HEADER_BYTES;
  #out = emptyFrame();

  /** Bytes of the header and the records. */
  get bytes(): number {
    return this.#out.length;
  }

  /** Takes the record whole or, when it cannot be encoded, not at all. */
  add(timeMs: number, record: LogRecord): void {
    const lengthBefore = this.#out.length;
    try {
      encodeRecord(this.#out, timeMs, record);
    } catch (error) {
      this.#out.length = lengthBefore;
      throw error;
    }
    this.recordCount += 1;
    this.#bytesBefore = lengthBefore;
  }

  /** Gives back the record that was added last; once. */
  takeBack(): void {
    assert(this.bytes > this.#bytesBefore, "a record is given back once");
    this.recordCount -= 1;
    this.#out.length = this.#bytesBefore;
  }

  /** @returns The frame, in the batch's own memory until `clear`, and the chain after it. */
  seal(facts: FrameFacts, chainBefore: Uint8Array): { frame: Buffer; chain: Buffer } {
    const frameBytes = this.#out.length;
    const paddedBytes = padToSector(frameBytes);
    this.#out.reserve(paddedBytes - frameBytes);
    const frame = this.#out.bytes.subarray(0, paddedBytes);
    const { recordCount } = this;
    const { flags, firstSequence, durableSequence, epoch, offset } = facts;
    // Spelled out: a spread of another object costs microseconds here.
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
