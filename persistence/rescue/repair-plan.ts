/**
 * What a repair would do: which way of recovery reaches furthest, what of the folder it needs, and
 * which records are lost. Changes nothing.
 */
import { namesIn, type ReadDisk } from "../disk/disk.ts";
import { ExitCode, FolderRefused } from "../disk/faults.ts";
import { SEGMENT_SUFFIX, segmentOf } from "../log/read-log.ts";
import { parseSegmentName, LOG_FOLDER } from "../log/segment-header.ts";
import { Lost, cutPoint, readLost } from "./later-frames.ts";
import {
  type Anew,
  type AnewPlan,
  type Base,
  bytesOf,
  planAnew,
  without,
} from "./repair-from-snapshot.ts";
import {
  type Finding,
  type OnWork,
  type SegmentFacts,
  rebuild,
  surveyLog,
  surveySnapshots,
} from "./survey.ts";

export interface PlanOptions {
  readonly disk: ReadDisk;
  /** The data folder, which no process changes meanwhile. */
  readonly folder: string;
  readonly storeId: string;
  /** The last record that may stay; as many as can be saved when not given. */
  readonly cutAfter?: number | undefined;
  readonly onWork?: OnWork | undefined;
}

export interface RepairPlan {
  readonly findings: readonly Finding[];
  /** The last record that stays. */
  readonly sequence: number;
  /** Names of snapshots and of segments that are set aside whole, in this order. */
  readonly snapshots: readonly string[];
  readonly segments: readonly string[];
  /** The segment that loses its end, and the bytes that stay; null for none. */
  readonly cut: { readonly name: string; readonly bytes: number } | null;
  /** How the log begins anew behind a snapshot; null when the log that is there goes on. */
  readonly anew: Anew | null;
  readonly lost: Lost;
}

/** A way of recovery: from a snapshot, or from the first record, and how far it leads. */
interface Way {
  readonly base: Base | null;
  /** The last record. */
  readonly sequence: number;
  /** Index of the last segment that stays. */
  readonly segment: number;
  /** Bytes that stay of that segment; null for all. */
  readonly bytes: number | null;
  /** Ids by number of partition. */
  readonly events: ReadonlyMap<number, string>;
}

type Segments = readonly SegmentFacts[];

/**
 * Cost: as `verifyFolder`.
 * @throws FolderRefused when nothing can be saved, or nothing that ends where `cutAfter` says.
 */
export function planRepair(given: PlanOptions): RepairPlan {
  const strangers = misnamedSegments(given);
  const options = { ...given, disk: without(given.disk, strangers) };
  const { segments, findings } = surveyLog(given);
  const survey = surveySnapshots(options);
  const good = survey.snapshots.flatMap(({ name, meta }) => (meta === null ? [] : { name, meta }));
  const bases: (Base | null)[] = good.toReversed();
  if (segments[0]?.place.number === 1) bases.unshift(null);
  const ways = bases.flatMap((base) => wayFrom(options, segments, base) ?? []);
  const furthest = Math.max(...ways.map(({ sequence }) => sequence));
  const kept = ways.filter(({ sequence }) => sequence === furthest);
  const all = [...findings, ...survey.findings];
  const names = survey.snapshots.map(({ name }) => name);
  const anew = richerPlan(options, segments, good, furthest);
  if (anew !== null) {
    return {
      ...anew,
      findings: all,
      snapshots: names.filter((name) => name !== anew.anew.base),
      segments: [...strangers, ...anew.segments],
      cut: null,
    };
  }
  // The oldest of them, so that most ways stay.
  const [best] = kept;
  if (best === undefined) throw unrepairable(options);
  demandNoRicher(options, best, good);
  const used = new Set(kept.map(({ base }) => base?.name));
  const { segment, bytes } = best;
  const cut = bytes === null ? null : { name: segments[segment]!.name, bytes };
  const behind = segments.slice(segment + 1).toReversed();
  const durable = Math.max(0, ...good.map(({ meta }) => meta.markSequence));
  const lost = lostBy(options, segments, best, durable);
  // Everything would go: that is a new store, and no repair.
  if (best.sequence === 0 && lost.total > 0) throw unrepairable(options);
  return {
    findings: all,
    sequence: best.sequence,
    snapshots: names.filter((name) => !used.has(name)),
    segments: [...strangers, ...[...behind, ...before(segments, best)].map(({ name }) => name)],
    cut,
    anew: null,
    lost,
  };
}

/**
 * From the newest snapshot by which more is kept than by any way over the log: it holds more, or
 * segments that are whole begin right behind it.
 * @param reached - The last record that such a way leads to.
 * @returns Null when there is none, or when it is told where to cut.
 */
