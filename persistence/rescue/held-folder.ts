/**
 * A view of a data folder at one moment, while its process keeps running. All files are opened at
 * the start, so none can disappear, and the newest segment is read from its end, so the result is
 * always the log up to some batch.
 */
import { CLUSTER_CELL } from "../disk/cluster-cell.ts";
import { SECRET, STORE } from "../disk/data-folder.ts";
import { type Disk, namesIn, type ReadDisk, type ReadFile } from "../disk/disk.ts";
import { DiskFault } from "../disk/faults.ts";
import { SECTOR_BYTES } from "../log/frame.ts";
import { SEGMENT_SUFFIX, findSegments } from "../log/read-log.ts";
import { segmentName, LOG_FOLDER } from "../log/segment-header.ts";
import { SNAPSHOT_FOLDER, findSnapshots } from "../snapshot/file.ts";

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

/** Whether it is the newest segment. */
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
