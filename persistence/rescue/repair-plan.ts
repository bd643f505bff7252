/**
 * Plans a repair: finds the way of recovery reaching furthest, the files to set aside,
 * and the lost records. Changes nothing.
 */
import { type LogRecord, partitionsOf, RecordType } from "../../engine/records.ts";
import type { State } from "../../engine/state.ts";
import { checkState } from "../../engine/verify.ts";
import { namesIn } from "../disk/disk.ts";
import { ExitCode, FolderRefused, Malformed, only } from "../disk/faults.ts";
import { readFileNow } from "../disk/transfer.ts";
import { decodeRecords } from "../log/codec.ts";
import {
  chainAfter,
  FRAME_HEADER_BYTES,
  type FrameHeader,
  LOG_FOLDER,
  padToSector,
  parseSegmentName,
  payloadIsIntact,
  readChain,
  readFrameHeader,
  SECTOR_BYTES,
  SEGMENT_HEADER_BYTES,
  type SegmentPlace,
} from "../log/frame.ts";
import { type ChainMark, segmentOf } from "../log/log-reader.ts";
import { SNAPSHOT_FOLDER, startOf } from "../snapshot/file.ts";
import { loadSnapshot, missingIn } from "../snapshot/load.ts";
import {
  faultOf,
  type Finding,
  type IntactSnapshot,
  misnamedSegments,
  rebuild,
  type SegmentFacts,
  surveyLog,
  type SurveyOptions,
  surveySnapshots,
  without,
} from "./survey.ts";

/** No process may change the folder meanwhile. */
export interface PlanOptions extends SurveyOptions {
  /** The last record to keep; by default as many as can be saved are kept. */
  readonly cutAfter?: number | undefined;
}

export interface RepairPlan {
  readonly findings: readonly Finding[];
  /** The last kept record. */
  readonly sequence: number;
  /** Names of snapshots and segments to set aside as a whole, in the order of the repair. */
  readonly snapshots: readonly string[];
  readonly segments: readonly string[];
  /** The segment to shorten, and its remaining bytes; null for none. */
  readonly cut: { readonly name: string; readonly bytes: number } | null;
  /** Restart of the log after a snapshot; null when the present log continues. */
  readonly restart: LogRestart | null;
  readonly lost: Lost;
}

/** A way of recovery: from a snapshot or from the first record, up to some record. */
interface Way {
  /** Null for the first record of the log. */
  readonly base: IntactSnapshot | null;
  /** The last record. */
  readonly sequence: number;
  /** Index of the last kept segment. */
  readonly segment: number;
  /** Kept bytes of the last segment; null for all. */
  readonly bytes: number | null;
  /** Event ids by partition number. */
  readonly events: ReadonlyMap<number, string>;
}

type Segments = readonly SegmentFacts[];

/**
 * Cost: as `verifyFolder`.
 * @throws FolderRefused when nothing can be saved, or nothing ending with record `cutAfter`.
 */
export function planRepair(given: PlanOptions): RepairPlan {
  const misnamed = misnamedSegments(given.disk, given.folder);
  const options = { ...given, disk: without(given.disk, misnamed) };
  const { segments, findings } = surveyLog(given);
  const { names, intact, findings: more } = surveySnapshots(options);
  const bases: (IntactSnapshot | null)[] = intact.toReversed();
  if (segments[0]?.place.number === 1) bases.unshift(null);
  const ways = bases.flatMap((base) => wayFrom(options, segments, base) ?? []);
  const furthest = Math.max(...ways.map(({ sequence }) => sequence));
  const kept = ways.filter(({ sequence }) => sequence === furthest);
  const all = [...findings, ...more];
  const better = betterRestart(options, segments, intact, furthest);
  if (better !== null) {
    return {
      ...better,
      findings: all,
      snapshots: names.filter((name) => name !== better.restart.base),
      segments: [...misnamed, ...better.segments],
      cut: null,
    };
  }
  // The oldest of them keeps the most ways of recovery.
  const [best] = kept;
  if (best === undefined) throw unrepairable(options);
  ensureNewest(options, best, intact);
  const used = new Set(kept.map(({ base }) => base?.name));
  const { segment, bytes } = best;
  const cut = bytes === null ? null : { name: segments[segment]!.name, bytes };
  const later = segments.slice(segment + 1).toReversed();
  const durable = Math.max(0, ...intact.map(({ meta }) => meta.markSequence));
  const lost = lostBy(options, segments, best, durable);
  // If everything is lost, the result would be a new store, not a repair.
  if (best.sequence === 0 && lost.total > 0) throw unrepairable(options);
  return {
    findings: all,
    sequence: best.sequence,
    snapshots: names.filter((name) => !used.has(name)),
    segments: [
      ...misnamed,
      ...[...later, ...damagedBefore(segments, best)].map(({ name }) => name),
    ],
    cut,
    restart: null,
    lost,
  };
}

