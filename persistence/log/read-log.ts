/**
 * Reads the segments of a log in order, from its beginning or from where a snapshot ends. Changes
 * nothing on disk.
 */
import { type ReadDisk, namesIn } from "../disk/disk.ts";
import { LogCorrupt } from "../disk/faults.ts";
import { readAllNow } from "../disk/transfer.ts";
import type { Replay } from "./codec.ts";
import { LogScan, type LogStart, type SegmentExtent } from "./scan.ts";
import { type SegmentPlace, parseSegmentName, segmentName } from "./segment-header.ts";

export const SEGMENT_SUFFIX = ".log";

/** Told now and then how far a long piece of work is. */
export type OnProgress = (doneBytes: number, totalBytes: number) => void;

export interface ReadOptions {
  readonly disk: ReadDisk;
  /** The folder of the segments. */
  readonly folder: string;
  readonly storeId: string;
  readonly replay: Replay;
  /** Null to read from the first record on. */
  readonly start: LogStart | null;
  /** A sequence number that is on disk, beyond which nothing is read. */
  readonly until?: number | undefined;
  readonly onProgress?: OnProgress | undefined;
  /** Given each segment once it is checked; the bytes are good until it returns. */
  readonly onSegment?: ((segment: ReadSegment) => void) | undefined;
}

/** A segment that was read. */
export interface ReadSegment extends SegmentExtent {
  readonly name: string;
  readonly bytes: Buffer;
}

export interface ReadLog {
  readonly scan: LogScan;
  /** Segments that were read. */
  readonly segments: number;
  /** Bytes of good frames and headers. */
  readonly goodBytes: number;
  readonly newest: ReadSegment | null;
}

/**
 * Cost: O(bytes read); memory O(bytes of the longest segment).
 * @throws LogCorrupt on damage, DiskFault when the disk fails; a read error is no end of file.
 */
export function readLog(options: ReadOptions): ReadLog {
  const { disk, folder, storeId, replay, start, until } = options;
  const places = placesFrom(folder, findSegments(folder, namesIn(disk, folder)), start);
  const scan = new LogScan(storeId, replay, start);
  let newest: ReadSegment | null = null;
  let memory: Buffer = Buffer.alloc(0);
  let goodBytes = 0;
  let segments = 0;
  for (const place of places) {
    if (until !== undefined && scan.sequence >= until) break;
    const name = segmentName(place);
    const path = `${folder}/${name}`;
    memory = readSegment(disk, path, memory);
    const segment = { path, place, bytes: memory, newest: place === places.at(-1) };
    const extent = scan.segment(segment, until);
    if (segment.newest && until === undefined) scan.end(segment, extent);
    goodBytes += extent.validBytes;
    segments += 1;
    newest = { ...extent, name, bytes: memory };
    options.onSegment?.(newest);
    options.onProgress?.(segments, places.length);
  }
  return { scan, segments, goodBytes, newest };
}

/** @returns The segments in the order of their numbers. @throws LogCorrupt for a name unknown. */
export function findSegments(folder: string, names: readonly string[]): SegmentPlace[] {
  const places: SegmentPlace[] = [];
  for (const name of names) {
    if (!name.endsWith(SEGMENT_SUFFIX)) continue;
    const place = parseSegmentName(name);
    if (place === null) {
      throw new LogCorrupt(`${folder}/${name}`, 0, "the name of a segment", `"${name}"`);
    }
    places.push(place);
  }
  return places.sort((a, b) => a.number - b.number || a.firstSequence - b.firstSequence);
}

/**
 * The segment that holds a record, when it is there at all: a reader from that record on needs it
 * and all behind it.
 */
export function segmentOf(places: readonly SegmentPlace[], sequence: number): SegmentPlace | null {
  return places.findLast(({ firstSequence }) => firstSequence <= sequence) ?? null;
}

/**
 * The segment to begin with. It holds the last record before the start, which proves that the two
 * belong together; or it is the first there is and begins right there, as after a repair.
 */
export function firstBehind(
  places: readonly SegmentPlace[],
  { sequence }: LogStart,
): SegmentPlace | null {
  const [first] = places;
  return segmentOf(places, sequence) ?? (first?.firstSequence === sequence + 1 ? first : null);
}

function placesFrom(
  folder: string,
  places: readonly SegmentPlace[],
  start: LogStart | null,
): readonly SegmentPlace[] {
  if (start === null) return places;
  const first = firstBehind(places, start);
  if (first !== null) return places.slice(places.indexOf(first));
  const found = places[0] === undefined ? "no segment" : `${segmentName(places[0])} as the first`;
  throw new LogCorrupt(folder, 0, `a segment with record ${start.sequence}`, found);
}

/** @param memory - Used again when it has the size of the file, as most segments have. */
export function readSegment(disk: ReadDisk, path: string, memory: Buffer): Buffer {
  const file = disk.openNow(path);
  try {
    const sizeBytes = file.sizeNow();
    const bytes = sizeBytes === memory.length ? memory : Buffer.allocUnsafeSlow(sizeBytes);
    readAllNow(file, bytes);
    return bytes;
  } finally {
    file.closeNow();
  }
}
