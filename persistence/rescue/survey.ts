/**
 * Looks at the parts of a data folder one by one and lists every fault, where recovery would stop
 * at the first. Changes nothing.
 */
import { Broken } from "../../engine/assert.ts";
import type { LogRecord } from "../../engine/records.ts";
import { State } from "../../engine/state.ts";
import { checkState } from "../../engine/verify/check.ts";
import { type ReadDisk, namesIn } from "../disk/disk.ts";
import { LogCorrupt, only } from "../disk/faults.ts";
import { readSqlFile } from "../disk/sqlite.ts";
import { SEGMENT_SUFFIX, findSegments, readLog, readSegment } from "../log/read-log.ts";
import { type ChainMark, LogScan, type LogStart, startUnverified } from "../log/scan.ts";
import {
  type SegmentPlace,
  parseSegmentName,
  segmentName,
  LOG_FOLDER,
} from "../log/segment-header.ts";
import {
  SNAPSHOT_FOLDER,
  type SnapshotMeta,
  checkSnapshot,
  findSnapshots,
  startOf,
} from "../snapshot/file.ts";
import { type LoadedSnapshot, loadSnapshot, tryLoad } from "../snapshot/load.ts";
import { replayAfter } from "../snapshot/replay-after.ts";

/** Something that is not as it was written. */
export interface Finding {
  readonly path: string;
  /** Byte in the file; null where there is none to name. */
  readonly offset: number | null;
  readonly expected: string;
  readonly found: string;
}

/** One line for people. */
export function textOf({ path, offset, expected, found }: Finding): string {
  const place = offset === null ? path : `${path} at byte ${offset}`;
  return `${place}: expected ${expected}, found ${found}`;
}

/** How far some work is, in words for people: "checking segments", 3, 8. */
export type OnWork = (what: string, done: number, total: number) => void;

export interface SurveyOptions {
  readonly disk: ReadDisk;
  /** The data folder. */
  readonly folder: string;
  readonly storeId: string;
  readonly onWork?: OnWork | undefined;
}

export interface SegmentFacts {
  readonly name: string;
  readonly place: SegmentPlace;
  readonly isGood: boolean;
}

export interface LogSurvey {
  /** In order. */
  readonly segments: readonly SegmentFacts[];
  readonly findings: readonly Finding[];
  /** Of the newest segment: a frame that was not wholly written, as a kill leaves it. */
  readonly tornBytes: number;
}

export interface SnapshotFacts {
  readonly name: string;
  /** Null when it is damaged. */
  readonly meta: SnapshotMeta | null;
}

export interface SnapshotSurvey {
  /** The newest first. */
  readonly snapshots: readonly SnapshotFacts[];
  readonly findings: readonly Finding[];
}

/** Goes on behind damage, with the next segment. Cost: O(bytes of the log). */
export function surveyLog({ disk, folder, storeId, onWork }: SurveyOptions): LogSurvey {
  const log = `${folder}/${LOG_FOLDER}`;
  const findings: Finding[] = [];
  const places = findSegments(log, goodNames(log, namesIn(disk, log), findings));
  const begin = (start: LogStart | null) => new LogScan(storeId, () => {}, start);
  let scan = begin(places[0]?.number === 1 ? null : startUnverified(0));
  let tornBytes = 0;
  const segments: SegmentFacts[] = [];
  for (const place of places) {
    const name = segmentName(place);
    const path = `${log}/${name}`;
    const bytes = readSegment(disk, path, Buffer.alloc(0));
    const newest = place === places.at(-1);
    const check = () => {
      const fault = faultOf(() => ({ tornBytes } = scan.segment({ path, place, bytes, newest })));
      if (fault !== null) scan = begin(startUnverified(0));
      return fault;
    };
    const fault = check();
    // One that is out of place may be damaged besides.
    const second = fault?.offset === 0 ? check() : null;
    for (const one of [fault, second]) {
      if (one !== null && !isIn(findings, one)) findings.push(one);
    }
    segments.push({ name, place, isGood: fault === null });
    onWork?.("checking segments of the log", segments.length, places.length);
  }
  return { segments, findings, tornBytes };
}

