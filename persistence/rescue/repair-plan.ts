/**
 * Plans a repair: finds the way of recovery that reaches furthest, the files that it does not need,
 * and the records that are lost. Changes nothing.
 */
import { ExitCode, FolderRefused } from "../disk/faults.ts";
import { segmentOf } from "../log/read-log.ts";
import { Lost, cutPoint, readLost } from "./later-frames.ts";
import { bytesOf, type LogRestart, planRestart, type RestartPlan } from "./repair-from-snapshot.ts";
import {
  type Finding,
  type IntactSnapshot,
  misnamedSegments,
  type SegmentFacts,
  type SurveyOptions,
  rebuild,
  surveyLog,
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
  /** The last record that is kept. */
  readonly sequence: number;
  /** Names of snapshots and segments that are set aside as a whole, in the order of the repair. */
  readonly snapshots: readonly string[];
  readonly segments: readonly string[];
  /** The segment that loses its end, and how many bytes remain; null for none. */
  readonly cut: { readonly name: string; readonly bytes: number } | null;
  /** How the log restarts after a snapshot; null when the present log continues. */
  readonly restart: LogRestart | null;
  readonly lost: Lost;
}

/** A way of recovery: from a snapshot or from the first record, up to some record. */
interface Way {
  /** Null for the first record of the log. */
  readonly base: IntactSnapshot | null;
  /** The last record. */
  readonly sequence: number;
  /** Index of the last segment that is kept. */
  readonly segment: number;
  /** How many bytes of that segment are kept; null for all. */
  readonly bytes: number | null;
  /** Event ids by partition number. */
  readonly events: ReadonlyMap<number, string>;
}

type Segments = readonly SegmentFacts[];

/**
 * Cost: as `verifyFolder`.
 * @throws FolderRefused when nothing can be saved, or nothing that ends with record `cutAfter`.
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
  // The oldest of them, which keeps the most ways of recovery.
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
 * Finds the newest snapshot after which a restart keeps more records than any way through the log:
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
  // Nothing of that segment remains, so the way ends with an earlier one.
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

/** @param durable - A record that was certainly acknowledged. */
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

/** @returns The index of the segment that contains the record, or would contain it. */
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
