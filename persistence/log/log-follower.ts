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

/** The segment that is being read, as far as its bytes are needed. */
interface Open extends SegmentBytes {
  readonly file: DiskFile;
  /** Offset of the next frame in bytes. */
  at: number;
  /** How many bytes are up to date. Each call of `read` reads the bytes from `at` on again. */
  readBytes: number;
}

export class LogFollower {
  readonly #options: FollowOptions;
  readonly #scan: LogScan;
  #segment: Open | null = null;
  #memory: Buffer = Buffer.alloc(0);

  constructor(options: FollowOptions) {
    const { storeId, replay, start } = options;
    this.#options = options;
    this.#scan = new LogScan(storeId, replay, start);
  }

  /**
   * Replays the records up to `until`.
   * @param until - The last record of a batch that is on disk.
   * @throws LogCorrupt on damage, DiskFault when the disk fails; the reader is unusable afterwards.
   * Cost: O(bytes since it last stopped); memory O(bytes of a segment).
   */
  read(until: number): void {
    const scan = this.#scan;
    if (this.#segment !== null) this.#segment.readBytes = this.#segment.at;
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
    if (this.#memory.length !== sizeBytes) this.#memory = Buffer.allocUnsafeSlow(sizeBytes);
    const bytes = this.#memory;
    const at = SEGMENT_HEADER_BYTES;
    const segment: Open = { path, place, bytes, newest: true, file, at, readBytes: 0 };
    this.#segment = segment;
    // A reader that begins in the middle of a log needs the first frame: it may open an epoch.
    fill(segment, SEGMENT_HEADER_BYTES + FRAME_HEADER_BYTES);
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
    fill(segment, segment.at + FRAME_HEADER_BYTES);
    const header = readFrameHeader(segment.bytes, segment.at);
    if (header !== null) fill(segment, segment.at + padToSector(header.frameBytes));
  }
}

function fill(segment: Open, wantedBytes: number): void {
  const { bytes, file } = segment;
  const end = Math.min(wantedBytes, bytes.length);
  while (segment.readBytes < end) {
    const to = Math.min(Math.max(end, segment.readBytes + STEP_BYTES), bytes.length);
    const target = bytes.subarray(segment.readBytes, to);
    const count = file.readNow(target, segment.readBytes);
    if (count === 0) throw new LogCorrupt(segment.path, segment.readBytes, "more bytes", "none");
    segment.readBytes += count;
  }
}
