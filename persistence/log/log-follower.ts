/**
 * Reads a log that is still being written, each record once: from where the reader last stopped to
 * a record that is known to be on disk. Changes nothing on disk.
 */
import type { DiskFile } from "../disk/disk.ts";
import type { StorePlace } from "../disk/data-folder.ts";
import { LogCorrupt } from "../disk/faults.ts";
import { FRAME_HEADER_BYTES, padToSector, readFrameHeader } from "./frame.ts";
import { type ReadOptions, findSegments, firstSegment } from "./read-log.ts";
import { LogScan, type SegmentBytes } from "./scan.ts";
import {
  LOG_FOLDER,
  SEGMENT_HEADER_BYTES,
  type SegmentPlace,
  segmentName,
} from "./segment-header.ts";

/** Bytes that are read ahead. */
const STEP_BYTES = 1024 * 1024;

export type FollowOptions = StorePlace & Pick<ReadOptions, "start" | "replay">;

/** The segment that is being read. Only the next frame, or what was read ahead, is in memory. */
interface Open extends SegmentBytes {
  readonly file: DiskFile;
  /** A segment of a host that follows grows. */
  sizeBytes: number;
  bytes: Buffer;
  from: number;
  /** Offset of the next frame in the segment. */
  at: number;
}

export class LogFollower {
  readonly #options: FollowOptions;
  readonly #scan: LogScan;
  #segment: Open | null = null;
  #memory: Buffer = Buffer.allocUnsafeSlow(STEP_BYTES);

  constructor(options: FollowOptions) {
    const { storeId, replay, start } = options;
    this.#options = options;
    this.#scan = new LogScan(storeId, replay, start);
  }

  /**
   * Replays the records up to `until`.
   * @param until - The last record of a batch that is on disk.
   * @throws LogCorrupt on damage, DiskFault when the disk fails; the reader is unusable afterwards.
   * Cost: O(bytes since it last stopped); memory O(bytes of the longest frame).
   */
  read(until: number): void {
    const scan = this.#scan;
    // What was after the last frame may have been written meanwhile.
    if (this.#segment !== null) {
      this.#segment.sizeBytes = this.#segment.file.sizeNow();
      this.#forget(this.#segment);
    }
    while (scan.sequence < until) {
      const segment = (this.#segment ??= this.#openNext());
      this.#fillFrame(segment);
      const end = scan.frame(segment, segment.at);
      if (end === null) this.close();
      else segment.at = end;
    }
  }

  close(): void {
    this.#segment?.file.closeNow();
    this.#segment = null;
  }

  #openNext(): Open {
    const { disk, folder } = this.#options;
    const place = this.#nextPlace();
    const path = `${folder}/${LOG_FOLDER}/${segmentName(place)}`;
    const file = disk.openNow(path);
    const sizeBytes = file.sizeNow();
    const at = SEGMENT_HEADER_BYTES;
    const bytes = this.#memory.subarray(0, 0);
    const segment: Open = { path, place, newest: true, file, sizeBytes, bytes, from: 0, at };
    this.#segment = segment;
    // A reader that begins in the middle of a log needs the first frame: it may open an epoch.
    this.#fill(segment, SEGMENT_HEADER_BYTES + FRAME_HEADER_BYTES);
    this.#scan.open(segment);
    return segment;
  }

  #nextPlace(): SegmentPlace {
    const { disk, folder, start } = this.#options;
    const places = findSegments(disk, folder);
    const { number, sequence } = this.#scan;
    const isNext = (place: SegmentPlace) => place.number === number + 1;
    const next = number > 0 ? places.find(isNext) : firstSegment(places, start);
    if (next !== undefined) return next;
    const wanted = number > 0 ? `segment ${number + 1}` : `record ${(start?.sequence ?? 0) + 1}`;
    throw new LogCorrupt(`${folder}/${LOG_FOLDER}`, 0, wanted, `none after record ${sequence}`);
  }

  #fillFrame(segment: Open): void {
    const { at } = segment;
    this.#fill(segment, at + FRAME_HEADER_BYTES);
    const header = readFrameHeader(segment.bytes, at - segment.from);
    if (header !== null) this.#fill(segment, at + padToSector(header.frameBytes));
  }

  /** Forgets all bytes. Those from the next frame on will be read again. */
  #forget(segment: Open): void {
    segment.from = segment.at;
    segment.bytes = this.#memory.subarray(0, 0);
  }

  /** Reads the next frame up to an offset, or to the end of the segment, and some bytes more. */
  #fill(segment: Open, wantedEnd: number): void {
    const { file, path, sizeBytes } = segment;
    const end = Math.min(wantedEnd, sizeBytes);
    if (end <= segment.from + segment.bytes.length) return;
    if (end > segment.from + this.#memory.length) {
      this.#forget(segment);
      const roomBytes = Math.max(STEP_BYTES, end - segment.from);
      if (this.#memory.length !== roomBytes) this.#memory = Buffer.allocUnsafeSlow(roomBytes);
    }
    let readBytes = segment.bytes.length;
    while (segment.from + readBytes < end) {
      const room = this.#memory.subarray(readBytes, sizeBytes - segment.from);
      const count = file.readNow(room, segment.from + readBytes);
      if (count === 0) throw new LogCorrupt(path, segment.from + readBytes, "more bytes", "none");
      readBytes += count;
    }
    segment.bytes = this.#memory.subarray(0, readBytes);
  }
}
