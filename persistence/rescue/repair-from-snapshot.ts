/**
 * Plans how the log restarts after an intact snapshot when the log that the snapshot belongs to is
 * damaged. Changes nothing.
 */
import type { LogRecord } from "../../engine/records.ts";
import type { State } from "../../engine/state.ts";
import { checkState } from "../../engine/verify/check.ts";
import { namesIn } from "../disk/disk.ts";
import { readFileNow } from "../disk/transfer.ts";
import {
  FRAME_HEADER_BYTES,
  SECTOR_BYTES,
  chainAfter,
  readChain,
  readFrameHeader,
} from "../log/frame.ts";
import type { ChainMark } from "../log/scan.ts";
import { type SegmentPlace, parseSegmentName, LOG_FOLDER } from "../log/segment-header.ts";
import { SNAPSHOT_FOLDER, startOf } from "../snapshot/file.ts";
import { loadSnapshot } from "../snapshot/load.ts";
import { Lost, readLost } from "./later-frames.ts";
import {
  type IntactSnapshot,
  type SegmentFacts,
  type SurveyOptions,
  faultOf,
  rebuild,
  without,
} from "./survey.ts";

/** How the log restarts. */
export interface LogRestart {
  /** Name of the snapshot that the store continues from. */
  readonly base: string;
  /** The last record before the restart; the log no longer contains it. */
  readonly mark: ChainMark;
  /** Whether the snapshot is rewritten, so that it stands exactly at the mark. */
  readonly isRewritten: boolean;
  /** The segment that is created; null when an existing one continues from the mark. */
  readonly segment: SegmentPlace | null;
}

export interface RestartPlan {
  readonly restart: LogRestart;
  /** The last record that is kept. */
  readonly sequence: number;
  /** Names of segments that are set aside, the newest first. */
  readonly segments: readonly string[];
  readonly lost: Lost;
}

/** The end of the log, from a segment that continues from the snapshot. */
interface Tail {
  /** Index of its first segment. */
  readonly index: number;
  readonly mark: ChainMark;
  /** The last record. */
  readonly sequence: number;
}

type Segments = readonly SegmentFacts[];

/**
 * @param segments - All segments of the log, in order.
 * @returns null when the snapshot with the log up to its mark is not a sound state.
 * Cost: O(bytes of the snapshot and of the log).
 */
export function planRestart(
  options: SurveyOptions,
  segments: Segments,
  base: IntactSnapshot,
): RestartPlan | null {
  const { name, meta } = base;
  const { state, sequence } = rebuild(options, name);
  const { mark } = startOf(meta);
  if (sequence > mark.sequence || faultOf(() => checkState(state)) !== null) return null;
  // If records before the tail are missing, the tail does not apply to this state.
  const tail = sequence === mark.sequence ? findTail(options, segments, base) : null;
  const aside = segments.slice(0, tail?.index).toReversed();
  const names = aside.map((segment) => segment.name);
  if (tail !== null) {
    const isRewritten = Buffer.compare(tail.mark.chain, mark.chain) !== 0;
    return {
      restart: { base: name, mark: tail.mark, isRewritten, segment: null },
      sequence: tail.sequence,
      segments: names,
      lost: new Lost(new Map()),
    };
  }
  const segment = { number: nextNumber(options), firstSequence: mark.sequence + 1 };
  return {
    restart: { base: name, mark, isRewritten: meta.sequence < mark.sequence, segment },
    sequence: mark.sequence,
    segments: names,
    lost: lostAfter(options, segments, base, { state, sequence }),
  };
}

/** Finds intact segments that begin right after the snapshot and are linked to it by the chain. */
function findTail(
  options: SurveyOptions,
  segments: Segments,
  { name, meta }: IntactSnapshot,
): Tail | null {
  const { sequence, chain } = startOf(meta).mark;
  let reached: Uint8Array = chain;
  for (const [index, segment] of segments.entries()) {
    const follows = segment.place.firstSequence === sequence + 1;
    if (follows && segments.slice(index).every(({ isIntact }) => isIntact)) {
      const mark = { sequence, chain: Buffer.from(reached) };
      const earlier = segments.slice(0, index).map((one) => one.name);
      const disk = without(options.disk, earlier);
      const tail = rebuild({ ...options, disk }, name, undefined, mark);
      if (tail.fault === null) return { index, mark, sequence: tail.sequence };
    }
    reached = chainAfterMarkers(bytesOf(options, segment), reached);
  }
  return null;
}

/** @returns The chain after frames without records, such as that of a clean shutdown. */
function chainAfterMarkers(bytes: Buffer, chain: Uint8Array): Uint8Array {
  let reached = chain;
  for (let at = 0; at < bytes.length; at += SECTOR_BYTES) {
    const header = readFrameHeader(bytes, at);
    if (header?.frameBytes !== FRAME_HEADER_BYTES) continue;
    const frame = bytes.subarray(at, at + SECTOR_BYTES);
    const own = readChain(frame);
    if (own.equals(chainAfter(frame, header.frameBytes, reached))) reached = own;
  }
  return reached;
}

/** @returns A segment number greater than any that was ever used. */
function nextNumber({ disk, folder }: SurveyOptions): number {
  const numbers = namesIn(disk, `${folder}/${LOG_FOLDER}`).map(
    // Including segments that were set aside.
    (name) => parseSegmentName(name.replace(/\.log\..*$/, ".log"))?.number ?? 0,
  );
  // Number 1 would mean the beginning of the store.
  return Math.max(1, ...numbers) + 1;
}

/** @returns The records after those in the state, except those that a newer partition contains. */
function lostAfter(
  options: SurveyOptions,
  segments: Segments,
  { name, meta }: IntactSnapshot,
  { state, sequence }: { readonly state: State; readonly sequence: number },
): Lost {
  const events = new Map<number, string>();
  for (const { id, partition } of state.catalog.events.values()) events.set(partition, id);
  const lost = new Lost(events);
  const { sequences } = loadSnapshot(
    `${options.folder}/${SNAPSHOT_FOLDER}/${name}`,
    options.storeId,
  );
  let last = meta.markSequence;
  let readable = 0;
  const count = (record: LogRecord, number: number, timeMs: number) => {
    if (number <= sequence) return;
    readable += 1;
    const kept = "partition" in record ? (sequences.get(record.partition) ?? 0) : 0;
    if (number > kept) lost.add(record, timeMs);
  };
  for (const segment of segments) {
    last = Math.max(last, readLost(bytesOf(options, segment), 0, count));
  }
  lost.setRange(sequence + 1, last, readable);
  return lost;
}

export function bytesOf({ disk, folder }: SurveyOptions, { name }: SegmentFacts): Buffer {
  return readFileNow(disk, `${folder}/${LOG_FOLDER}/${name}`);
}