/** Cost: O(bytes of the snapshots). */
export function surveySnapshots({ disk, folder, storeId, onWork }: SurveyOptions): SnapshotSurvey {
  const snapshots = `${folder}/${SNAPSHOT_FOLDER}`;
  const names = findSnapshots(namesIn(disk, snapshots));
  const findings: Finding[] = [];
  const facts = names.map((name, i): SnapshotFacts => {
    const path = `${snapshots}/${name}`;
    const meta = tryLoad(path, () => checkWhole(path, storeId));
    onWork?.("checking snapshots", i + 1, names.length);
    if (!("expected" in meta)) return { name, meta };
    findings.push({ ...meta, offset: null });
    return { name, meta: null };
  });
  return { snapshots: facts, findings };
}

/** A state rebuilt from a snapshot, or from nothing, and the log behind it. */
export interface Rebuilt {
  readonly state: State;
  /** The last record in it. */
  readonly sequence: number;
  /** What stopped it; null when it is the end of the log. */
  readonly fault: Finding | null;
}

/** A record that is about to be applied. */
export interface Step {
  /** As before the record. */
  readonly state: State;
  readonly sequence: number;
  readonly timeMs: number;
  readonly record: LogRecord;
  /** False while the record's partition is that of a snapshot and newer than the record. */
  readonly isExact: boolean;
}

/**
 * As recovery does; but what stops it comes back as a value, with the state up to there.
 * @param base - Name of a good snapshot; null for the first record of the log.
 * @param before - Told of each record behind the base.
 * @param mark - Where the log goes on, when that is not what the base says.
 * Cost: O(bytes of the snapshot + bytes of the log behind it).
 */
export function rebuild(
  { disk, folder, storeId, onWork }: SurveyOptions,
  base: string | null,
  before: (step: Step) => void = () => {},
  mark: ChainMark | null = null,
): Rebuilt {
  const path = `${folder}/${base === null ? LOG_FOLDER : `${SNAPSHOT_FOLDER}/${base}`}`;
  const loaded = base === null ? null : { name: base, ...loadSnapshot(path, storeId) };
  const { state, start, sequence: first } = beginningOf(loaded);
  let sequence = first;
  const replay = replayAfter(loaded, state);
  const fault = faultOf(() => {
    readLog({
      disk,
      folder: `${folder}/${LOG_FOLDER}`,
      storeId,
      start: mark === null ? start : { sequence: mark.sequence, mark },
      replay: (number, timeMs, record) => {
        const newest = "partition" in record ? loaded?.sequences.get(record.partition) : 0;
        before({ state, sequence: number, timeMs, record, isExact: number > (newest ?? 0) });
        replay(number, timeMs, record);
        sequence = number;
      },
      onProgress: (done, total) => onWork?.("reading segments of the log", done, total),
    });
    checkState(state);
  }, path);
  return { state, sequence, fault };
}

function beginningOf(loaded: LoadedSnapshot | null) {
  if (loaded === null) return { state: new State(), start: null, sequence: 0 };
  const { state, meta } = loaded;
  return { state, start: startOf(meta), sequence: meta.sequence };
}

function checkWhole(path: string, storeId: string): SnapshotMeta {
  const sql = readSqlFile(path);
  try {
    checkSnapshot(sql, storeId);
  } finally {
    sql.close();
  }
  return loadSnapshot(path, storeId).meta;
}

/** @param path - What is at fault when the state that came out is not sound. */
export function faultOf(check: () => void, path = ""): Finding | null {
  try {
    check();
    return null;
  } catch (error) {
    if (error instanceof LogCorrupt) {
      const { segment, offset, expected, found } = error;
      return { path: segment, offset, expected, found };
    }
    only(error, Broken);
    return { path, offset: null, expected: "a sound state", found: error.message };
  }
}

function goodNames(log: string, names: readonly string[], findings: Finding[]): string[] {
  return names.filter((name) => {
    if (!name.endsWith(SEGMENT_SUFFIX)) return false;
    if (parseSegmentName(name) !== null) return true;
    const path = `${log}/${name}`;
    findings.push({ path, offset: 0, expected: "the name of a segment", found: `"${name}"` });
    return false;
  });
}

function isIn(findings: readonly Finding[], { path, offset }: Finding): boolean {
  return findings.some((other) => other.path === path && other.offset === offset);
}
