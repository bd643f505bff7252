/**
 * Repairs a damaged data folder: saves as many records as possible. Nothing else removes
 * acknowledged records, and this does so only on request. The removed files stay in the folder
 * under names that end with `.broken`.
 */
import { drain } from "../../engine/inventory/steps.ts";
import { basename, dirname } from "node:path";
import { STATE_NAMES } from "../../engine/inventory/states.ts";
import {
  type Transition,
  type TransitionPage,
  type TransitionQuery,
} from "../../engine/queries/history.ts";
import type { State } from "../../engine/state.ts";
import { ACTOR_NAMES, AUDIT_FILE, readAuditFile } from "../history/archive.ts";
import { OpenHistory } from "../history/keeper.ts";
import {
  readStore,
  shareFolder,
  type StorePlace,
  takeFolder,
  upgradeStore,
} from "../disk/data-folder.ts";
import { type Disk, namesIn, type ReadDisk } from "../disk/disk.ts";
import { Malformed, only } from "../disk/faults.ts";
import { openSqlReader, SqlFault } from "../disk/sqlite.ts";
import { createFileNow, makeFoldersNow, readFileNow, writeFileNow } from "../disk/transfer.ts";
import { LOG_FOLDER, segmentName } from "../log/frame.ts";
import { findSegments } from "../log/log-reader.ts";
import { BROKEN_SUFFIX, epochHead } from "../log/recover.ts";
import { buildSnapshot, imagesOf } from "../snapshot/build.ts";
import { copyCatalog, findSnapshots, packSequences, SNAPSHOT_FOLDER } from "../snapshot/file.ts";
import { loadSnapshot } from "../snapshot/load.ts";
import { RecordViewer } from "./inspect.ts";
import {
  bytesOf,
  type LogRestart,
  type PlanOptions,
  planRepair,
  readLost,
  type RepairPlan,
} from "./repair-plan.ts";
import { misnamedSegments, rebuild, type SurveyOptions, without } from "./survey.ts";
import { type Verified, verifyFolder } from "./verify.ts";

export interface RepairOptions extends Omit<PlanOptions, "storeId"> {
  readonly disk: Disk;
}

/** Plan of a repair, and the lost records known to the trail; null for no trail. */
export interface Preview {
  readonly plan: RepairPlan;
  readonly known: KnownLoss | null;
}

export interface Repaired extends Preview {
  /** Null when nothing was lost. */
  readonly exported: Exported | null;
  /** Paths of the files that were set aside. */
  readonly aside: readonly string[];
  /** The repaired folder. */
  readonly verified: Verified;
}

/** Plans what `repairFolder` would do. Changes nothing. @throws As `planRepair`. */
export function previewRepair({ disk, folder, onWork, cutAfter }: RepairOptions): Preview {
  const release = shareFolder(disk, folder);
  try {
    const { storeId } = readStore(disk, folder);
    const options = { disk, folder, storeId, onWork };
    const plan = planRepair({ ...options, cutAfter });
    return { plan, known: knownLoss(options, plan) };
  } finally {
    release();
  }
}

/**
 * @returns The path of the export, which no file has yet. It is in the folder, because the user of
 * the server may have no right to write beside it.
 */
export function exportPathOf(disk: Disk, folder: string): string {
  const names = namesIn(disk, folder);
  for (let i = 1; ; i++) {
    const name = `lost-${i}.ndjson`;
    if (!names.includes(name)) return `${folder}/${name}`;
  }
}

/** True when a repair loses known records. */
export function losesRecords({ plan, known }: Preview): boolean {
  return plan.lost.range !== null || (known?.total ?? 0) > 0;
}

/**
 * Ordering: first the export, so a repair that cannot write it changes nothing; then the version of
 * the store, because the files that follow have the present formats; then the snapshots, then the
 * segments, the newest first, then the cut or the new segment. An interrupted repair leaves a
 * folder that is still damaged or fully repaired, so it can be repeated.
 * @throws As `planRepair`; DiskFault.
 */
