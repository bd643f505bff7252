/**
 * Backup and restore: a copy of a store at one moment, checked whole before it has its name. The
 * store may be in use; a copy is a data folder like any other, and the process that opens it goes
 * on in a new epoch of the same log.
 */
import { dirname, resolve } from "node:path";
import { AUDIT_FILE, readAuditFile } from "../audit/file.ts";
import { SECRET, STORE, demandStore, readStore, shareFolder } from "../disk/data-folder.ts";
import { type CopyDisk, type Disk, namesIn } from "../disk/disk.ts";
import { DiskFault, ExitCode, FolderRefused, only, StoreFault } from "../disk/faults.ts";
import { SqlFault } from "../disk/sqlite.ts";
import { makeFoldersNow, writeAllNow } from "../disk/transfer.ts";
import { findSegments, readLog } from "../log/read-log.ts";
import { startOfFirst } from "../log/scan.ts";
import { LOG_FOLDER } from "../log/segment-header.ts";
import { SNAPSHOT_FOLDER, findSnapshots } from "../snapshot/file.ts";
import { HeldFolder } from "./held-folder.ts";
import { type Finding, type OnWork, surveySnapshots, textOf } from "./survey.ts";
import { type Verified, verifyFolder } from "./verify.ts";

/** What is unfinished is called so. It goes when the copy fails; a kill may leave it. */
export const PARTIAL_SUFFIX = ".partial";

const CHUNK_BYTES = 4 * 1024 * 1024;

export interface CopyOptions {
  readonly disk: CopyDisk;
  /** Where the store is. */
  readonly from: string;
  /** Where the copy goes: a folder that is not there yet, or is empty. */
  readonly to: string;
  readonly onWork?: OnWork | undefined;
}

export interface Copied extends Verified {
  /** Damaged snapshots, and a damaged trail, which were left out. */
  readonly leftOut: readonly Finding[];
}

/**
 * A backup, also of a store in use: everything that was acknowledged before it began is in it.
 * Cost: O(bytes of the folder), twice.
 * @throws FolderRefused, LogCorrupt when the store is damaged, DiskFault; nothing has the name of
 * the copy then.
 */
export function backupFolder(options: CopyOptions): Copied {
  const { disk, from } = options;
  demandStore(disk, from);
  return copyStore(options);
}

/**
 * The way back from a backup, which is checked whole before. It must not be in use.
 * @throws As `backupFolder`; a damaged backup is refused.
 */
export function restoreFolder(options: CopyOptions): Copied {
  const { disk, from, onWork } = options;
  const release = shareFolder(disk, from);
  try {
    const { findings } = verifyFolder({ disk, folder: from, onWork });
    demandSound(from, { findings: findings.filter((one) => !canBeLeftOut(from, one)) });
    return copyStore(options);
  } finally {
    release();
  }
}

/**
 * Ordering: copied and synced under another name, checked, renamed, and the folder above synced.
 */
function copyStore(options: CopyOptions): Copied {
  const { disk, from, to } = options;
  refuseTarget(disk, from, to);
  const partial = `${to}${PARTIAL_SUFFIX}`;
  let copied: Copied;
  try {
    makeFoldersNow(disk, partial);
    clear(disk, partial);
    copied = copyTo(partial, options);
    disk.renameNow(partial, to);
  } catch (error) {
    giveUp(disk, partial);
    throw error;
  }
  disk.syncFolderNow(dirname(to));
  return copied;
}

function copyTo(partial: string, { disk, from, onWork }: CopyOptions): Copied {
  const held = HeldFolder.hold(disk, from);
  let leftOut: readonly Finding[];
  try {
    for (const name of namesIn(held, from)) copyFile(disk, held, `${from}/${name}`, partial);
    leftOut = copyRest({ disk, from, to: partial, onWork }, held);
  } finally {
    held.release();
  }
  disk.syncFolderNow(partial);
  const verified = verifyFolder({ disk, folder: partial, onWork });
  demandSound(partial, verified);
  return { ...verified, leftOut };
}

/** What is unfinished goes: it may hold the secret of the store already. */
function giveUp(disk: CopyDisk, partial: string): void {
  try {
    clear(disk, partial);
    for (const name of namesIn(disk, partial)) disk.removeFolderNow(`${partial}/${name}`);
    disk.removeFolderNow(partial);
  } catch (error) {
    // What failed first is told; what is left goes with the next try, unless it is not ours.
    only(error, StoreFault);
  }
}

/** @returns What was left out. */
function copyRest({ disk, from, to, onWork }: CopyOptions, held: HeldFolder): readonly Finding[] {
  const { storeId } = readStore(held, from);
  const snapshots = `${from}/${SNAPSHOT_FOLDER}`;
  const names = findSnapshots(namesIn(held, snapshots));
  const target = `${to}/${SNAPSHOT_FOLDER}`;
  makeFoldersNow(disk, target);
  for (const [i, name] of names.entries()) {
    copyFile(disk, held, `${snapshots}/${name}`, target);
    onWork?.("copying snapshots", i + 1, names.length);
  }
  // The copies are looked at: the originals may go meanwhile.
  const survey = surveySnapshots({ disk, folder: to, storeId });
  for (const { name, meta } of survey.snapshots) {
    if (meta === null) disk.removeNow(`${target}/${name}`);
  }
  disk.syncFolderNow(target);
  const trail = copyAudit(disk, from, to);
  // The trail may be ahead of what was there when the folder was opened.
  held.extend(disk, from);
  copyLog({ disk, from, to, onWork }, held);
  return [...survey.findings, ...trail];
}