/**
 * Finds the newest snapshot whose restart keeps more records than any way through the log:
 * because it contains more, or because intact segments begin right after it.
 * @param reached - The last record of the best way through the log.
 * @returns null when there is none, or when `cutAfter` is given.
 */
function betterRestart(
  options: PlanOptions,
  segments: Segments,
  intact: readonly IntactSnapshot[],
  reached: number,
): RestartPlan | null {
  if (options.cutAfter !== undefined) return null;
  for (const base of intact) {
    if (base.meta.markSequence < reached) continue;
    const plan = planRestart(options, segments, base);
    if (plan !== null && plan.sequence > reached) return plan;
  }
  return null;
}

/** An intact snapshot with more records is discarded only on request, even if it is not usable. */
function ensureNewest(
  { folder, cutAfter }: PlanOptions,
  way: Way,
  intact: readonly IntactSnapshot[],
): void {
  const newer = intact.find(({ meta }) => meta.sequence > way.sequence);
  if (newer === undefined || cutAfter !== undefined) return;
  const { name, meta } = newer;
  const reason =
    `snapshot ${name} is intact and has the records up to ${meta.sequence}, but the log that it ` +
    `needs is damaged, so only those up to ${way.sequence} can be recovered: ` +
    `restore a backup, or give --cut-after ${way.sequence} to continue without the rest`;
  throw new FolderRefused(folder, reason, ExitCode.CONFIGURATION);
}

/** @returns null when nothing can be recovered in this way. */
function wayFrom(options: PlanOptions, segments: Segments, base: Way["base"]): Way | null {
  const { cutAfter = Infinity } = options;
  const { state, sequence, fault } = rebuild(options, base?.name ?? null);
  const events = new Map<number, string>();
  for (const { id, partition } of state.catalog.events.values()) events.set(partition, id);
  const end = { base, sequence, segment: segments.length - 1, bytes: null, events };
  if (fault === null && cutAfter >= sequence) return end;
  const isRequested = cutAfter < sequence;
  const at = isRequested
    ? indexOf(segments, cutAfter)
    : segments.findIndex(({ name }) => fault?.path.endsWith(`/${name}`));
  const offset = isRequested ? Infinity : (fault?.offset ?? 0);
  const way = at < 0 ? null : cutAt(options, segments, { ...end, segment: at }, offset);
  if (way === null) return null;
  if (base === null) return way;
  const holdsBase = way.segment >= indexOf(segments, base.meta.sequence);
  return holdsBase && way.sequence >= base.meta.markSequence ? way : null;
}

/** Ends a way before damage. @param offset - Of the damage in its last segment, in bytes. */
function cutAt(options: PlanOptions, segments: Segments, way: Way, offset: number): Way | null {
  const { cutAfter = Infinity } = options;
  const point = cutPoint(bytesOf(options, segments[way.segment]!), cutAfter, offset);
  if (point !== null) return { ...way, ...point };
  // Nothing of the segment remains, so the way ends with an earlier one.
  for (let segment = way.segment - 1; segment >= 0; segment--) {
    const last = cutPoint(bytesOf(options, segments[segment]!), Infinity, Infinity);
    if (last !== null) return { ...way, segment, sequence: last.sequence };
  }
  return null;
}

/** @returns The segments before the base if one is damaged; otherwise they are kept. */
function damagedBefore(segments: Segments, { base }: Way): Segments {
  if (base === null) return [];
  const first = indexOf(segments, base.meta.sequence);
  const areIntact = segments.slice(0, first + 1).every(({ isIntact }) => isIntact);
  return areIntact ? [] : segments.slice(0, first);
}

/** @param durable - An acknowledged record. */
function lostBy(options: PlanOptions, segments: Segments, way: Way, durable: number): Lost {
  const lost = new Lost(way.events);
  let last = Math.max(way.sequence, durable);
  for (const [i, segment] of segments.entries()) {
    if (i < way.segment || (i === way.segment && way.bytes === null)) continue;
    const offset = i === way.segment ? way.bytes! : 0;
    last = Math.max(
      last,
      readLost(bytesOf(options, segment), offset, (one, _, timeMs) => lost.add(one, timeMs)),
    );
  }
  lost.setRange(way.sequence + 1, last, lost.readable);
  return lost;
}