export function repairFolder({ disk, folder, onWork, cutAfter }: RepairOptions): Repaired {
  const release = takeFolder(disk, folder);
  try {
    const file = readStore(disk, folder);
    const { storeId } = file;
    const plan = planRepair({ disk, folder, storeId, onWork, cutAfter });
    const log = `${folder}/${LOG_FOLDER}`;
    const { restart, cut } = plan;
    const store = { disk, folder, storeId };
    const known = knownLoss(store, plan);
    const exportTo = exportPathOf(disk, folder);
    const exported = losesRecords({ plan, known }) ? exportLoss(store, plan, exportTo) : null;
    upgradeStore(disk, folder, file);
    const aside = markBroken(disk, `${folder}/${SNAPSHOT_FOLDER}`, plan.snapshots);
    if (restart?.isRewritten === true) aside.push(rewriteSnapshot(store, restart));
    aside.push(...markBroken(disk, log, plan.segments));
    if (cut !== null) {
      const { bytes, path } = keepOriginal(disk, log, cut.name);
      writeFileNow(disk, log, cut.name, bytes.subarray(0, cut.bytes));
      aside.push(path);
    }
    if (restart !== null) restartLog(store, restart);
    return { plan, known, exported, aside, verified: verifyFolder({ disk, folder, onWork }) };
  } finally {
    release();
  }
}

/** Renames the files. @returns Their new paths. */
function markBroken(disk: Disk, folder: string, names: readonly string[]): string[] {
  const paths = names.map((name) => {
    const path = `${folder}/${brokenName(disk, folder, name)}`;
    disk.renameNow(`${folder}/${name}`, path);
    return path;
  });
  if (paths.length > 0) disk.syncFolderNow(folder);
  return paths;
}

/**
 * Replaces the base by a snapshot of the base with the log up to the mark.
 * @returns The path of the original.
 */
function rewriteSnapshot(store: StorePlace, { base, mark }: LogRestart): string {
  const { disk, folder, storeId } = store;
  const { state } = rebuild(store, base);
  const snapshots = `${folder}/${SNAPSHOT_FOLDER}`;
  const { meta } = loadSnapshot(`${snapshots}/${base}`, storeId);
  const { path } = keepOriginal(disk, snapshots, base);
  const { sequence } = mark;
  const createdAtMs = Math.max(Date.parse(meta.createdAt), newestChangeMs(state));
  const sequences = packSequences(state.sequences);
  const { name } = buildSnapshot(store, {
    base: null,
    catalog: copyCatalog(state.catalog),
    images: imagesOf(state, state.partitions.keys(), sequence),
    end: { sequence, catalogSequence: sequence, mark, sequences, createdAtMs },
  });
  if (name !== base) {
    disk.removeNow(`${snapshots}/${base}`);
    disk.syncFolderNow(snapshots);
  }
  return path;
}

/** The log restarts after these changes, so no later record may have an earlier time. */
function newestChangeMs({ partitions }: State): number {
  let newestMs = 0;
  for (const { changes, changedAtMs } of partitions.values()) {
    newestMs = Math.max(newestMs, changedAtMs[changes.newest] ?? 0);
  }
  return newestMs;
}

/** Creates the new segment, if any, with the start of an epoch. */
function restartLog({ disk, folder, storeId }: StorePlace, { segment, mark }: LogRestart): void {
  if (segment === null) return;
  const log = `${folder}/${LOG_FOLDER}`;
  // Each epoch opened a segment, so no epoch has a greater number than its segment.
  const epoch = segment.number;
  const { head } = epochHead({ ...segment, storeId, epoch, chain: mark.chain, createdAtMs: 0 });
  makeFoldersNow(disk, log);
  writeFileNow(disk, log, segmentName(segment), head);
}