/** The audit trail, where there is one. Before the log, so that it is never ahead of it. */
function copyAudit(disk: Disk, from: string, to: string): Finding[] {
  if (!namesIn(disk, from).includes(AUDIT_FILE)) return [];
  const path = `${to}/${AUDIT_FILE}`;
  disk.createNow(path).closeNow();
  try {
    const sql = readAuditFile(disk, from);
    try {
      sql.run("VACUUM INTO ?", path);
    } finally {
      sql.close();
    }
  } catch (error) {
    only(error, SqlFault);
    disk.removeNow(path);
    return [{ path, offset: null, expected: "a sound trail", found: error.message }];
  }
  const file = disk.openNow(path);
  try {
    file.syncNow();
  } finally {
    file.closeNow();
  }
  return [];
}

/** All segments: that they go with the snapshots is seen when the copy is checked. */
function copyLog({ disk, from, to, onWork }: CopyOptions, held: HeldFolder): void {
  const log = `${from}/${LOG_FOLDER}`;
  const target = `${to}/${LOG_FOLDER}`;
  makeFoldersNow(disk, target);
  const { storeId } = readStore(held, from);
  const [first] = findSegments(log, namesIn(held, log));
  if (first === undefined) return;
  readLog({
    disk: held,
    folder: log,
    storeId,
    start: startOfFirst(first),
    until: Infinity,
    replay: () => {},
    onSegment: ({ name, bytes, validBytes }) => {
      writeFile(disk, `${target}/${name}`, (write) => write(bytes.subarray(0, validBytes)));
    },
    onProgress: (done, total) => onWork?.("copying segments of the log", done, total),
  });
  disk.syncFolderNow(target);
}

/** A snapshot, or the trail: the copy is checked without it, and may do with the rest. */
function canBeLeftOut(folder: string, { path }: Finding): boolean {
  return path === `${folder}/${AUDIT_FILE}` || path.startsWith(`${folder}/${SNAPSHOT_FOLDER}/`);
}

/** @throws FolderRefused naming the first fault. */
function demandSound(folder: string, { findings }: Pick<Verified, "findings">): void {
  const [first] = findings;
  if (first === undefined) return;
  const more = findings.length > 1 ? `, and ${findings.length - 1} more` : "";
  const reason = `it is damaged: ${textOf(first)}${more}; \`frontrow verify\` lists all`;
  throw new FolderRefused(folder, reason, ExitCode.CONFIGURATION);
}

function refuseTarget(disk: Disk, from: string, to: string): void {
  const [source, target] = [resolve(from), resolve(to)];
  if (target === source || target.startsWith(`${source}/`) || source.startsWith(`${target}/`)) {
    throw new FolderRefused(to, `it must lie beside ${from}, not in it`, ExitCode.CANNOT_CREATE);
  }
  if (namesIn(disk, to).length === 0) return;
  const reason = "it is not empty: choose a new name; nothing was changed";
  throw new FolderRefused(to, reason, ExitCode.CANNOT_CREATE);
}

/** Removes what a copy that was cut short left behind: the files of a store, and nothing else. */
function clear(disk: Disk, partial: string): void {
  const known = new Set([STORE, SECRET, AUDIT_FILE, SNAPSHOT_FOLDER, LOG_FOLDER]);
  const names = namesIn(disk, partial);
  const foreign = names.find((name) => !known.has(name));
  if (foreign !== undefined) {
    throw new FolderRefused(partial, `it has other files: ${foreign}`, ExitCode.CANNOT_CREATE);
  }
  for (const name of names) {
    if (name !== SNAPSHOT_FOLDER && name !== LOG_FOLDER) disk.removeNow(`${partial}/${name}`);
    else {
      for (const file of namesIn(disk, `${partial}/${name}`)) {
        disk.removeNow(`${partial}/${name}/${file}`);
      }
    }
  }
}

/** Private to this user, as every file that a disk makes: a copy holds the secret. */
function copyFile(disk: Disk, held: HeldFolder, path: string, folder: string): void {
  const source = held.openNow(path);
  const bytes = source.sizeNow();
  writeFile(disk, `${folder}/${path.slice(path.lastIndexOf("/") + 1)}`, (write) => {
    const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, bytes));
    for (let at = 0; at < bytes;) {
      const readBytes = source.readNow(chunk.subarray(0, Math.min(chunk.length, bytes - at)), at);
      if (readBytes === 0) throw new DiskFault("read all of", path, "TRUNCATED");
      write(chunk.subarray(0, readBytes));
      at += readBytes;
    }
  });
}

function writeFile(
  disk: Disk,
  path: string,
  fill: (write: (bytes: Uint8Array) => void) => void,
): void {
  const file = disk.createNow(path);
  let position = 0;
  try {
    fill((bytes) => {
      writeAllNow(file, bytes, position);
      position += bytes.length;
    });
    file.syncNow();
  } finally {
    file.closeNow();
  }
}
