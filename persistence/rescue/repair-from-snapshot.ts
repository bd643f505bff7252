/**
 * The way on from a snapshot that is good while the log it stands on is not: the log begins anew
 * behind it. Says what that would be; changes nothing.
 */
import type { LogRecord } from "../../engine/records.ts";
import type { State } from "../../engine/state.ts";
import { checkState } from "../../engine/verify/check.ts";
import { namesIn, type ReadDisk } from "../disk/disk.ts";
import {
  FRAME_HEADER_BYTES,
  SECTOR_BYTES,
  chainAfter,
  readChain,
  readFrameHeader,
} from "../log/frame.ts";
import { readSegment } from "../log/read-log.ts";
import type { ChainMark } from "../log/scan.ts";
import { type SegmentPlace, parseSegmentName, LOG_FOLDER } from "../log/segment-header.ts";
import { SNAPSHOT_FOLDER, type SnapshotMeta, startOf } from "../snapshot/file.ts";
import { loadSnapshot } from "../snapshot/load.ts";
import { Lost, readLost } from "./later-frames.ts";
import { type SegmentFacts, type SurveyOptions, faultOf, rebuild } from "./survey.ts";

/** A good snapshot. */
export interface Base {
  readonly name: string;
  readonly meta: SnapshotMeta;
}

/** How the log begins anew. */
export interface Anew {
  /** Name of the snapshot that the store goes on from. */
  readonly base: string;
  /** The last record before the log: no record of it is in the log any more. */
  readonly mark: ChainMark;
  /** The snapshot does not stand there by itself, so it is written anew, with what joins it. */
  readonly isRewritten: boolean;
  /** The segment that is made; null when one that is there goes on from the mark. */
  readonly segment: SegmentPlace | null;
}

export interface AnewPlan {
  readonly anew: Anew;
  /** The last record that stays. */
  readonly sequence: number;
  /** Names of segments that are set aside, the newest first. */
  readonly segments: readonly string[];
  readonly lost: Lost;
}

interface Tail {
  /** Index of the first segment of it. */
  readonly index: number;
  readonly mark: ChainMark;
  /** The last record. */
  readonly sequence: number;
}

type Segments = readonly SegmentFacts[];

/**
 * @param segments - All of the log, in order.
 * @returns Null when the snapshot with what joins it is no sound state.
 * Cost: O(bytes of the snapshot + bytes of the log).
 */
export function planAnew(options: SurveyOptions, segments: Segments, base: Base): AnewPlan | null {
  const { name, meta } = base;
  const { state, sequence } = rebuild(options, name);
  const { mark } = startOf(meta);
  if (sequence > mark.sequence || faultOf(() => checkState(state)) !== null) return null;
  // With records missing before it, a tail would be applied to another state than it was made from.
  const tail = sequence === mark.sequence ? findTail(options, segments, base) : null;
  const aside = segments.slice(0, tail?.index).toReversed();
  if (tail !== null) {
    const isRewritten = Buffer.compare(tail.mark.chain, mark.chain) !== 0;
    return {
      anew: { base: name, mark: tail.mark, isRewritten, segment: null },
      sequence: tail.sequence,
      segments: aside.map((one) => one.name),
      lost: new Lost(new Map()),
    };
  }
  const segment = { number: nextNumber(options), firstSequence: mark.sequence + 1 };
  return {
    anew: { base: name, mark, isRewritten: meta.sequence < mark.sequence, segment },
    sequence: mark.sequence,
    segments: aside.map((one) => one.name),
    lost: lostBehind(options, segments, base, { state, sequence }),
  };
}

/** Segments that are whole and begin right behind the snapshot, bound to it by the chain. */
function findTail(options: SurveyOptions, segments: Segments, { name, meta }: Base): Tail | null {
  const { sequence, chain } = startOf(meta).mark;
  let reached: Uint8Array = chain;
  for (const [index, segment] of segments.entries()) {
    const follows = segment.place.firstSequence === sequence + 1;
    if (follows && segments.slice(index).every(({ isGood }) => isGood)) {
      const mark = { sequence, chain: Buffer.from(reached) };
      const gone = segments.slice(0, index).map((one) => one.name);
      const disk = without(options.disk, gone);
      const tail = rebuild({ ...options, disk }, name, undefined, mark);
      if (tail.fault === null) return { index, mark, sequence: tail.sequence };
    }
    reached = chainBehind(bytesOf(options, segment), reached);
  }
  return null;
}

/**
 * The chain that the next record builds on: carried on over frames without records, such as those
 * that a process writes at its end.
 */
function chainBehind(bytes: Buffer, chain: Uint8Array): Uint8Array {
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

/** Greater than any there was. */
function nextNumber({ disk, folder }: SurveyOptions): number {
  const numbers = namesIn(disk, `${folder}/${LOG_FOLDER}`).map(
    // Also of those that were set aside.
    (name) => parseSegmentName(name.replace(/\.log\..*$/, ".log"))?.number ?? 0,
  );
  // The first would be taken for the beginning of the store.
  return Math.max(1, ...numbers) + 1;
}

/** Everything behind the records that are in the state, but for what a partition has yet. */
function lostBehind(
  options: SurveyOptions,
  segments: Segments,
  { name, meta }: Base,
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
  let seen = 0;
  const take = (record: LogRecord, number: number) => {
    if (number <= sequence) return;
    seen += 1;
    const kept = "partition" in record ? (sequences.get(record.partition) ?? 0) : 0;
    if (number > kept) lost.add(record);
  };
  for (const segment of segments) {
    last = Math.max(last, readLost(bytesOf(options, segment), 0, take));
  }
  lost.setRange(sequence + 1, last, seen);
  return lost;
}

/** A disk on which these files are not. */
export function without(disk: ReadDisk, names: readonly string[]): ReadDisk {
  return {
    openNow: (path) => disk.openNow(path),
    listNow: (path) => disk.listNow(path)?.filter((name) => !names.includes(name)) ?? null,
  };
}

export function bytesOf({ disk, folder }: SurveyOptions, { name }: SegmentFacts): Buffer {
  return readSegment(disk, `${folder}/${LOG_FOLDER}/${name}`, Buffer.alloc(0));
}
