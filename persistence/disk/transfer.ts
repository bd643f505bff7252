/**
 * Complete reads and writes on a disk with short operations. A short write is followed by one
 * more for the reason: a full disk reports it only then.
 */
import { dirname } from "node:path";
import {
  type Disk,
  type DiskFile,
  type Done,
  namesIn,
  type ReadDisk,
  type ReadFile,
} from "./disk.ts";
import { DiskFault, only } from "./faults.ts";

/** Ends the name of an unfinished file, removed by the next start. */
export const TEMPORARY_SUFFIX = ".tmp";

export function writeAll(file: DiskFile, bytes: Uint8Array, position: number, done: Done): void {
  writeWhole(file, "write", { bytes, position }, done);
}

/**
 * Calls back when all bytes are on disk. It is a single operation where supported,
 * because each operation occupies a thread of the pool.
 */
export function writeAllThrough(
  file: DiskFile,
  bytes: Uint8Array,
  position: number,
  done: Done,
): void {
  if (file.writeThrough !== undefined) {
    writeWhole(file, "writeThrough", { bytes, position }, done);
    return;
  }
  writeAll(file, bytes, position, (fault) => {
    if (fault !== null) done(fault);
    else file.syncData(done);
  });
}

function writeWhole(
  file: DiskFile,
  operation: "write" | "writeThrough",
  { bytes, position }: { readonly bytes: Uint8Array; readonly position: number },
  done: Done,
): void {
  file[operation]!(bytes, position, (fault, writtenBytes) => {
    if (fault !== null || writtenBytes === bytes.length) return done(fault);
    const rest = bytes.subarray(writtenBytes);
    file[operation]!(rest, position + writtenBytes, (restFault, restBytes) => {
      if (restFault !== null || restBytes === rest.length) return done(restFault);
      done(shortWrite(file));
    });
  });
}

export function writeAllNow(file: DiskFile, bytes: Uint8Array, position: number): void {
  writeWholeNow(file, "writeNow", bytes, position);
}

/** All bytes are on disk when it returns. Only for a file with `writeThroughNow`. */
export function writeAllThroughNow(file: DiskFile, bytes: Uint8Array, position: number): void {
  writeWholeNow(file, "writeThroughNow", bytes, position);
}

function writeWholeNow(
  file: DiskFile,
  operation: "writeNow" | "writeThroughNow",
  bytes: Uint8Array,
  position: number,
): void {
  const writtenBytes = file[operation]!(bytes, position);
  if (writtenBytes === bytes.length) return;
  const rest = bytes.subarray(writtenBytes);
  if (file[operation]!(rest, position + writtenBytes) !== rest.length) throw shortWrite(file);
}

/** Fills `target` from the start of the file. */
export function readAllNow(file: ReadFile, target: Uint8Array): void {
  let readBytes = 0;
  while (readBytes < target.length) {
    const stepBytes = file.readNow(target.subarray(readBytes), readBytes);
    if (stepBytes === 0) throw new DiskFault("read all of", file.path, "TRUNCATED");
    readBytes += stepBytes;
  }
}

/** @param memory - Reused when it has the size of the file. @throws DiskFault. */
export function readFileNow(disk: ReadDisk, path: string, memory?: Buffer): Buffer {
  const file = disk.openNow(path);
  try {
    const sizeBytes = file.sizeNow();
    const bytes = sizeBytes === memory?.length ? memory : Buffer.allocUnsafeSlow(sizeBytes);
    readAllNow(file, bytes);
    return bytes;
  } finally {
    file.closeNow();
  }
}

/** Syncs an existing file. @returns Its size in bytes. */
export function syncFileNow(disk: Disk, path: string): number {
  const file = disk.openNow(path);
  try {
    file.syncNow();
    return file.sizeNow();
  } finally {
    file.closeNow();
  }
}

/**
 * Creates or replaces a file atomically: after a power cut it has all its bytes or none.
 *
 * Ordering: the data is synced before the file is renamed, and the folder before this returns.
 */
export function writeFileNow(disk: Disk, folder: string, name: string, bytes: Uint8Array): void {
  const path = `${folder}/${name}`;
  createFileNow(disk, `${path}${TEMPORARY_SUFFIX}`, [bytes]);
  disk.renameNow(`${path}${TEMPORARY_SUFFIX}`, path);
  disk.syncFolderNow(folder);
}

/** Creates a file with the chunks one after the other, and syncs it. */
export function createFileNow(disk: Disk, path: string, chunks: Iterable<Uint8Array>): void {
  const file = disk.createNow(path);
  let position = 0;
  try {
    for (const chunk of chunks) {
      writeAllNow(file, chunk, position);
      position += chunk.length;
    }
    file.syncNow();
  } finally {
    file.closeNow();
  }
}

/** Removes the unfinished files in the folder. */
export function removeTemporary(disk: Disk, folder: string): void {
  for (const name of namesIn(disk, folder)) {
    if (name.endsWith(TEMPORARY_SUFFIX)) disk.removeNow(`${folder}/${name}`);
  }
}

/**
 * Makes the folder and its missing parents, durable on return. The name of an existing folder is
 * synced too: an earlier call may have been interrupted, or its sync may have failed.
 */
export function makeFoldersNow(disk: Disk, path: string): void {
  const parent = dirname(path);
  const isNew = disk.listNow(path) === null;
  if (isNew) {
    makeFoldersNow(disk, parent);
    disk.makeFolderNow(path);
  }
  try {
    disk.syncFolderNow(parent);
  } catch (error) {
    only(error, DiskFault);
    // Another user made the folder, in one that this user may not read.
    if (isNew || error.code !== "EACCES") throw error;
  }
}

function shortWrite(file: DiskFile): DiskFault {
  return new DiskFault("write all of", file.path, "SHORT");
}