/** Copies a file before it is changed. @returns Its bytes, and the path of the copy. */
function keepOriginal(disk: Disk, folder: string, name: string): { bytes: Buffer; path: string } {
  const bytes = readFileNow(disk, `${folder}/${name}`);
  const broken = brokenName(disk, folder, name);
  writeFileNow(disk, folder, broken, bytes);
  return { bytes, path: `${folder}/${broken}` };
}

/** @returns A name that no file has yet. */
function brokenName(disk: Disk, folder: string, name: string): string {
  const names = namesIn(disk, folder);
  let broken = `${name}${BROKEN_SUFFIX}`;
  for (let i = 2; names.includes(broken); i++) broken = `${name}${BROKEN_SUFFIX}-${i}`;
  return broken;
}

// Lost records of a repair, as the audit trail and the rest of the log know them: counted for
// people, and exported as lines of JSON, so that the bookings can be made again.

/** Lost transitions in the trail. */
export interface KnownLoss {
  /** Transitions by event id; events without any are left out. */
  readonly byEvent: ReadonlyMap<string, number>;
  readonly total: number;
  /** Times of the first and the last one, in milliseconds since 1970; null when there is none. */
  readonly times: { readonly fromMs: number; readonly toMs: number } | null;
}

interface Exported {
  readonly path: string;
  readonly transitions: number;
  /** Records that only the log has. */
  readonly records: number;
}

/** Records that are read from the trail at once, and transitions of them. */
const WINDOW = 5_000;
const PAGE = 10_000;
const LINES_PER_WRITE = 1_000;
const NEWEST_FIRST = [{ property: "sequence", descending: true }] as const;

/** @returns null without a trail that can be read. Cost: O(lost transitions). */
function knownLoss(options: SurveyOptions, plan: RepairPlan): KnownLoss | null {
  return withTrail(options, (trail) => {
    if (trail === null) return null;
    const byEvent = new Map<string, number>();
    let [total, fromMs, toMs] = [0, Infinity, 0];
    const range = { fromSequence: plan.sequence + 1, toSequence: trail.lastSequence };
    for (const eventId of plan.lost.eventIds) {
      const first = trail.page(eventId, { ...range, sort: [], offset: 0, limit: 1 });
      if (first.total === 0) continue;
      const last = trail.page(eventId, { ...range, sort: NEWEST_FIRST, offset: 0, limit: 1 });
      byEvent.set(eventId, first.total);
      total += first.total;
      fromMs = Math.min(fromMs, first.transitions[0]!.timeMs);
      toMs = Math.max(toMs, last.transitions[0]!.timeMs);
    }
    return { byEvent, total, times: total === 0 ? null : { fromMs, toMs } };
  });
}

/**
 * Writes the lost transitions of the trail, and readable lost records missing in it, to a new file,
 * private to this user and on disk when this returns.
 * @param path - Of the file.
 */
function exportLoss(
  options: SurveyOptions & { readonly disk: Disk },
  plan: RepairPlan,
  path: string,
): Exported {
  let counts = { transitions: 0, records: 0 };
  function* lines(trail: Trail | null): Generator<string> {
    counts = { transitions: 0, records: 0 };
    for (const line of trail === null ? [] : transitionsOf(trail, plan)) {
      counts.transitions += 1;
      yield line;
    }
    for (const line of recordsAfter(options, plan, trail?.lastSequence ?? 0)) {
      counts.records += 1;
      yield line;
    }
  }
  const { disk } = options;
  const folder = dirname(path);
  withTrail(options, (trail) => {
    // A part of it, from before the trail turned out to be damaged.
    if (namesIn(disk, folder).includes(basename(path))) disk.removeNow(path);
    createFileNow(disk, path, chunksOf(lines(trail)));
  });
  disk.syncFolderNow(folder);
  return { path, ...counts };
}

