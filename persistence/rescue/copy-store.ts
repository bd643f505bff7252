/**
 * Backup and restore: both copy a store as it is at one moment, and check the whole copy before it
 * gets its name. The source of a backup may be in use. A copy is a data folder like any other; the
 * process that opens it continues the log in a new epoch.
 */
import { basename, dirname, resolve } from "node:path";
import { AUDIT_FILE, readFileOf } from "../history/archive.ts";
import { WEBHOOKS_FILE } from "../deliveries.ts";
import {
  CLUSTER_CELL,
  ensureStore,
  readStore,
  SECRET,
  shareFolder,
  STORE,
} from "../disk/data-folder.ts";
import { type CopyDisk, type Disk, namesIn, type ReadDisk, type ReadFile } from "../disk/disk.ts";
import { DiskFault, ExitCode, FolderRefused, only, StoreFault } from "../disk/faults.ts";
import { SqlFault } from "../disk/sqlite.ts";
import { createFileNow, makeFoldersNow, syncFileNow } from "../disk/transfer.ts";
import { LOG_FOLDER, SECTOR_BYTES, segmentName } from "../log/frame.ts";
import { findSegments, readLog, SEGMENT_SUFFIX, startOfFirst } from "../log/log-reader.ts";
import { findSnapshots, SNAPSHOT_FOLDER } from "../snapshot/file.ts";
import { type Finding, type OnWork, surveySnapshots, textOf } from "./survey.ts";
import { type Verified, verifyFolder } from "./verify.ts";

/** Ends the name of an unfinished copy, which is removed when the copy fails. A kill leaves it. */
export const PARTIAL_SUFFIX = ".partial";

const CHUNK_BYTES = 4 * 1024 * 1024;

export interface CopyOptions {
  readonly disk: CopyDisk;
  /** The data folder to copy. */
  readonly from: string;
  /** The folder of the copy, which must be empty or not exist. */
  readonly to: string;
  readonly onWork?: OnWork | undefined;
}

export interface Copied extends Verified {
  /** Damaged snapshots, a damaged trail or damaged deliveries, which were not copied. */
  readonly leftOut: readonly Finding[];
}

/**
 * Makes a backup, also of a store in use. It contains everything acknowledged before it began;
 * of the leader of a cluster, what was on its own disk by then, which may lack the last batch.
 * Cost: O(bytes of the folder), twice.
 * @throws FolderRefused, LogCorrupt when the store is damaged, DiskFault; then there is no copy.
 */
export function backupFolder(options: CopyOptions): Copied {
  const { disk, from } = options;
  ensureStore(disk, from);
  return copyStore(options);
}

/**
 * Restores a backup, which must not be in use and is checked before it is copied.
 * @throws As `backupFolder`; FolderRefused for a damaged backup.
 */
export function restoreFolder(options: CopyOptions): Copied {
  const { disk, from, onWork } = options;
  const release = shareFolder(disk, from);
  try {
    const { findings } = verifyFolder({ disk, folder: from, onWork });
    ensureSound(from, { findings: findings.filter((one) => !canBeLeftOut(from, one)) });
    return copyStore(options);
  } finally {
    release();
  }
}

function copyStore(options: CopyOptions): Copied {
  const { disk, from, to } = options;
  refuseOverlap(from, to);
  const partial = beginCopy(disk, to);
  try {
    return endCopy(options, copyTo(partial, options));
  } catch (error) {
    removePartial(disk, partial);
    throw error;
  }
}

/** @returns The empty folder for an unfinished copy. @throws FolderRefused, DiskFault. */
export function beginCopy(disk: CopyDisk, to: string): string {
  refuseTarget(disk, to);
  const partial = `${to}${PARTIAL_SUFFIX}`;
  try {
    makeFoldersNow(disk, partial);
    clear(disk, partial);
    return partial;
  } catch (error) {
    removePartial(disk, partial);
    throw error;
  }
}

/**
 * Checks a copy whose files are on disk, and gives it its name.
 *
 * Ordering: copy and sync under another name, check, rename, sync the parent folder.
 * @throws FolderRefused, DiskFault.
 */
export function endCopy(
  { disk, to, onWork }: Omit<CopyOptions, "from">,
  leftOut: readonly Finding[],
): Copied {
  const partial = `${to}${PARTIAL_SUFFIX}`;
  disk.syncFolderNow(partial);
  const verified = verifyFolder({ disk, folder: partial, onWork });
  ensureSound(partial, verified);
  disk.renameNow(partial, to);
  disk.syncFolderNow(dirname(to));
  return { ...verified, leftOut };
}

/** @returns The damage of files that were not copied. */
function copyTo(partial: string, { disk, from, onWork }: CopyOptions): readonly Finding[] {
  const held = HeldFolder.hold(disk, from);
  try {
    for (const name of namesIn(held, from))
      copyFile(disk, held.openNow(`${from}/${name}`), partial);
    return copyRest({ disk, from, to: partial, onWork }, held);
  } finally {
    held.release();
  }
}

