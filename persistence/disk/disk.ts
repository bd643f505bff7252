/**
 * The disk, reduced to the operations of the store, and the real one. The only file to use
 * `node:fs`, but for `sqlite.ts`, which creates databases. Operations named `…Now` block and throw a `DiskFault`: for starts, recovery and
 * other threads. The others run in the thread pool and call back: for the log of a running engine.
 */
import fs from "node:fs";
import { DiskFault } from "./faults.ts";
import { type FileLock, lockFile } from "./sqlite.ts";

export type Done = (fault: DiskFault | null) => void;

/** Writes `source` at byte `position`, perhaps only a part of it: see `transfer.ts`. */
export type Write = (
  source: Uint8Array,
  position: number,
  done: (fault: DiskFault | null, writtenBytes: number) => void,
) => void;

/** An open file. Positions and lengths are bytes. */
export interface DiskFile {
  /** Names the file in faults. The owner changes it after a rename. */
  path: string;
  sizeNow(): number;
  /** @returns Bytes read; see `readAllNow`. */
  readNow(target: Uint8Array, position: number): number;
  /** @returns Bytes written, perhaps fewer than given: see `writeAllNow`. */
  writeNow(source: Uint8Array, position: number): number;
  /** Data and metadata (fsync). */
  syncNow(): void;
  closeNow(): void;
  /** Cuts the end off. Undefined for disks without it: callers use it to save time only. */
  readonly truncateNow?: ((bytes: number) => void) | undefined;
  readonly write: Write;
  /**
   * `write` and `syncData` in one operation: the bytes reported as written are on disk. Undefined
   * on platforms without it.
   */
  readonly writeThrough?: Write | undefined;
  /**
   * `writeThrough` that blocks. Undefined on platforms without it, and before the first
   * `writeThrough` of the file. @returns Bytes written, perhaps fewer than given.
   */
  readonly writeThroughNow?: ((source: Uint8Array, position: number) => number) | undefined;
  /** Data, and the metadata needed to read it back (fdatasync). */
  syncData(done: Done): void;
  /** Data and metadata (fsync). */
  syncAll(done: Done): void;
  close(done: Done): void;
}

export interface Disk {
  /** Makes a folder, private to this user, in an existing one. */
  makeFolderNow(path: string): void;
  /**
   * Takes the rights of all other users away from a folder or file. Undefined for disks without
   * users. @returns True when they had any. @throws DiskFault, also for a path of another user.
   */
  readonly makePrivateNow?: ((path: string) => boolean) | undefined;
  /** @returns Names in the folder, in no order; null when it does not exist. */
  listNow(path: string): string[] | null;
  /** Opens an existing file for reading. */
  openNow(path: string): DiskFile;
  /** Makes an empty file, private to this user, for writing. An existing file is emptied. */
  createNow(path: string): DiskFile;
  /** Replaces any file with the new name. Survives a power cut once the folder is synced. */
  renameNow(from: string, to: string): void;
  removeNow(path: string): void;
  /** Makes the creation, renaming and removal of files in the folder survive a power cut. */
  syncFolderNow(path: string): void;
  /** Locks a file for this process. @returns null when another process holds the lock. */
  lockNow(path: string): FileLock | null;
  create(path: string, done: (fault: DiskFault | null, file: DiskFile | null) => void): void;
  rename(from: string, to: string, done: Done): void;
  remove(path: string, done: Done): void;
  syncFolder(path: string, done: Done): void;
}

/** A disk for copies: only the cleanup after a failed copy removes folders. */
export interface CopyDisk extends Disk {
  /** The folder must be empty. */
  removeFolderNow(path: string): void;
}

/** The read-only part of a file, and of a disk. */
export type ReadFile = Pick<DiskFile, "path" | "sizeNow" | "readNow" | "closeNow">;
export interface ReadDisk {
  listNow(path: string): string[] | null;
  openNow(path: string): ReadFile;
}

