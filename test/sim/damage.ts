/**
 * Damage while no process runs: flipped bits; removed, swapped, truncated and foreign files; frames
 * of another history. Each has the required result of the next start.
 */
import { posix } from "node:path";
import {
  decodeSegmentHeader,
  encodeSegmentHeader,
  FrameFlag,
  type FrameHeader,
  padToSector,
  parseSegmentName,
  payloadIsIntact,
  readChain,
  readFrameHeader,
  sealFrame,
  SECTOR_BYTES,
  SEGMENT_HEADER_BYTES,
  segmentName,
} from "../../persistence/log/frame.ts";
import type { FakeDisk } from "../support/disk/fake-disk.ts";
import type { Random } from "./workload/random.ts";

/** The required result of a start. */
export const Due = {
  /** It halts, unless a snapshot makes the damaged segment unnecessary. */
  HALT: "halt",
  /** It opens with every record. */
  OPEN: "open",
  /** Either; but it never opens with fewer records. */
  EITHER: "either",
} as const;
export type Due = (typeof Due)[keyof typeof Due];

export interface Damage {
  readonly what: string;
  readonly due: Due;
  /** The number of the lowest damaged segment; Infinity for none. */
  readonly segment: number;
  /** The log after a start differs from the one without the damage, and must stay. */
  readonly isLasting?: boolean;
  /** The number of the newest segment after the damage. */
  readonly newest: number;
}

interface Frame {
  readonly at: number;
  readonly header: FrameHeader;
}

interface Segment {
  readonly path: string;
  readonly number: number;
  readonly bytes: Buffer;
  readonly frames: readonly Frame[];
}

type Harm = (place: Place) => Omit<Damage, "newest"> | null;

interface Place {
  readonly disk: FakeDisk;
  readonly random: Random;
  readonly segments: readonly Segment[];
  /** The newest first. */
  readonly snapshots: readonly string[];
}

/** Does a random damage. @returns null if nothing can be damaged that way. */
export function damage(disk: FakeDisk, random: Random): Damage | null {
  const files = disk.files();
  const paths = [...files.keys()];
  const segments = paths
    .filter((path) => path.endsWith(".log"))
    .map((path) => {
      const bytes = files.get(path)!;
      const { number } = parseSegmentName(posix.basename(path))!;
      return { path, number, bytes, frames: framesOf(bytes) };
    });
  if (segments.length === 0) return null;
  const snapshots = paths.filter((path) => path.includes("/snapshots/")).toReversed();
  const harms = snapshots.length > 0 && random.once(3) ? SNAPSHOT_HARMS : LOG_HARMS;
  const done = random.pick(harms)({ disk, random, segments, snapshots });
  if (done === null) return null;
  return { ...done, newest: Math.max(segments.at(-1)!.number, finite(done.segment)) };
}

function finite(number: number): number {
  return Number.isFinite(number) ? number : 0;
}

/** The frames up to the first damaged one. */
function framesOf(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  let at = SEGMENT_HEADER_BYTES;
  for (;;) {
    const header = readFrameHeader(bytes, at);
    if (header === null || header.offset !== at) return frames;
    const end = at + padToSector(header.frameBytes);
    if (end > bytes.length || !payloadIsIntact(bytes.subarray(at, end))) return frames;
    frames.push({ at, header });
    at = end;
  }
}

/** Flips a bit of a frame followed by another frame or segment. */
function flipCovered({ disk, random, segments }: Place): ReturnType<Harm> {
  const segment = random.pick(segments);
  const frames = segment === segments.at(-1) ? segment.frames.slice(0, -1) : segment.frames;
  const isHead = random.once(8);
  const frame = isHead || frames.length === 0 ? undefined : random.pick(frames);
  if (frame === undefined && !isHead) return null;
  const [from, length] =
    frame === undefined
      ? [0, SEGMENT_HEADER_BYTES]
      : [frame.at, padToSector(frame.header.frameBytes)];
  disk.plant(segment.path, flipped(segment.bytes, from + random.below(length), random));
  const what = frame === undefined ? "a bit of a segment's head" : "a bit of a covered frame";
  return { what, due: Due.HALT, segment: segment.number };
}