/** Removes an unfinished copy, which may already contain the secret. */
export function removePartial(disk: CopyDisk, partial: string): void {
  try {
    clear(disk, partial);
    for (const name of namesIn(disk, partial)) disk.removeFolderNow(`${partial}/${name}`);
    disk.removeFolderNow(partial);
  } catch (error) {
    // The first failure is reported. The next copy removes the rest, unless it has foreign files.
    only(error, StoreFault);
  }
}

function copyRest({ disk, from, to, onWork }: CopyOptions, held: HeldFolder): readonly Finding[] {
  const names = findSnapshots(held, from);
  const target = `${to}/${SNAPSHOT_FOLDER}`;
  makeFoldersNow(disk, target);
  for (const [i, name] of names.entries()) {
    copyFile(disk, held.openNow(`${from}/${SNAPSHOT_FOLDER}/${name}`), target);
    onWork?.("copying snapshots", i + 1, names.length);
  }
  const damaged = leaveOutSnapshots(disk, to);
  const trail = copySql(disk, from, `${to}/${AUDIT_FILE}`);
  const deliveries = copySql(disk, from, `${to}/${WEBHOOKS_FILE}`);
  // The trail may have records of segments that are new since the folder was opened.
  held.extend(disk, from);
  copyLog({ disk, from, to, onWork }, held);
  return [...damaged, ...trail, ...deliveries];
}

/**
 * Removes damaged snapshots from an unfinished copy. The copies are checked, because the originals
 * may be removed at any time.
 * @returns What is wrong with them.
 */
export function leaveOutSnapshots(disk: CopyDisk, partial: string): readonly Finding[] {
  const { storeId } = readStore(disk, partial);
  const { findings } = surveySnapshots({ disk, folder: partial, storeId });
  for (const { path } of findings) disk.removeNow(path);
  disk.syncFolderNow(`${partial}/${SNAPSHOT_FOLDER}`);
  return findings;
}

/** Copies the trail or the deliveries: before the log, because they must not be ahead of it. */
export function copySql(disk: Disk, from: string, path: string): Finding[] {
  const name = basename(path);
  if (!namesIn(disk, from).includes(name)) return [];
  disk.createNow(path).closeNow();
  try {
    readFileOf(disk, from, name, (sql) => sql.run("VACUUM INTO ?", path));
  } catch (error) {
    only(error, SqlFault);
    disk.removeNow(path);
    return [{ path, offset: null, expected: "a sound file", found: error.message }];
  }
  syncFileNow(disk, path);
  return [];
}

/** Copies all segments. The check of the copy compares them with the snapshots. */
function copyLog({ disk, from, to, onWork }: CopyOptions, held: HeldFolder): void {
  const target = `${to}/${LOG_FOLDER}`;
  makeFoldersNow(disk, target);
  const { storeId } = readStore(held, from);
  const [first] = findSegments(held, from);
  if (first === undefined) return;
  readLog({
    disk: held,
    folder: from,
    storeId,
    start: startOfFirst(first),
    until: Infinity,
    replay: () => {},
    onSegment: ({ name, bytes, validBytes }) => {
      createFileNow(disk, `${target}/${name}`, [bytes.subarray(0, validBytes)]);
    },
    onProgress: (done, total) => onWork?.("copying segments of the log", done, total),
  });
  disk.syncFolderNow(target);
}

/** True for a snapshot, the trail and the deliveries: a store may be sound without them. */
function canBeLeftOut(folder: string, { path }: Finding): boolean {
  const isProjection = [AUDIT_FILE, WEBHOOKS_FILE].includes(basename(path));
  return isProjection || path.startsWith(`${folder}/${SNAPSHOT_FOLDER}/`);
}

/** @throws FolderRefused naming the first fault. */
function ensureSound(folder: string, { findings }: Pick<Verified, "findings">): void {
  const [first] = findings;
  if (first === undefined) return;
  const more = findings.length > 1 ? `, and ${findings.length - 1} more` : "";
  const reason = `it is damaged: ${textOf(first)}${more}; \`frontrow verify\` lists all damage`;
  throw new FolderRefused(folder, reason, ExitCode.CONFIGURATION);
}

function refuseOverlap(from: string, to: string): void {
  const [source, target] = [resolve(from), resolve(to)];
  if (target === source || target.startsWith(`${source}/`) || source.startsWith(`${target}/`)) {
    throw new FolderRefused(to, `it must lie beside ${from}, not in it`, ExitCode.CANNOT_CREATE);
  }
}

function refuseTarget(disk: Disk, to: string): void {
  if (namesIn(disk, to).length === 0) return;
  const reason = "it is not empty: choose a new name; nothing was changed";
  throw new FolderRefused(to, reason, ExitCode.CANNOT_CREATE);
}

