/**
 * Whole reads and writes over a disk that may do less than asked. A short write is followed by one
 * more, which names the reason (a full disk reports it only then).
 */
import { dirname } from "node:path";
import type { Disk, DiskFile, Done, ReadFile } from "./disk.ts";
import { DiskFault } from "./faults.ts";

export function writeAll(file: DiskFile, bytes: Uint8Array, position: number, done: Done): void {
  writeWhole(file, "write", { bytes, position }, done);
}

/** Calls back when all is on disk. One operation where the disk can, since each costs a thread. */
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
  const writtenBytes = file.writeNow(bytes, position);
  if (writtenBytes === bytes.length) return;
  const rest = bytes.subarray(writtenBytes);
  if (file.writeNow(rest, position + writtenBytes) !== rest.length) throw shortWrite(file);
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

/**
 * Makes a file that is there with all its bytes or not at all, also after a power cut.
 *
 * Ordering: data before name, name before return.
 */
export function writeFileNow(disk: Disk, folder: string, name: string, bytes: Uint8Array): void {
  const path = `${folder}/${name}`;
  const file = disk.createNow(`${path}.tmp`);
  try {
    writeAllNow(file, bytes, 0);
    file.syncNow();
  } finally {
    file.closeNow();
  }
  disk.renameNow(`${path}.tmp`, path);
  disk.syncFolderNow(folder);
}

/** Makes a folder and those above it, where missing; they outlast a power cut. */
export function makeFoldersNow(disk: Disk, path: string): void {
  if (disk.listNow(path) !== null) return;
  const parent = dirname(path);
  makeFoldersNow(disk, parent);
  disk.makeFolderNow(path);
  disk.syncFolderNow(parent);
}

function shortWrite(file: DiskFile): DiskFault {
  return new DiskFault("write all of", file.path, "SHORT");
}