/** A frame with valid records, checksums and place, but the chain of another history. */
function forgeChain({ disk, random, segments }: Place): ReturnType<Harm> {
  const segment = random.pick(segments);
  const frame = segment.frames.length === 0 ? undefined : random.pick(segment.frames);
  if (frame === undefined) return null;
  const before = Buffer.from(Array.from({ length: 16 }, () => random.below(256)));
  disk.plant(segment.path, forged(segment.bytes, frame, before));
  return { what: "a frame with another chain", due: Due.HALT, segment: segment.number };
}

/** An intact frame after the last one, but of another process. */
function forgeNext(changes: Partial<FrameHeader>, what: string): Harm {
  return ({ disk, segments }) => {
    const segment = segments.at(-1)!;
    const last = segment.frames.at(-1);
    if (last === undefined) return null;
    const { flags, epoch, firstSequence, recordCount, frameBytes } = last.header;
    const at = last.at + padToSector(frameBytes);
    const isTorn = segment.bytes.subarray(at).some((byte) => byte !== 0);
    const isClean = (flags & FrameFlag.CLEAN_SHUTDOWN) !== 0;
    if (isTorn || isClean || at + SECTOR_BYTES > segment.bytes.length) return null;
    const next = firstSequence + recordCount;
    const header: FrameHeader = {
      version: last.header.version,
      flags: FrameFlag.IDLE_MARKER,
      firstSequence: next + (changes.firstSequence ?? 0),
      durableSequence: next - 1,
      epoch: epoch + (changes.epoch ?? 0),
      recordCount: 0,
      offset: at + (changes.offset ?? 0),
      frameBytes: 64,
    };
    const bytes = Buffer.from(segment.bytes);
    const chain = readChain(bytes.subarray(last.at));
    sealFrame(bytes.subarray(at, at + SECTOR_BYTES), header, chain);
    disk.plant(segment.path, bytes);
    return { what, due: Due.HALT, segment: segment.number };
  };
}

function removeMiddle({ disk, random, segments }: Place): ReturnType<Harm> {
  const middle = segments.slice(1, -1);
  if (middle.length === 0) return null;
  const segment = random.pick(middle);
  disk.plant(segment.path, null);
  return { what: "a segment in the middle is missing", due: Due.HALT, segment: segment.number };
}

function removeFirst({ disk, segments }: Place): ReturnType<Harm> {
  const [first] = segments;
  if (segments.length < 2) return null;
  disk.plant(first!.path, null);
  return { what: "the first segment is missing", due: Due.HALT, segment: first!.number };
}

function removeAll({ disk, segments, snapshots }: Place): ReturnType<Harm> {
  for (const { path } of segments) disk.plant(path, null);
  const what = snapshots.length > 0 ? "only snapshots are there" : "the whole log is missing";
  return { what, due: Due.HALT, segment: segments.at(-1)!.number };
}

function swap({ disk, random, segments }: Place): ReturnType<Harm> {
  if (segments.length < 2) return null;
  const at = random.below(segments.length - 1);
  const [a, b] = [segments[at]!, segments[at + 1]!];
  disk.plant(a.path, b.bytes);
  disk.plant(b.path, a.bytes);
  return { what: "two segments are swapped", due: Due.HALT, segment: b.number };
}

function duplicate({ disk, random, segments }: Place): ReturnType<Harm> {
  const newest = segments.at(-1)!;
  const { firstSequence } = parseSegmentName(posix.basename(newest.path))!;
  const name = segmentName({ number: newest.number + 1, firstSequence });
  const folder = posix.dirname(newest.path);
  disk.plant(`${folder}/${name}`, random.pick(segments).bytes);
  return { what: "a segment is there twice", due: Due.HALT, segment: newest.number + 1 };
}

