/** The frames of a damaged log, each on its own: where to cut, and what the cut loses. No I/O. */
import { type LogRecord, RecordType } from "../../engine/records.ts";
import { Malformed, only } from "../disk/faults.ts";
import { decodeRecords } from "../log/codec.ts";
import {
  FRAME_HEADER_BYTES,
  type FrameHeader,
  SECTOR_BYTES,
  padToSector,
  payloadIsIntact,
  readFrameHeader,
} from "../log/frame.ts";
import { SEGMENT_HEADER_BYTES } from "../log/segment-header.ts";

/** A place where a log can be cut: the end of a frame. */
export interface CutPoint {
  /** The last record before it. */
  readonly sequence: number;
  /** Its offset in bytes. */
  readonly bytes: number;
}

/**
 * @returns The last cut point that keeps no record after `sequence` and no byte after `offset`;
 * null when not even the first frame remains. Cost: O(frames).
 */
export function cutPoint(bytes: Buffer, sequence: number, offset: number): CutPoint | null {
  let point: CutPoint | null = null;
  for (let at = SEGMENT_HEADER_BYTES; ;) {
    const header = readFrameHeader(bytes, at);
    if (header === null || lastOf(header) > sequence) return point;
    at += padToSector(header.frameBytes);
    if (at > offset) return point;
    point = { sequence: lastOf(header), bytes: at };
  }
}

/** Called with each readable record after a cut. */
export type OnLost = (record: LogRecord, sequence: number, timeMs: number) => void;

/**
 * Reads every intact frame from `offset` on, across damage.
 * @returns The last sequence number in any frame header; 0 for none. Cost: O(bytes).
 */
export function readLost(bytes: Buffer, offset: number, onLost: OnLost): number {
  let last = 0;
  for (let at = offset; at < bytes.length;) {
    const header = readFrameHeader(bytes, at);
    if (header === null || header.offset !== at) {
      at += SECTOR_BYTES;
      continue;
    }
    last = Math.max(last, lastOf(header));
    const end = at + padToSector(header.frameBytes);
    const frame = bytes.subarray(at, end);
    const isIntact = end <= bytes.length && payloadIsIntact(frame);
    if (isIntact) readFrame(frame, header, onLost);
    at = isIntact ? end : at + SECTOR_BYTES;
  }
  return last;
}

function readFrame(frame: Buffer, header: FrameHeader, onLost: OnLost): void {
  const records = frame.subarray(FRAME_HEADER_BYTES, header.frameBytes);
  try {
    decodeRecords(records, header.firstSequence, header.recordCount, (sequence, timeMs, record) => {
      onLost(record, sequence, timeMs);
    });
  } catch (error) {
    // The missing sequence numbers are counted as unreadable records.
    only(error, Malformed);
  }
}

function lastOf({ firstSequence, recordCount }: FrameHeader): number {
  return firstSequence + recordCount - 1;
}

/** Counts the lost records, as far as they are known. */
export class Lost {
  /** By event id. */
  readonly byEvent = new Map<string, number>();
  /** Of the catalog: accounts, layouts, events, prices, and idempotent replies. */
  catalog = 0;
  /** Records that are known to have existed but cannot be read. */
  unreadable = 0;
  /** The sequence numbers that contain all of them, both inclusive; null when nothing is lost. */
  range: { readonly from: number; readonly to: number } | null = null;
  /** Times of the first and the last readable record; null when none is readable. */
  times: { readonly fromMs: number; readonly toMs: number } | null = null;
  readonly #events: Map<number, string>;

  /** @param events - Event ids by partition number, before the first lost record. */
  constructor(events: ReadonlyMap<number, string>) {
    this.#events = new Map(events);
  }

  /** Ids of all events that existed before the first lost record, or in one of them. */
  get eventIds(): readonly string[] {
    return [...new Set(this.#events.values())];
  }

  get total(): number {
    return this.readable + this.unreadable;
  }

  get readable(): number {
    let count = this.catalog;
    for (const records of this.byEvent.values()) count += records;
    return count;
  }

  /** @param readable - How many records of the range could be read, lost or not. */
  setRange(from: number, to: number, readable: number): void {
    if (to < from) return;
    this.range = { from, to };
    this.unreadable = Math.max(0, to - from + 1 - readable);
  }

  /** Times rise with sequence numbers. */
  add(record: LogRecord, timeMs: number): void {
    this.times = { fromMs: this.times?.fromMs ?? timeMs, toMs: timeMs };
    if (record.type === RecordType.CATALOG) {
      this.catalog += 1;
      for (const { table, row } of record.puts) {
        if (table === "events") this.#events.set(row.partition, row.id);
      }
      return;
    }
    const event = this.#events.get(record.partition) ?? `partition ${record.partition}`;
    this.byEvent.set(event, (this.byEvent.get(event) ?? 0) + 1);
  }
}
