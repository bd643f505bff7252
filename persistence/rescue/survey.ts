/**
 * Checks the parts of a data folder one by one and lists every fault, where recovery would stop at
 * the first one. Changes nothing.
 */
import { Broken } from "../../engine/assert.ts";
import type { LogRecord } from "../../engine/records.ts";
import { State } from "../../engine/state.ts";
import { checkState } from "../../engine/verify.ts";
import type { StorePlace } from "../disk/data-folder.ts";
import { type ReadDisk, namesIn } from "../disk/disk.ts";
import { LogCorrupt, only } from "../disk/faults.ts";
import { readSqlFile } from "../disk/sqlite.ts";
import { readFileNow } from "../disk/transfer.ts";
import {
  type ChainMark,
  findSegments,
  LogScan,
  type LogStart,
  readLog,
  SEGMENT_SUFFIX,
  startUnverified,
} from "../log/log-reader.ts";
import { type SegmentPlace, parseSegmentName, segmentName, LOG_FOLDER } from "../log/frame.ts";
import {
  SNAPSHOT_FOLDER,
  type SnapshotMeta,
  checkSnapshot,
  findSnapshots,
  startOf,
} from "../snapshot/file.ts";
import { loadSnapshot, missingIn, replayAfter, tryLoad } from "../snapshot/load.ts";

/** A place where the folder is damaged. */
export interface Finding {
  readonly path: string;
  /** In bytes; null where there is none to name. */
  readonly offset: number | null;
  readonly expected: string;
  readonly found: string;
}

/** One line for people. */
export function textOf({ path, offset, expected, found }: Finding): string {
  const place = offset === null ? path : `${path} at byte ${offset}`;
  return `${place}: expected ${expected}, found ${found}`;
}

/** Reports the progress of work in words for people: "checking segments", 3, 8. */
export type OnWork = (what: string, done: number, total: number) => void;

export interface SurveyOptions extends StorePlace<ReadDisk> {
  readonly onWork?: OnWork | undefined;
}

export interface SegmentFacts {
  readonly name: string;
  readonly place: SegmentPlace;
  readonly isIntact: boolean;
}

export interface LogSurvey {
  /** In order. */
  readonly segments: readonly SegmentFacts[];
  readonly findings: readonly Finding[];
  /** Of the newest segment: bytes of an incomplete frame, as a kill leaves it. */
  readonly tornBytes: number;
}

export interface IntactSnapshot {
  readonly name: string;
  readonly meta: SnapshotMeta;
}

export interface SnapshotSurvey {
  /** Of all snapshots, the newest first. */
  readonly names: readonly string[];
  /** The undamaged ones. */
  readonly intact: readonly IntactSnapshot[];
  readonly findings: readonly Finding[];
}

/** Checks every segment; continues after damage. Cost: O(bytes of the log). */
export function surveyLog({ disk, folder, storeId, onWork }: SurveyOptions): LogSurvey {
  const log = `${folder}/${LOG_FOLDER}`;
  const misnamed = misnamedSegments(disk, folder);
  const findings = misnamed.map((name): Finding => {
    const [path, found] = [`${log}/${name}`, `"${name}"`];
    return { path, offset: 0, expected: "the name of a segment", found };
  });
  const places = findSegments(without(disk, misnamed), folder);
  const begin = (start: LogStart | null) => new LogScan(storeId, () => {}, start);
  let scan = begin(places[0]?.number === 1 ? null : startUnverified(0));
  let tornBytes = 0;
  const segments: SegmentFacts[] = [];
  for (const place of places) {
    const name = segmentName(place);
    const path = `${log}/${name}`;
    const bytes = readFileNow(disk, path);
    const newest = place === places.at(-1);
    const check = () => {
      const fault = faultOf(() => ({ tornBytes } = scan.segment({ path, place, bytes, newest })));
      if (fault !== null) scan = begin(startUnverified(0));
      return fault;
    };
    const fault = check();
    // A segment out of place may also be damaged.
    const second = fault?.offset === 0 ? check() : null;
    for (const one of [fault, second]) {
      if (one !== null && !isIn(findings, one)) findings.push(one);
    }
    segments.push({ name, place, isIntact: fault === null });
    onWork?.("checking segments of the log", segments.length, places.length);
  }
  return { segments, findings, tornBytes };
}