function richerPlan(
  options: PlanOptions,
  segments: Segments,
  good: readonly Base[],
  reached: number,
): AnewPlan | null {
  if (options.cutAfter !== undefined) return null;
  for (const base of good) {
    if (base.meta.markSequence < reached) continue;
    const plan = planAnew(options, segments, base);
    if (plan !== null && plan.sequence > reached) return plan;
  }
  return null;
}

/** A good snapshot is not thrown away unasked, also where it is no sound state by itself. */
function demandNoRicher({ folder, cutAfter }: PlanOptions, way: Way, good: readonly Base[]): void {
  const richer = good.find(({ meta }) => meta.sequence > way.sequence);
  if (richer === undefined || cutAfter !== undefined) return;
  const { name, meta } = richer;
  const reason =
    `snapshot ${name} is good and holds the records up to ${meta.sequence}, but the log that it ` +
    `is joined by is damaged, so that only those up to ${way.sequence} can be put together: ` +
    `restore a backup, or give --cut-after ${way.sequence} to go on without the rest`;
  throw new FolderRefused(folder, reason, ExitCode.CONFIGURATION);
}

/** Files in the log's folder that have the name of a segment nearly. */
function misnamedSegments({ disk, folder }: PlanOptions): string[] {
  const names = namesIn(disk, `${folder}/${LOG_FOLDER}`);
  return names.filter((name) => name.endsWith(SEGMENT_SUFFIX) && parseSegmentName(name) === null);
}

/** @returns Null when it leads nowhere. */
function wayFrom(options: PlanOptions, segments: Segments, base: Base | null): Way | null {
  const { cutAfter = Infinity } = options;
  const { state, sequence, fault } = rebuild(options, base?.name ?? null);
  const events = new Map<number, string>();
  for (const { id, partition } of state.catalog.events.values()) events.set(partition, id);
  const end = { base, sequence, segment: segments.length - 1, bytes: null, events };
  if (fault === null && cutAfter >= sequence) return end;
  const isToldTo = cutAfter < sequence;
  const at = isToldTo
    ? indexOf(segments, cutAfter)
    : segments.findIndex(({ name }) => fault?.path.endsWith(`/${name}`));
  const offset = isToldTo ? Infinity : (fault?.offset ?? 0);
  const way = at < 0 ? null : cutAt(options, segments, { ...end, segment: at }, offset);
  if (way === null) return null;
  if (base === null) return way;
  const holdsBase = way.segment >= indexOf(segments, base.meta.sequence);
  return holdsBase && way.sequence >= base.meta.markSequence ? way : null;
}

/** @param offset - Of the damage in the last segment of the way. */
function cutAt(options: PlanOptions, segments: Segments, way: Way, offset: number): Way | null {
  const { cutAfter = Infinity } = options;
  const point = cutPoint(bytesOf(options, segments[way.segment]!), cutAfter, offset);
  if (point !== null) return { ...way, ...point };
  // Nothing of it stays: the way ends with the segment before.
  for (let segment = way.segment - 1; segment >= 0; segment--) {
    const last = cutPoint(bytesOf(options, segments[segment]!), Infinity, Infinity);
    if (last !== null) return { ...way, segment, sequence: last.sequence };
  }
  return null;
}

/** What lies before the base stays, unless it is damaged. */
function before(segments: Segments, { base }: Way): Segments {
  if (base === null) return [];
  const first = indexOf(segments, base.meta.sequence);
  const isGood = segments.slice(0, first + 1).every((segment) => segment.isGood);
  return isGood ? [] : segments.slice(0, first);
}

/** @param durable - A record that is known to have been acknowledged. */
function lostBy(options: PlanOptions, segments: Segments, way: Way, durable: number): Lost {
  const lost = new Lost(way.events);
  let last = Math.max(way.sequence, durable);
  for (const [i, segment] of segments.entries()) {
    if (i < way.segment || (i === way.segment && way.bytes === null)) continue;
    const offset = i === way.segment ? way.bytes! : 0;
    last = Math.max(
      last,
      readLost(bytesOf(options, segment), offset, (one) => lost.add(one)),
    );
  }
  lost.setRange(way.sequence + 1, last, lost.readable);
  return lost;
}

/** Index of the segment that holds the record, or would. */
function indexOf(segments: Segments, sequence: number): number {
  const place = segmentOf(
    segments.map((segment) => segment.place),
    Math.max(1, sequence),
  );
  return segments.findIndex((segment) => segment.place === place);
}

function unrepairable({ folder, cutAfter }: PlanOptions): FolderRefused {
  const what = cutAfter === undefined ? "nothing" : `nothing that ends with record ${cutAfter}`;
  const reason = `${what} can be saved of it: restore a backup`;
  return new FolderRefused(folder, reason, ExitCode.CONFIGURATION);
}