/** Removes the files of an interrupted copy. @throws FolderRefused when there are other files. */
function clear(disk: Disk, partial: string): void {
  const facts = [STORE, SECRET, CLUSTER_CELL];
  const known = new Set([...facts, AUDIT_FILE, WEBHOOKS_FILE, SNAPSHOT_FOLDER, LOG_FOLDER]);
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

/** The copy is private to this user, like every file that a disk creates. */
function copyFile(disk: Disk, source: ReadFile, folder: string): void {
  createFileNow(disk, `${folder}/${basename(source.path)}`, chunksOf(source));
}

function* chunksOf(source: ReadFile): Generator<Buffer> {
  const bytes = source.sizeNow();
  const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, bytes));
  for (let at = 0; at < bytes;) {
    const readBytes = source.readNow(chunk.subarray(0, bytes - at), at);
    if (readBytes === 0) throw new DiskFault("read all of", source.path, "TRUNCATED");
    yield chunk.subarray(0, readBytes);
    at += readBytes;
  }
}

// A view of a data folder at one moment, while its process keeps running. All files are opened at
// the start, so none can disappear, and the newest segment is read from its end, so the result is
// always the log up to some batch.

/** Small files that say what the store is. */
const FACTS: ReadonlySet<string> = new Set([STORE, SECRET, CLUSTER_CELL]);
/** A file that is pruned between listing and opening causes another attempt. Pruning is rare. */
const ATTEMPTS_MAX = 20;

/** The files of a store by path, open until `release`. */
export class HeldFolder implements ReadDisk {
  readonly #files = new Map<string, HeldFile>();
  readonly #names = new Map<string, readonly string[]>();

  /** @throws DiskFault, LogCorrupt for a segment with an invalid name. */
  static hold(disk: Disk, folder: string): HeldFolder {
    for (let attempt = 1; ; attempt++) {
      const held = new HeldFolder();
      try {
        held.#open(disk, folder);
        return held;
      } catch (error) {
        held.release();
        const isGone = error instanceof DiskFault && error.code === "ENOENT";
        if (!isGone || attempt === ATTEMPTS_MAX) throw error;
      }
    }
  }

  listNow(path: string): string[] | null {
    const names = this.#names.get(path);
    return names === undefined ? null : [...names];
  }

  openNow(path: string): ReadFile {
    const file = this.#files.get(path);
    if (file === undefined) throw new DiskFault("open", path, "ENOENT");
    return file;
  }

  /** Adds the segments that are new since. */
  extend(disk: Disk, folder: string): void {
    const log = `${folder}/${LOG_FOLDER}`;
    const known = this.#names.get(log) ?? [];
    const names = findSegments(disk, folder).map(segmentName);
    const added = names.filter((name) => !known.includes(name));
    this.#openAll(disk, log, added);
    this.#names.set(log, [...known, ...added]);
  }

  release(): void {
    for (const file of this.#files.values()) file.release();
    this.#files.clear();
  }

  /** Ordering: snapshots first, because a segment is removed only after a new snapshot. */
  #open(disk: Disk, folder: string): void {
    const names = namesIn(disk, folder).filter((name) => FACTS.has(name));
    this.#openAll(disk, folder, names);
    this.#openAll(disk, `${folder}/${SNAPSHOT_FOLDER}`, findSnapshots(disk, folder));
    this.extend(disk, folder);
  }

  #openAll(disk: Disk, folder: string, names: readonly string[]): void {
    this.#names.set(folder, names);
    for (const name of names) {
      const path = `${folder}/${name}`;
      this.#files.set(path, new HeldFile(disk.openNow(path), isGrowing(name, names)));
    }
  }
}

/** True for the newest segment. */
function isGrowing(name: string, names: readonly string[]): boolean {
  return name.endsWith(SEGMENT_SUFFIX) && name === names.at(-1);
}

/** A file that stays open when a reader closes it. */
class HeldFile implements ReadFile {
  readonly path: string;
  readonly #file: ReadFile;
  readonly #grows: boolean;

  constructor(file: ReadFile, grows: boolean) {
    this.path = file.path;
    this.#file = file;
    this.#grows = grows;
  }

  sizeNow(): number {
    return this.#file.sizeNow();
  }

  /**
   * Reads a growing file sector by sector from the end. A frame is written only when the one before
   * it is on disk, so where part of a frame is read, all frames before it are read whole.
   */
  readNow(target: Uint8Array, position: number): number {
    if (!this.#grows) return this.#file.readNow(target, position);
    let bytes = 0;
    const last = Math.floor(Math.max(0, target.length - 1) / SECTOR_BYTES) * SECTOR_BYTES;
    for (let at = last; at >= 0; at -= SECTOR_BYTES) {
      bytes += this.#file.readNow(target.subarray(at, at + SECTOR_BYTES), position + at);
    }
    return bytes;
  }

  closeNow(): void {
    // `release` closes it, because others may still read it.
  }

  release(): void {
    this.#file.closeNow();
  }
}