/** @returns The index of the segment of the record. */
function indexOf(segments: Segments, sequence: number): number {
  const place = segmentOf(
    segments.map((segment) => segment.place),
    Math.max(1, sequence),
  );
  return segments.findIndex((segment) => segment.place === place);
}

function unrepairable({ folder, cutAfter }: PlanOptions): FolderRefused {
  const what = cutAfter === undefined ? "nothing" : `nothing that ends with record ${cutAfter}`;
  const reason = `${what} can be saved: restore a backup`;
  return new FolderRefused(folder, reason, ExitCode.CONFIGURATION);
}

// Plans the restart of the log after an intact snapshot when its log is
// damaged. Changes nothing.

/** A restart of the log. */
export interface LogRestart {
  /** Name of the snapshot to continue from. */
  readonly base: string;
  /** The last record before the restart; the log no longer contains it. */
  readonly mark: ChainMark;
  /** The snapshot is rewritten to stand exactly at the mark. */
  readonly isRewritten: boolean;
  /** The new segment; null when an existing one continues from the mark. */
  readonly segment: SegmentPlace | null;
}

interface RestartPlan {
  readonly restart: LogRestart;
  /** The last record that is kept. */
  readonly sequence: number;
  /** Names of segments to set aside, the newest first. */
  readonly segments: readonly string[];
  readonly lost: Lost;
}

/** The end of the log, from a segment continuing the snapshot. */
interface Tail {
  /** Index of its first segment. */
  readonly index: number;
  readonly mark: ChainMark;
  /** The last record. */
  readonly sequence: number;
}

/**
 * @param segments - All segments of the log, in order.
 * @returns null when the snapshot with the log up to its mark is not a sound state.
 * Cost: O(bytes of the snapshot and of the log).
 */
function planRestart(
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

/** Finds intact segments beginning right after the snapshot and linked to it by the chain. */
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

/** @returns The chain after frames without records, such as a clean shutdown. */
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

/** @returns A segment number never used before. */
function nextNumber({ disk, folder }: SurveyOptions): number {
  const numbers = namesIn(disk, `${folder}/${LOG_FOLDER}`).map(
    // Including segments set aside.
    (name) => parseSegmentName(name.replace(/\.log\..*$/, ".log"))?.number ?? 0,
  );
  // Number 1 would mean the beginning of the store.
  return Math.max(1, ...numbers) + 1;
}

/** @returns The records after those in the state, except those in a newer partition. */
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
    const missing = missingIn(sequences, number, record);
    if (missing !== null) lost.add(missing, timeMs);
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

// The frames of a damaged log, each on its own: cut points, and the loss of a cut. No I/O.

/** A place where a log can be cut: the end of a frame. */
export interface CutPoint {
  /** The last record before it. */
  readonly sequence: number;
  /** Its offset in bytes. */
  readonly bytes: number;
}

/**
 * @returns The last cut point keeping no record after `sequence` and no byte after `offset`;
 * null when not even the first frame remains. Cost: O(frames).
 */
function cutPoint(bytes: Buffer, sequence: number, offset: number): CutPoint | null {
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
  /** Of events; a cart may be one of several events. */
  bookings = 0;
  /** Records known to have existed but unreadable. */
  unreadable = 0;
  /** Their range of sequence numbers, both inclusive; null when nothing is lost. */
  range: { readonly from: number; readonly to: number } | null = null;
  /** Times of the first and the last readable record; null when none is readable. */
  times: { readonly fromMs: number; readonly toMs: number } | null = null;
  readonly #events: Map<number, string>;

  /** @param events - Event ids by partition number, before the first lost record. */
  constructor(events: ReadonlyMap<number, string>) {
    this.#events = new Map(events);
  }

  /** Ids of all events before the first lost record, or in one of them. */
  get eventIds(): readonly string[] {
    return [...new Set(this.#events.values())];
  }

  get total(): number {
    return this.readable + this.unreadable;
  }

  get readable(): number {
    return this.catalog + this.bookings;
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
    this.bookings += 1;
    for (const number of partitionsOf(record)) {
      const event = this.#events.get(number) ?? `partition ${number}`;
      this.byEvent.set(event, (this.byEvent.get(event) ?? 0) + 1);
    }
  }
}