/** @returns Names in the folder, in no order; none when it does not exist. */
export function namesIn(disk: ReadDisk, folder: string): string[] {
  return disk.listNow(folder) ?? [];
}

/** On other platforms a write with `O_DSYNC` may stop in the drive's own cache. */
const HAS_WRITE_THROUGH = process.platform === "linux";
/** For writes durable on return. */
const THROUGH = fs.constants.O_WRONLY | fs.constants.O_DSYNC;
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
/** The rights of the group and of others, and those of the owner. */
const RIGHTS_OF_OTHERS = 0o077;
const RIGHTS_OF_OWNER = 0o700;

export const realDisk: CopyDisk = {
  makeFolderNow: (path) =>
    now("make the folder", path, () => {
      fs.mkdirSync(path, { mode: FOLDER_MODE });
    }),
  makePrivateNow: (path) =>
    now("make private", path, () => {
      const { mode } = fs.statSync(path);
      if ((mode & RIGHTS_OF_OTHERS) === 0) return false;
      fs.chmodSync(path, mode & RIGHTS_OF_OWNER);
      return true;
    }),
  listNow: (path) =>
    now("list", path, () => {
      try {
        return fs.readdirSync(path);
      } catch (error) {
        if (codeOf(error) === "ENOENT") return null;
        throw error;
      }
    }),
  openNow: (path) => now("open", path, () => new RealFile(path, fs.openSync(path, "r"))),
  createNow: (path) =>
    now("create", path, () => new RealFile(path, fs.openSync(path, "w+", FILE_MODE))),
  renameNow: (from, to) => now("rename", from, () => fs.renameSync(from, to)),
  removeNow: (path) => now("remove", path, () => fs.unlinkSync(path)),
  removeFolderNow: (path) => now("remove", path, () => fs.rmdirSync(path)),
  syncFolderNow: (path) =>
    now("sync", path, () => {
      const fd = fs.openSync(path, "r");
      try {
        fs.fsyncSync(fd);
      } finally {
        fs.closeSync(fd);
      }
    }),
  lockNow: lockFile,
  create(path, done) {
    fillReserve();
    openFile(path, "w+", (error, fd) => {
      if (error === null) done(null, new RealFile(path, fd));
      else done(toFault("create", path, error), null);
    });
  },
  rename: (from, to, done) => fs.rename(from, to, answer("rename", from, done)),
  remove: (path, done) => fs.unlink(path, answer("remove", path, done)),
  syncFolder(path, done) {
    openFile(path, "r", (openError, fd) => {
      if (openError !== null) return done(toFault("open", path, openError));
      fs.fsync(fd, (syncError) => {
        closeFile(
          fd,
          answer("sync", path, (fault) => {
            done(syncError === null ? fault : toFault("sync", path, syncError));
          }),
        );
      });
    });
  },
};

class RealFile implements DiskFile {
  path: string;
  readonly #fd: number;
  /** The same file, opened with `O_DSYNC`. */
  #throughFd: number | null = null;

  constructor(path: string, fd: number) {
    this.path = path;
    this.#fd = fd;
  }

