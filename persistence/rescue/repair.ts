/**
 * Saves what can be saved of a damaged data folder. The only code that takes acknowledged records
 * away, and only when told. What it takes away stays beside the rest, under a name that ends with
 * `.broken`.
 */
import { copyPartition, ImagePacker } from "../../engine/inventory/image.ts";
import type { State } from "../../engine/state.ts";
import { readStore, shareFolder, takeFolder } from "../disk/data-folder.ts";
import { type Disk, namesIn } from "../disk/disk.ts";
import { makeFoldersNow, writeFileNow } from "../disk/transfer.ts";
import { epochHead } from "../log/open-log.ts";
import { readSegment } from "../log/read-log.ts";
import { BROKEN_SUFFIX } from "../log/recover.ts";
import { segmentName, LOG_FOLDER } from "../log/segment-header.ts";
import { SnapshotBuild } from "../snapshot/build.ts";
import { CatalogCopy } from "../snapshot/catalog-copy.ts";
import { SNAPSHOT_FOLDER } from "../snapshot/file.ts";
import { loadSnapshot } from "../snapshot/load.ts";
import type { Anew } from "./repair-from-snapshot.ts";
import { type RepairPlan, planRepair } from "./repair-plan.ts";
import { type OnWork, rebuild } from "./survey.ts";
import { type Verified, verifyFolder } from "./verify.ts";

export interface RepairOptions {
  readonly disk: Disk;
  /** The data folder; no process has it. */
  readonly folder: string;
  /** The last record that may stay; as many as can be saved when not given. */
  readonly cutAfter?: number | undefined;
  readonly onWork?: OnWork | undefined;
}

export interface Repaired {
  readonly plan: RepairPlan;
  /** Paths of what was set aside. */
  readonly aside: readonly string[];
  /** The folder as it is now. */
  readonly verified: Verified;
}

/** What `repairFolder` would do. Changes nothing. @throws As `planRepair`. */
export function previewRepair({ disk, folder, ...options }: RepairOptions): RepairPlan {
  const release = shareFolder(disk, folder);
  try {
    const { storeId } = readStore(disk, folder);
    return planRepair({ ...options, disk, folder, storeId });
  } finally {
    release();
  }
}

/**
 * Ordering: first snapshots, then segments from the newest on, the cut or the new segment last. A
 * repair that is interrupted leaves a folder that is damaged still, or as the repair would; so it
 * can be repeated.
 * @throws As `planRepair`; DiskFault.
 */
export function repairFolder({ disk, folder, onWork, cutAfter }: RepairOptions): Repaired {
  const release = takeFolder(disk, folder);
  try {
    const { storeId } = readStore(disk, folder);
    const plan = planRepair({ disk, folder, storeId, onWork, cutAfter });
    const log = `${folder}/${LOG_FOLDER}`;
    const { anew } = plan;
    const store = { disk, folder, storeId };
    const aside = [
      ...setAside(disk, `${folder}/${SNAPSHOT_FOLDER}`, plan.snapshots),
      ...(anew?.isRewritten === true ? [rewriteSnapshot(store, anew)] : []),
      ...setAside(disk, log, plan.segments),
      ...(plan.cut === null ? [] : [cutSegment(disk, log, plan.cut)]),
    ];
    if (anew !== null) beginLog(store, anew);
    return { plan, aside, verified: verifyFolder({ disk, folder, onWork }) };
  } finally {
    release();
  }
}

/** Renames, so the bytes are those that were there. */
function setAside(disk: Disk, folder: string, names: readonly string[]): string[] {
  const paths = names.map((name) => {
    const path = `${folder}/${brokenName(disk, folder, name)}`;
    disk.renameNow(`${folder}/${name}`, path);
    return path;
  });
  if (paths.length > 0) disk.syncFolderNow(folder);
  return paths;
}

interface Store {
  readonly disk: Disk;
  readonly folder: string;
  readonly storeId: string;
}

/**
 * Puts a snapshot in the place of the base: the base and what joins it, standing at the mark.
 * @returns The path of the original, which is kept whole.
 */
function rewriteSnapshot(store: Store, { base, mark }: Anew): string {
  const { disk, folder, storeId } = store;
  const { state } = rebuild(store, base);
  const snapshots = `${folder}/${SNAPSHOT_FOLDER}`;
  const { meta } = loadSnapshot(`${snapshots}/${base}`, storeId);
  const broken = brokenName(disk, snapshots, base);
  const original = readSegment(disk, `${snapshots}/${base}`, Buffer.alloc(0));
  writeFileNow(disk, snapshots, broken, original);
  const build = new SnapshotBuild({ ...store, base: null });
  const catalog = new CatalogCopy(state.catalog);
  for (const puts of catalog) build.put(catalog.nextId, puts);
  for (const [number, partition] of state.partitions) {
    const image = new ImagePacker(copyPartition(partition)).step(Infinity)!;
    build.add({ number, sequence: mark.sequence, image });
  }
  const createdAtMs = Math.max(Date.parse(meta.createdAt), newestChangeMs(state));
  const { name } = build.finish({ sequence: mark.sequence, mark, createdAtMs });
  if (name !== base) {
    disk.removeNow(`${snapshots}/${base}`);
    disk.syncFolderNow(snapshots);
  }
  return `${snapshots}/${broken}`;
}

/** The log begins here: nothing that comes may be older. */
function newestChangeMs({ partitions }: State): number {
  let newestMs = 0;
  for (const { changes, changedAtMs } of partitions.values()) {
    newestMs = Math.max(newestMs, changedAtMs[changes.newest] ?? 0);
  }
  return newestMs;
}

/** As a process does that opens the log: with the start of an epoch. */
function beginLog({ disk, folder, storeId }: Store, { segment, mark }: Anew): void {
  if (segment === null) return;
  const log = `${folder}/${LOG_FOLDER}`;
  const { number } = segment;
  // Each epoch opens a segment, so none that there was is above its segment's number.
  const { head } = epochHead({ storeId, number, epoch: number, mark, createdAtMs: 0 });
  makeFoldersNow(disk, log);
  writeFileNow(disk, log, segmentName(segment), head);
}

/** @returns The path of the original, which is kept whole. */
function cutSegment(
  disk: Disk,
  folder: string,
  cut: { readonly name: string; readonly bytes: number },
): string {
  const bytes = readSegment(disk, `${folder}/${cut.name}`, Buffer.alloc(0));
  const broken = brokenName(disk, folder, cut.name);
  writeFileNow(disk, folder, broken, bytes);
  writeFileNow(disk, folder, cut.name, bytes.subarray(0, cut.bytes));
  return `${folder}/${broken}`;
}

/** One that nothing has yet. */
function brokenName(disk: Disk, folder: string, name: string): string {
  const names = namesIn(disk, folder);
  let broken = `${name}${BROKEN_SUFFIX}`;
  for (let i = 2; names.includes(broken); i++) broken = `${name}${BROKEN_SUFFIX}-${i}`;
  return broken;
}
