/**
 * Reads the segments of a log in order, from its beginning or from the end of a snapshot. It never
 * changes a file.
 */
import type { StorePlace } from "../disk/data-folder.ts";
import { type ReadDisk, namesIn } from "../disk/disk.ts";
import { LogCorrupt } from "../disk/faults.ts";
import { readFileNow } from "../disk/transfer.ts";
import type { Replay } from "./codec.ts";
import { LogScan, type LogStart, type SegmentExtent } from "./scan.ts";
import { LOG_FOLDER, type SegmentPlace, parseSegmentName, segmentName } from "./segment-header.ts";

export const SEGMENT_SUFFIX = ".log";

/** Reports the progress of long work, in units of its own: segments or partitions. */
export type OnProgress = (done: number, total: number) => void;

export interface ReadOptions extends StorePlace<ReadDisk> {
  readonly replay: Replay;
  /** Null to read from the first record on. */
  readonly start: LogStart | null;
  /** Reading ends with the frame of this record, which must be on disk. */
  readonly until?: number | undefined;
  readonly onProgress?: OnProgress | undefined;
  /** Called with each segment once it is checked. Its bytes are valid only during the call. */
  readonly onSegment?: ((segment: ReadSegment) => void) | undefined;
}

/** A segment that was read. */
export interface ReadSegment extends SegmentExtent {
  readonly name: string;
  readonly bytes: Buffer;
}

export interface ReadLog {
  readonly scan: LogScan;
  /** How many segments were read. */
  readonly segments: number;
  /** Bytes of valid frames and headers. */
  readonly validBytes: number;
  readonly newest: ReadSegment | null;
}

/**
 * Cost: O(bytes read); memory O(bytes of the longest segment).
 * @throws LogCorrupt on damage, DiskFault when a read fails.
 */
export function readLog(options: ReadOptions): ReadLog {
  const { disk, folder, storeId, replay, start, until } = options;
  const log = `${folder}/${LOG_FOLDER}`;
  const places = placesFrom(log, findSegments(disk, folder), start);
  const scan = new LogScan(storeId, replay, start);
  let newest: ReadSegment | null = null;
  let memory: Buffer | undefined;
  let validBytes = 0;
  let segments = 0;
  for (const place of places) {
    if (until !== undefined && scan.sequence >= until) break;
    const name = segmentName(place);
    const path = `${log}/${name}`;
    memory = readFileNow(disk, path, memory);
    const segment = { path, place, bytes: memory, newest: place === places.at(-1) };
    const extent = scan.segment(segment, until);
    if (segment.newest && until === undefined) scan.end(segment, extent);
    validBytes += extent.validBytes;
    segments += 1;
    newest = { ...extent, name, bytes: memory };
    options.onSegment?.(newest);
    options.onProgress?.(segments, places.length);
  }
  return { scan, segments, validBytes, newest };
}

/**
 * @param folder - The data folder.
 * @returns The segments in order of number. @throws LogCorrupt for a segment with an invalid name.
 */
export function findSegments(disk: ReadDisk, folder: string): SegmentPlace[] {
  const log = `${folder}/${LOG_FOLDER}`;
  const places: SegmentPlace[] = [];
  for (const name of namesIn(disk, log)) {
    if (!name.endsWith(SEGMENT_SUFFIX)) continue;
    const place = parseSegmentName(name);
    if (place === null) {
      throw new LogCorrupt(`${log}/${name}`, 0, "the name of a segment", `"${name}"`);
    }
    places.push(place);
  }
  return places.sort((a, b) => a.number - b.number || a.firstSequence - b.firstSequence);
}

/** @returns The segment that contains the record, if any: the last that begins at or before it. */
export function segmentOf(
  places: readonly SegmentPlace[],
  sequence: number,
): SegmentPlace | undefined {
  return places.findLast(({ firstSequence }) => firstSequence <= sequence);
}

/**
 * @returns The segment where a reader begins. It holds the last record before the start, which
 * proves that log and start belong together; or it is the first segment and begins right after that
 * record, as after a repair.
 */
export function firstSegment(
  places: readonly SegmentPlace[],
  start: LogStart | null,
): SegmentPlace | undefined {
  const [first] = places;
  if (start === null) return first;
  const isNext = first?.firstSequence === start.sequence + 1;
  return segmentOf(places, start.sequence) ?? (isNext ? first : undefined);
}

function placesFrom(
  log: string,
  places: readonly SegmentPlace[],
  start: LogStart | null,
): readonly SegmentPlace[] {
  if (start === null) return places;
  const first = firstSegment(places, start);
  if (first !== undefined) return places.slice(places.indexOf(first));
  const found = places[0] === undefined ? "no segment" : `${segmentName(places[0])} as the first`;
  throw new LogCorrupt(log, 0, `a segment with record ${start.sequence}`, found);
}