  sizeNow(): number {
    return now("measure", this.path, () => fs.fstatSync(this.#fd).size);
  }

  readNow(target: Uint8Array, position: number): number {
    return now("read", this.path, () => fs.readSync(this.#fd, target, 0, target.length, position));
  }

  writeNow(source: Uint8Array, position: number): number {
    return now("write", this.path, () =>
      fs.writeSync(this.#fd, source, 0, source.length, position),
    );
  }

  syncNow(): void {
    now("sync", this.path, () => fs.fsyncSync(this.#fd));
  }

  closeNow(): void {
    now("close", this.path, () => {
      if (this.#throughFd !== null) fs.closeSync(this.#throughFd);
      fs.closeSync(this.#fd);
    });
  }

  truncateNow(bytes: number): void {
    now("shorten", this.path, () => fs.ftruncateSync(this.#fd, bytes));
  }

  write(...[source, position, done]: Parameters<Write>): void {
    this.#write(this.#fd, source, position, done);
  }

  #write(fd: number, ...[source, position, done]: Parameters<Write>): void {
    fs.write(fd, source, 0, source.length, position, (error, writtenBytes) => {
      if (error === null) done(null, writtenBytes);
      else done(toFault("write", this.path, error), 0);
    });
  }

  readonly writeThrough: Write | undefined = HAS_WRITE_THROUGH
    ? (source, position, done) => {
        if (this.#throughFd !== null) this.#write(this.#throughFd, source, position, done);
        else this.#openThrough(() => this.writeThrough!(source, position, done), done);
      }
    : undefined;

  get writeThroughNow(): DiskFile["writeThroughNow"] {
    return this.#throughFd === null ? undefined : this.#writeThroughNow;
  }

  readonly #writeThroughNow = (source: Uint8Array, position: number): number =>
    now("write", this.path, () =>
      fs.writeSync(this.#throughFd!, source, 0, source.length, position),
    );

  #openThrough(go: () => void, done: Parameters<Write>[2]): void {
    openFile(this.path, THROUGH, (error, fd) => {
      if (error !== null) return done(toFault("open", this.path, error), 0);
      this.#throughFd = fd;
      go();
    });
  }

  syncData(done: Done): void {
    fs.fdatasync(this.#fd, answer("sync", this.path, done));
  }

  syncAll(done: Done): void {
    fs.fsync(this.#fd, answer("sync", this.path, done));
  }

  close(done: Done): void {
    const closeRest = () => closeFile(this.#fd, answer("close", this.path, done));
    if (this.#throughFd === null) return closeRest();
    closeFile(
      this.#throughFd,
      answer("close", this.path, (fault) => {
        if (fault === null) closeRest();
        else done(fault);
      }),
    );
  }
}

function now<T>(operation: string, path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw toFault(operation, path, error);
  }
}

function answer(operation: string, path: string, done: Done): fs.NoParamCallback {
  return (error) => done(error === null ? null : toFault(operation, path, error));
}

function toFault(operation: string, path: string, error: unknown): DiskFault {
  return new DiskFault(operation, path, codeOf(error), { cause: error });
}

function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException).code);
}

/**
 * Open files in reserve. When the process may open no more, a running log gives one up for each
 * that it opens, and gets it back when it closes one. A segment needs its file, the same for
 * durable writes, and for a moment its folder.
 */
const RESERVE_FILES = 4;
const reserve: number[] = [];

/** Takes as many files as are missing and the process may open. */
function fillReserve(): void {
  try {
    while (reserve.length < RESERVE_FILES) reserve.push(fs.openSync("/dev/null", "r"));
  } catch {
    // The log closes a file at its next segment.
  }
}

type Opened = (error: unknown, fd: number) => void;

/** Like `fs.open`. */
function openFile(path: string, flags: string | number, done: Opened): void {
  fs.open(path, flags, FILE_MODE, (error, fd) => {
    if (error?.code !== "EMFILE" || reserve.length === 0) return done(error, fd);
    let opened: number;
    try {
      fs.closeSync(reserve.pop()!);
      // In the same turn, because a new connection would take the place.
      opened = fs.openSync(path, flags, FILE_MODE);
    } catch (secondError) {
      return done(secondError, -1);
    }
    return done(null, opened);
  });
}

/** Like `fs.close`. */
function closeFile(fd: number, done: fs.NoParamCallback): void {
  if (reserve.length === RESERVE_FILES) return fs.close(fd, done);
  let fault: unknown = null;
  try {
    fs.closeSync(fd);
  } catch (error) {
    fault = error;
  }
  fillReserve();
  setImmediate(() => done(fault as NodeJS.ErrnoException | null));
}
