/**
 * Repairs a damaged data folder: saves as many records as possible. Nothing else removes
 * acknowledged records, and this does so only on request. The removed files stay in the folder
 * under names that end with `.broken`.
 */
import type { State } from "../../engine/state.ts";
import {
  readStore,
  shareFolder,
  type StorePlace,
  takeFolder,
  upgradeStore,
} from "../disk/data-folder.ts";
import { type Disk, namesIn } from "../disk/disk.ts";
import { makeFoldersNow, readFileNow, writeFileNow } from "../disk/transfer.ts";
import { epochHead } from "../log/open-log.ts";
import { BROKEN_SUFFIX } from "../log/recover.ts";
import { segmentName, LOG_FOLDER } from "../log/segment-header.ts";
import { buildSnapshot, imagesOf } from "../snapshot/build.ts";
import { copyCatalog } from "../snapshot/catalog-copy.ts";
import { packSequences, SNAPSHOT_FOLDER } from "../snapshot/file.ts";
import { loadSnapshot } from "../snapshot/load.ts";
import { type Exported, exportLoss, type KnownLoss, knownLoss } from "./lost-transitions.ts";
import type { LogRestart } from "./repair-from-snapshot.ts";
import { type PlanOptions, type RepairPlan, planRepair } from "./repair-plan.ts";
import { rebuild } from "./survey.ts";
import { type Verified, verifyFolder } from "./verify.ts";

export interface RepairOptions extends Omit<PlanOptions, "storeId"> {
  readonly disk: Disk;
}

/** What a repair would do, and what the trail knows of the lost records; null for no trail. */
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

/** Whether a repair loses records that something is known of. */
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
    const aside = setAside(disk, `${folder}/${SNAPSHOT_FOLDER}`, plan.snapshots);
    if (restart?.isRewritten === true) aside.push(rewriteSnapshot(store, restart));
    aside.push(...setAside(disk, log, plan.segments));
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
function setAside(disk: Disk, folder: string, names: readonly string[]): string[] {
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
