/**
 * Start: reads the whole log, checks all of it, replays its records, and makes its end safe to go
 * on from. When something is damaged it halts before anything on disk is changed.
 */
import type { Clock } from "../engine/ports.ts";
import type { Replay } from "./codec.ts";
import type { Disk } from "./disk.ts";
import { LogCorrupt } from "./faults.ts";
import { LogScan, type SegmentExtent } from "./scan.ts";
import { type SegmentPlace, parseSegmentName, segmentName } from "./segment-header.ts";
import { TEMPORARY_SUFFIX } from "./segments.ts";
import { readAllNow, writeFileNow } from "./transfer.ts";

const SEGMENT_SUFFIX = ".log";
const BROKEN_SUFFIX = ".broken";

export interface RecoveryReport {
  readonly records: number;
  readonly segments: number;
  /** Bytes of good frames and headers. */
  readonly bytes: number;
  readonly seconds: number;
  /** Bytes of a frame that was not wholly written, cut off. */
  readonly tornBytes: number;
  /** Name of the segment that ended torn; its original is kept as `….broken`. */
  readonly tornSegment: string | null;
  /** The process before ended in order; true of an empty log. */
  readonly cleanShutdown: boolean;
  /** The last epoch in the log; this process writes the next one. */
  readonly epoch: number;
  /** Sequence number of the last record; 0 when there is none. */
  readonly sequence: number;
  /** Time of the last record; 0 when there is none. */
  readonly timeMs: number;
}

/** What to go on from. */
export interface Recovered {
  readonly report: RecoveryReport;
  readonly chain: Uint8Array;
  /** Number of the last segment; 0 when there is none. */
  readonly segmentNumber: number;
}

export interface RecoverOptions {
  readonly disk: Disk;
  /** The folder of the segments. */
  readonly folder: string;
  readonly storeId: string;
  readonly clock: Clock;
  readonly replay: Replay;
}

interface Newest extends SegmentExtent {
  readonly name: string;
  readonly bytes: Buffer;
}

/**
 * Ordering: all is checked and replayed before the first change. Each change leaves a log from
 * which the same records are recovered, so a start that is interrupted anywhere can be repeated.
 *
 * Cost: O(bytes of the log); memory O(bytes of the longest segment).
 * @throws LogCorrupt on damage, DiskFault when the disk fails; a read error is no end of file.
 */
export function recover(options: RecoverOptions): Recovered {
  const { disk, folder, clock, storeId, replay } = options;
  const startMs = clock.nowMs();
  const names = disk.listNow(folder) ?? [];
  const places = findSegments(folder, names);
  const scan = new LogScan(storeId, replay);
  let newest: Newest | null = null;
  let memory: Buffer = Buffer.alloc(0);
  let goodBytes = 0;
  for (const place of places) {
    const name = segmentName(place);
    const path = `${folder}/${name}`;
    memory = readSegment(disk, path, memory);
    const bytes = memory;
    const extent = scan.segment({ path, place, bytes, newest: place === places.at(-1) });
    goodBytes += extent.validBytes;
    newest = { ...extent, name, bytes };
  }
  removeTemporary(disk, folder, names);
  if (newest !== null) secureNewest(disk, folder, newest);
  const tornBytes = newest?.tornBytes ?? 0;
  const report = {
    records: scan.recordCount,
    segments: places.length,
    bytes: goodBytes,
    seconds: Math.max(0, clock.nowMs() - startMs) / 1_000,
    tornBytes,
    tornSegment: newest !== null && tornBytes > 0 ? newest.name : null,
    cleanShutdown: scan.clean,
    epoch: scan.epoch,
    sequence: scan.sequence,
    timeMs: scan.timeMs,
  };
  return { report, chain: scan.chain, segmentNumber: scan.number };
}

export function hasSegments(disk: Disk, folder: string): boolean {
  return (disk.listNow(folder) ?? []).some((name) => name.endsWith(SEGMENT_SUFFIX));
}

/** @returns The segments in the order of their numbers. */
function findSegments(folder: string, names: readonly string[]): SegmentPlace[] {
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

/** @param memory - Used again when it has the size of the file, as most segments have. */
function readSegment(disk: Disk, path: string, memory: Buffer): Buffer {
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

function removeTemporary(disk: Disk, folder: string, names: readonly string[]): void {
  for (const name of names) {
    if (name.endsWith(TEMPORARY_SUFFIX)) disk.removeNow(`${folder}/${name}`);
  }
}

/**
 * Puts a copy in the place of the newest segment, without its torn end, which is kept beside it.
 *
 * Always a copy: after a failed sync, what is read here may be in memory only, and syncing the old
 * file again would report success without writing it. A new file has no such past.
 */
function secureNewest(disk: Disk, folder: string, newest: Newest): void {
  const { name, bytes, validBytes, tornBytes } = newest;
  if (tornBytes > 0) {
    const original = bytes.subarray(0, validBytes + tornBytes);
    writeFileNow(disk, folder, `${name}${BROKEN_SUFFIX}`, original);
  }
  writeFileNow(disk, folder, name, bytes.subarray(0, validBytes));
}