function* transitionsOf(trail: Trail, { sequence, lost }: RepairPlan): Generator<string> {
  const last = trail.lastSequence;
  for (let fromSequence = sequence + 1; fromSequence <= last; fromSequence += WINDOW) {
    const toSequence = Math.min(last, fromSequence + WINDOW - 1);
    for (const eventId of lost.eventIds) {
      for (let [offset, total] = [0, 1]; offset < total; offset += PAGE) {
        const page = { fromSequence, toSequence, sort: [], offset, limit: PAGE };
        const { transitions, total: found } = trail.page(eventId, page);
        total = found;
        for (const one of transitions) yield JSON.stringify(viewOf(eventId, one));
      }
    }
  }
}

function viewOf(eventId: string, transition: Transition): object {
  const { timeMs, actor, placeId, isArea, from, to, ...rest } = transition;
  return {
    source: "trail",
    eventId,
    time: new Date(timeMs).toISOString(),
    actor: { kind: ACTOR_NAMES[actor.kind], id: actor.id },
    ...(isArea ? { areaId: placeId } : { seatId: placeId }),
    from: from === null ? null : STATE_NAMES[from],
    to: to === null ? null : STATE_NAMES[to],
    ...rest,
  };
}

/** Views of the readable lost records after `sequence`, from all segments. */
function* recordsAfter(
  options: SurveyOptions,
  plan: RepairPlan,
  sequence: number,
): Generator<string> {
  const { folder } = options;
  const disk = without(options.disk, misnamedSegments(options.disk, folder));
  const newest = findSnapshots(disk, folder).find((name) => !plan.snapshots.includes(name));
  // The names of seats and events before the first lost record.
  const { state } = rebuild({ ...options, disk }, plan.restart?.base ?? newest ?? null);
  const viewer = new RecordViewer(state);
  for (const place of findSegments(disk, folder)) {
    const segment = { name: segmentName(place), place, isIntact: false };
    const views: string[] = [];
    readLost(bytesOf(options, segment), 0, (record, number, timeMs) => {
      if (number <= Math.max(sequence, plan.sequence)) return;
      const step = { state, sequence: number, timeMs, record, isExact: false };
      views.push(JSON.stringify({ source: "log", ...viewer.view(step, {}) }));
    });
    yield* views;
  }
}

interface Trail {
  /** The last record that the trail has. */
  readonly lastSequence: number;
  readonly page: (eventId: string, query: TransitionQuery) => TransitionPage;
}

/** @param use - Gets null when there is no trail, or none that can be read. */
function withTrail<T>(
  { disk, folder, storeId }: SurveyOptions,
  use: (trail: Trail | null) => T,
): T {
  if (!isReadable(disk, folder)) return use(null);
  // The outer connection removes the files that SQLite keeps beside.
  return readAuditFile(disk, folder, () => {
    let history: OpenHistory | null = null;
    try {
      const { answers } = (history = new OpenHistory({
        disk,
        folder,
        storeId,
        openSql: openSqlReader,
      }));
      const page: Trail["page"] = (eventId, query) => {
        const outcome = drain(answers.answer({ about: "transitions", eventId, query }));
        return outcome.gap === null ? (outcome.value as TransitionPage) : NO_TRANSITIONS;
      };
      return use({ lastSequence: answers.extent.lastSequence, page });
    } catch (error) {
      only(error, SqlFault, Malformed);
      return use(null);
    } finally {
      history?.close();
    }
  });
}

const NO_TRANSITIONS: TransitionPage = { transitions: [], total: 0 };

function isReadable(disk: ReadDisk, folder: string): boolean {
  if (!namesIn(disk, folder).includes(AUDIT_FILE)) return false;
  try {
    readAuditFile(disk, folder, (sql) => sql.row("SELECT 1 FROM sqlite_schema"));
    return true;
  } catch (error) {
    only(error, SqlFault);
    return false;
  }
}

function* chunksOf(lines: Iterable<string>): Generator<Buffer> {
  let text = "";
  let count = 0;
  for (const line of lines) {
    text += `${line}\n`;
    count += 1;
    if (count % LINES_PER_WRITE !== 0) continue;
    yield Buffer.from(text);
    text = "";
  }
  yield Buffer.from(text);
}
