/**
 * Saves what can be saved of a damaged data folder. The only code that takes acknowledged records
 * away, and only when told. What it takes away stays beside the rest, under a name that ends with
 * `.broken`.
 */
import { readStore, shareFolder, takeFolder } from "./data-folder.ts";
import type { Disk } from "./disk.ts";
import { LOG_FOLDER } from "./open-log.ts";
import { readSegment } from "./read-log.ts";
import { BROKEN_SUFFIX } from "./recover.ts";
import { type RepairPlan, planRepair } from "./repair-plan.ts";
import { SNAPSHOT_FOLDER } from "./snapshot-file.ts";
import type { OnWork } from "./survey.ts";
import { writeFileNow } from "./transfer.ts";
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
 * Ordering: first snapshots, then segments from the newest on, the cut last. A repair that is
 * interrupted leaves a folder that is damaged still, or as the repair would; so it can be repeated.
 * @throws As `planRepair`; DiskFault.
 */
export function repairFolder({ disk, folder, onWork, cutAfter }: RepairOptions): Repaired {
  const release = takeFolder(disk, folder);
  try {
    const { storeId } = readStore(disk, folder);
    const plan = planRepair({ disk, folder, storeId, onWork, cutAfter });
    const log = `${folder}/${LOG_FOLDER}`;
    const aside = [
      ...setAside(disk, `${folder}/${SNAPSHOT_FOLDER}`, plan.snapshots),
      ...setAside(disk, log, plan.segments),
      ...(plan.cut === null ? [] : [cutSegment(disk, log, plan.cut)]),
    ];
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
  const names = disk.listNow(folder) ?? [];
  let broken = `${name}${BROKEN_SUFFIX}`;
  for (let i = 2; names.includes(broken); i++) broken = `${name}${BROKEN_SUFFIX}-${i}`;
  return broken;
}