/** Names of files in the log's folder like segments, but invalid. */
export function misnamedSegments(disk: ReadDisk, folder: string): string[] {
  const names = namesIn(disk, `${folder}/${LOG_FOLDER}`);
  return names.filter((name) => name.endsWith(SEGMENT_SUFFIX) && parseSegmentName(name) === null);
}

/** @returns A disk without files of these names. */
export function without(disk: ReadDisk, names: readonly string[]): ReadDisk {
  return {
    openNow: (path) => disk.openNow(path),
    listNow: (path) => disk.listNow(path)?.filter((name) => !names.includes(name)) ?? null,
  };
}

/** Checks every snapshot. Cost: O(bytes of the snapshots). */
export function surveySnapshots({ disk, folder, storeId, onWork }: SurveyOptions): SnapshotSurvey {
  const names = findSnapshots(disk, folder);
  const intact: IntactSnapshot[] = [];
  const findings: Finding[] = [];
  for (const [i, name] of names.entries()) {
    const path = `${folder}/${SNAPSHOT_FOLDER}/${name}`;
    const meta = tryLoad(path, () => {
      readSqlFile(path, (sql) => checkSnapshot(sql, storeId));
      return loadSnapshot(path, storeId).meta;
    });
    onWork?.("checking snapshots", i + 1, names.length);
    if ("expected" in meta) findings.push({ ...meta, offset: null });
    else intact.push({ name, meta });
  }
  return { names, intact, findings };
}

/** A state rebuilt from a snapshot, or from nothing, and the log after it. */
export interface Rebuilt {
  readonly state: State;
  /** The last record in the state. */
  readonly sequence: number;
  /** Why the rebuild stopped; null at the end of the log. */
  readonly fault: Finding | null;
}

/** A record about to be applied. */
export interface Step {
  /** The state before the record. */
  readonly state: State;
  readonly sequence: number;
  readonly timeMs: number;
  readonly record: LogRecord;
  /** False while the snapshot's partition already contains the record. */
  readonly isExact: boolean;
}

/**
 * Rebuilds a state like recovery, but returns a fault as a value, with the state up to it.
 * @param base - Name of an intact snapshot; null for the first record of the log.
 * @param before - Called with each record after the base.
 * @param mark - Where the log continues, if not where the base says.
 * Cost: O(bytes of the snapshot and of the log after it).
 */
export function rebuild(
  { disk, folder, storeId, onWork }: SurveyOptions,
  base: string | null,
  before: (step: Step) => void = () => {},
  mark: ChainMark | null = null,
): Rebuilt {
  const path = `${folder}/${base === null ? LOG_FOLDER : `${SNAPSHOT_FOLDER}/${base}`}`;
  const loaded = base === null ? null : { name: base, ...loadSnapshot(path, storeId) };
  const state = loaded?.state ?? new State();
  const start = loaded === null ? null : startOf(loaded.meta);
  let sequence = start?.sequence ?? 0;
  const replay = replayAfter(loaded, state);
  const fault = faultOf(() => {
    readLog({
      disk,
      folder,
      storeId,
      start: mark === null ? start : { sequence: mark.sequence, mark },
      replay: (number, timeMs, record) => {
        const isExact = missingIn(loaded?.sequences ?? new Map(), number, record) === record;
        before({ state, sequence: number, timeMs, record, isExact });
        replay(number, timeMs, record);
        sequence = number;
      },
      onProgress: (done, total) => onWork?.("reading segments of the log", done, total),
    });
    checkState(state);
  }, path);
  return { state, sequence, fault };
}

/** @param path - The file to name when the resulting state is not sound. */
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

function isIn(findings: readonly Finding[], { path, offset }: Finding): boolean {
  return findings.some((other) => other.path === path && other.offset === offset);
}
