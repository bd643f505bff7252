/**
 * A data folder as it is at one moment, while its process goes on: its files are opened at once, so
 * that none can go, and the segment that grows is read from its end, so that what is read is the
 * log up to some batch.
 */
import { SECRET, STORE } from "../disk/data-folder.ts";
import { type Disk, namesIn, type ReadDisk, type ReadFile } from "../disk/disk.ts";
import { DiskFault } from "../disk/faults.ts";
import { SECTOR_BYTES } from "../log/frame.ts";
import { SEGMENT_SUFFIX, findSegments } from "../log/read-log.ts";
import { segmentName, LOG_FOLDER } from "../log/segment-header.ts";
import { SNAPSHOT_FOLDER, findSnapshots } from "../snapshot/file.ts";

/** A file that goes between listing and opening makes it begin again; pruning is rare. */
const ATTEMPTS_MAX = 20;

/** The files of a store by path, open until `release`. */
export class HeldFolder implements ReadDisk {
  readonly #files = new Map<string, HeldFile>();
  readonly #names = new Map<string, readonly string[]>();

  /** @throws DiskFault, LogCorrupt for a segment whose name is unknown. */
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

  /** Takes in the segments that came since. */
  extend(disk: Disk, folder: string): void {
    const log = `${folder}/${LOG_FOLDER}`;
    const known = this.#names.get(log) ?? [];
    const names = findSegments(log, namesIn(disk, log)).map(segmentName);
    const came = names.filter((name) => !known.includes(name));
    this.#openAll(disk, log, came);
    this.#names.set(log, [...known, ...came]);
  }

  release(): void {
    for (const file of this.#files.values()) file.release();
    this.#files.clear();
  }

  /**
   * Ordering: snapshots before segments, since a segment goes only once newer snapshots are there.
   */
  #open(disk: Disk, folder: string): void {
    const names = namesIn(disk, folder);
    this.#openAll(
      disk,
      folder,
      names.filter((name) => name === STORE || name === SECRET),
    );
    const snapshots = `${folder}/${SNAPSHOT_FOLDER}`;
    this.#openAll(disk, snapshots, findSnapshots(namesIn(disk, snapshots)));
    const log = `${folder}/${LOG_FOLDER}`;
    const segments = findSegments(log, namesIn(disk, log)).map(segmentName);
    this.#openAll(disk, log, segments);
  }

  #openAll(disk: Disk, folder: string, names: readonly string[]): void {
    this.#names.set(folder, names);
    for (const name of names) {
      const path = `${folder}/${name}`;
      this.#files.set(path, new HeldFile(disk.openNow(path), isGrowing(name, names)));
    }
  }
}

/** Only the newest segment does. */
function isGrowing(name: string, names: readonly string[]): boolean {
  return name.endsWith(SEGMENT_SUFFIX) && name === names.at(-1);
}

/** Stays open when its readers close it. */
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
   * A frame is written once the one before it is on disk. So sector by sector from the end: where
   * some of a frame is seen, all before it is seen whole.
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
    // Others may read it yet.
  }

  release(): void {
    this.#file.closeNow();
  }
}