function foreign({ disk, random, segments }: Place): ReturnType<Harm> {
  const segment = random.pick(segments);
  const header = decodeSegmentHeader(segment.bytes);
  const bytes = Buffer.from(segment.bytes);
  const storeId = "00000000-0000-4000-8000-000000000000";
  encodeSegmentHeader({ ...header, storeId }).copy(bytes);
  disk.plant(segment.path, bytes);
  return { what: "a segment of another store", due: Due.HALT, segment: segment.number };
}

/** Not the newest segment: a log without its end looks like an older log. */
function cut({ disk, random, segments }: Place): ReturnType<Harm> {
  const older = segments.slice(0, -1);
  if (older.length === 0) return null;
  const segment = random.pick(older);
  const last = segment.frames.at(-1);
  if (last === undefined) return null;
  const end = last.at + last.header.frameBytes;
  disk.plant(segment.path, segment.bytes.subarray(0, random.below(end)));
  return { what: "an older segment is cut", due: Due.HALT, segment: segment.number };
}

/** Flips a bit of the zeros after the last frame, where nothing was acknowledged. */
function flipBehind({ disk, random, segments }: Place): ReturnType<Harm> {
  const segment = segments.at(-1)!;
  const last = segment.frames.at(-1);
  if (last === undefined) return null;
  const from = last.at + padToSector(last.header.frameBytes);
  if (from >= segment.bytes.length) return null;
  const at = from + random.below(segment.bytes.length - from);
  disk.plant(segment.path, flipped(segment.bytes, at, random));
  const what = "a bit after the last frame";
  return { what, due: Due.EITHER, segment: segment.number, isLasting: true };
}

/** The older snapshot, or the whole log, replaces it. */
function spoilNewest({ disk, random, snapshots }: Place): ReturnType<Harm> {
  const path = snapshots[0]!;
  disk.plant(path, spoiled(disk.files().get(path)!, random));
  return { what: "the newest snapshot is damaged", due: Due.OPEN, segment: Infinity };
}

function spoilAll({ disk, random, snapshots }: Place): ReturnType<Harm> {
  for (const path of snapshots) disk.plant(path, spoiled(disk.files().get(path)!, random));
  return { what: "every snapshot is damaged", due: Due.EITHER, segment: Infinity };
}

function removeSnapshot({ disk, snapshots }: Place): ReturnType<Harm> {
  disk.plant(snapshots[0]!, null);
  return { what: "the newest snapshot is missing", due: Due.OPEN, segment: Infinity };
}

const LOG_HARMS: readonly Harm[] = [
  flipCovered,
  flipCovered,
  flipCovered,
  flipCovered,
  forgeChain,
  forgeChain,
  forgeNext({ epoch: -1 }, "a frame of an older epoch"),
  forgeNext({ epoch: 1 }, "a frame of a later epoch"),
  forgeNext({ firstSequence: 1 }, "a frame with a gap before it"),
  forgeNext({ offset: SECTOR_BYTES }, "a frame of another place"),
  removeMiddle,
  removeFirst,
  removeAll,
  swap,
  duplicate,
  foreign,
  cut,
  flipBehind,
];
const SNAPSHOT_HARMS: readonly Harm[] = [spoilNewest, spoilNewest, removeSnapshot, spoilAll];

function flipped(bytes: Buffer, at: number, random: Random): Buffer {
  const copy = Buffer.from(bytes);
  copy[at]! ^= 1 << random.below(8);
  return copy;
}

/** Truncated, or with random bytes in one sector. */
function spoiled(bytes: Buffer, random: Random): Buffer {
  if (random.once(3)) return Buffer.from(bytes.subarray(0, random.below(bytes.length)));
  const copy = Buffer.from(bytes);
  const from = random.below(copy.length);
  const end = Math.min(copy.length, from + SECTOR_BYTES);
  for (let at = from; at < end; at++) copy[at] = random.below(256);
  return copy;
}

/** @param chain - The chain before the frame, according to the frame. */
function forged(bytes: Buffer, { at, header }: Frame, chain: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  sealFrame(copy.subarray(at, at + padToSector(header.frameBytes)), header, chain);
  return copy;
}
