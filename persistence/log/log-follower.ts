/**
 * Reads a log that is still being written, each record once: from where the reader last stopped to
 * a record that is known to be on disk. Changes nothing on disk.
 */
import { type Disk, type DiskFile, namesIn } from "../disk/disk.ts";
import { LogCorrupt } from "../disk/faults.ts";
import type { Replay } from "./codec.ts";
import { FRAME_HEADER_BYTES, padToSector, readFrameHeader } from "./frame.ts";
import { findSegments, firstBehind } from "./read-log.ts";
import { LogScan, type LogStart, type SegmentBytes } from "./scan.ts";
import { SEGMENT_HEADER_BYTES, type SegmentPlace, segmentName } from "./segment-header.ts";

/** Read ahead in one go. */
const STEP_BYTES = 1024 * 1024;

export interface FollowOptions {
  readonly disk: Disk;
  /** The folder of the segments. */
  readonly folder: string;
  readonly storeId: string;
  /** Null to begin with the first record. */
  readonly start: LogStart | null;
  readonly replay: Replay;
}

/** The segment at hand. Its bytes are read as far as they are needed. */
interface Open extends SegmentBytes {
  readonly file: DiskFile;
  /** Where the next frame begins. */
  at: number;
  /** Up to where the bytes are those of the file, as of this call of `read`. */
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
   * Hands on the records up to the end of the batch with this one.
   * @param until - The last record of a batch that is on disk.
   * @throws LogCorrupt on damage, DiskFault when the disk fails; the reader is of no use then.
   * Cost: O(bytes behind where it stopped); memory O(bytes of a segment).
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
    const path = `${folder}/${segmentName(place)}`;
    const file = disk.openNow(path);
    const sizeBytes = file.sizeNow();
    if (this.#memory.length !== sizeBytes) this.#memory = Buffer.allocUnsafeSlow(sizeBytes);
    const bytes = this.#memory;
    const at = SEGMENT_HEADER_BYTES;
    const segment: Open = { path, place, bytes, newest: true, file, at, readBytes: 0 };
    this.#segment = segment;
    // Where a start lies in the past, the first frame says whether it opens an epoch.
    fill(segment, SEGMENT_HEADER_BYTES + FRAME_HEADER_BYTES);
    this.#scan.open(segment);
    return segment;
  }

  #nextPlace(): SegmentPlace {
    const { disk, folder, start } = this.#options;
    const places = findSegments(folder, namesIn(disk, folder));
    const { number, sequence } = this.#scan;
    const next =
      number > 0
        ? places.find((place) => place.number === number + 1)
        : start === null
          ? places[0]
          : firstBehind(places, start);
    if (next !== undefined && next !== null) return next;
    const wanted = number > 0 ? `segment ${number + 1}` : `record ${(start?.sequence ?? 0) + 1}`;
    throw new LogCorrupt(folder, 0, wanted, `none behind record ${sequence}`);
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
