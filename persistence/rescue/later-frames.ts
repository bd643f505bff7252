/** The frames of a damaged log, each by itself: where to cut, and what is lost by it. No I/O. */
import { type LogRecord, RecordType } from "../../engine/records.ts";
import { Malformed, only } from "../disk/faults.ts";
import { ByteReader } from "../log/bytes.ts";
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

/** Where a log can be cut: behind a whole frame. */
export interface CutPoint {
  /** The last record before it. */
  readonly sequence: number;
  readonly bytes: number;
}

/**
 * The last place that keeps no record behind `sequence` and no byte behind `offset`.
 * @returns Null when not even the first frame stays. Cost: O(frames).
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

/** Told of each record that can be read behind a cut. */
export type OnLost = (record: LogRecord, sequence: number) => void;

/**
 * Goes through every intact frame from `offset` on, whatever lies between.
 * @returns The last sequence number that was seen, 0 for none. Cost: O(bytes).
 */
export function readLost(bytes: Buffer, offset: number, onLost: OnLost): number {
  const input = new ByteReader(bytes);
  let last = 0;
  for (let at = offset; at < bytes.length;) {
    const header = readFrameHeader(bytes, at);
    if (header === null || header.offset !== at) {
      at += SECTOR_BYTES;
      continue;
    }
    last = Math.max(last, lastOf(header));
    const end = at + padToSector(header.frameBytes);
    const isWhole = end <= bytes.length && payloadIsIntact(bytes.subarray(at, end));
    if (isWhole) readFrame(input, at, header, onLost);
    at = isWhole ? end : at + SECTOR_BYTES;
  }
  return last;
}

function readFrame(input: ByteReader, at: number, header: FrameHeader, onLost: OnLost): void {
  input.at = at + FRAME_HEADER_BYTES;
  input.end = at + header.frameBytes;
  try {
    decodeRecords(input, header.firstSequence, header.recordCount, (sequence, _, record) => {
      onLost(record, sequence);
    });
  } catch (error) {
    // What cannot be read is counted as such: by the numbers that are missing.
    only(error, Malformed);
  }
}

function lastOf({ firstSequence, recordCount }: FrameHeader): number {
  return firstSequence + recordCount - 1;
}

/** Records that are lost, as far as they can be known. */
export class Lost {
  /** By event id. */
  readonly byEvent = new Map<string, number>();
  /** Of the catalog: accounts, layouts, events, prices, and answers that would be repeated. */
  catalog = 0;
  /** Known to have been there, and not readable. */
  unreadable = 0;
  /** Sequence numbers that they are among, both included; null when nothing is lost. */
  range: { readonly from: number; readonly to: number } | null = null;
  readonly #events: Map<number, string>;

  /** @param events - Their ids by number of partition, before the first lost record. */
  constructor(events: ReadonlyMap<number, string>) {
    this.#events = new Map(events);
  }

  get total(): number {
    return this.readable + this.unreadable;
  }

  get readable(): number {
    let count = this.catalog;
    for (const records of this.byEvent.values()) count += records;
    return count;
  }

  /** @param seen - Records that could be read of the range, lost or not. */
  setRange(from: number, to: number, seen: number): void {
    if (to < from) return;
    this.range = { from, to };
    this.unreadable = Math.max(0, to - from + 1 - seen);
  }

  add(record: LogRecord): void {
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
