/**
 * Segment files before they are part of the log. A spare is filled with zeros and synced in the
 * background under a temporary name, so that the log itself never waits for space, and is named
 * when it is needed.
 */
import type { Disk, DiskFile, Done } from "../disk/disk.ts";
import type { DiskFault } from "../disk/faults.ts";
import type { Scheduler } from "../disk/scheduler.ts";
import { writeAll } from "../disk/transfer.ts";
import { SECTOR_BYTES, padToSector } from "./frame.ts";
import { SEGMENT_HEADER_BYTES } from "./segment-header.ts";

export const SEGMENT_BYTES = 64 * 1024 * 1024;
export const TEMPORARY_SUFFIX = ".tmp";

const FILL_STEP_BYTES = 1024 * 1024;
const RETRY_DELAY_MS = 1_000;
const ZEROS = Buffer.alloc(FILL_STEP_BYTES);

/** A file full of zeros, on disk. */
export interface Spare {
  readonly file: DiskFile;
  readonly bytes: number;
}

/** Makes a spare, or leaves nothing behind. */
export function makeSpare(
  disk: Disk,
  path: string,
  bytes: number,
  done: (fault: DiskFault | null, spare: Spare | null) => void,
): void {
  disk.create(path, (createFault, file) => {
    if (file === null) return done(createFault, null);
    fill(file, bytes, 0, (fault) => {
      if (fault === null) return done(null, { file, bytes });
      discard(disk, file, () => done(fault, null));
    });
  });
}

/**
 * Makes a spare a segment of the log: `head` is its header block, and what may follow it at once.
 *
 * Ordering: head, sync, name, sync of the folder. So a file with the name of a segment has an
 * intact header, whenever the power goes.
 */
export function activate(
  disk: Disk,
  spare: Spare,
  target: { readonly folder: string; readonly name: string; readonly head: Uint8Array },
  done: Done,
): void {
  const { file } = spare;
  const path = `${target.folder}/${target.name}`;
  writeAll(file, target.head, 0, (writeFault) => {
    if (writeFault !== null) return done(writeFault);
    file.syncData((syncFault) => {
      if (syncFault !== null) return done(syncFault);
      disk.rename(file.path, path, (renameFault) => {
        if (renameFault !== null) return done(renameFault);
        file.path = path;
        disk.syncFolder(target.folder, done);
      });
    });
  });
}

export interface SparesOptions {
  readonly disk: Disk;
  readonly scheduler: Scheduler;
  /** The folder of the segments. */
  readonly folder: string;
  readonly segmentBytes: number;
  /** Called each time a spare is ready. */
  readonly onReady: () => void;
}

/**
 * Keeps one spare ready. When it cannot be made, for example on a full disk, it says why and tries
 * again every second.
 *
 * Ordering: a longer one is made beside the one that is ready and then takes its place, so that on
 * a disk without room for it the log still has the other. It is tried once for each time that it
 * is asked for, and not before a second has passed since something could not be made.
 */
export class Spares {
  /** Why there is no spare; null while all is well. */
  fault: DiskFault | null = null;
  readonly #options: SparesOptions;
  #ready: Spare | null = null;
  #wantedBytes = 0;
  #making = false;
  #madeCount = 0;
  #cancelRetry: (() => void) | null = null;
  #closed: Done | null = null;

  constructor(options: SparesOptions) {
    this.#options = options;
  }

  /** The longest frame that the spare takes, as the first one in it; 0 when none is ready. */
  get roomBytes(): number {
    return this.#ready === null ? 0 : roomIn(this.#ready.bytes);
  }

  /** Gets a spare under way that takes a frame of so many bytes, and at least a usual segment. */
  request(frameBytes: number): void {
    const { segmentBytes } = this.#options;
    const fits = frameBytes <= roomIn(segmentBytes);
    // A longer one also leaves a usual segment's room behind the frame.
    const bytes = fits ? segmentBytes : segmentBytes + padToSector(frameBytes);
    this.#wantedBytes = Math.max(this.#wantedBytes, bytes);
    if (!this.#making && this.#cancelRetry === null && this.#closed === null) this.#make();
  }

  /** @returns The spare when it takes such a frame; it is then the caller's. */
  take(frameBytes: number): Spare | null {
    if (this.roomBytes < frameBytes) return null;
    const spare = this.#ready;
    this.#ready = null;
    this.#wantedBytes = 0;
    return spare;
  }

  /** Removes the spare; waits for the one that is being made. Called once. */
  close(done: Done): void {
    this.#closed = done;
    this.#cancelRetry?.();
    if (!this.#making) this.#finish();
  }

  #make(): void {
    const { disk, folder, segmentBytes } = this.#options;
    if (this.#ready !== null && this.#ready.bytes >= this.#wantedBytes) {
      this.fault = null;
      return;
    }
    this.#making = true;
    this.#madeCount += 1;
    const path = `${folder}/spare-${this.#madeCount}${TEMPORARY_SUFFIX}`;
    const bytes = this.#ready === null ? segmentBytes : this.#wantedBytes;
    makeSpare(disk, path, bytes, (fault, spare) => {
      const smaller = this.#ready;
      this.fault = fault;
      if (spare === null) {
        if (bytes > segmentBytes) this.#wantedBytes = segmentBytes;
        return this.#made();
      }
      this.#ready = spare;
      // A file that stays behind is removed at the next start.
      if (smaller === null) this.#made();
      else discard(disk, smaller.file, () => this.#made());
    });
  }

  #made(): void {
    this.#making = false;
    if (this.#closed !== null) this.#finish();
    else if (this.fault !== null) this.#retryLater();
    else this.#announce();
  }

  #announce(): void {
    // More may have been asked for meanwhile.
    this.#make();
    if (this.#ready !== null) this.#options.onReady();
  }

  #retryLater(): void {
    this.#cancelRetry = this.#options.scheduler.later(RETRY_DELAY_MS, () => {
      this.#cancelRetry = null;
      this.#make();
    });
  }

  #finish(): void {
    const done = this.#closed!;
    if (this.#ready === null) return done(null);
    discard(this.#options.disk, this.#ready.file, done);
  }
}

/** The end of a segment keeps one sector for the frame that marks a clean shutdown. */
export function roomIn(segmentBytes: number): number {
  return segmentBytes - SEGMENT_HEADER_BYTES - SECTOR_BYTES;
}

function fill(file: DiskFile, bytes: number, position: number, done: Done): void {
  if (position === bytes) return file.syncAll(done);
  const stepBytes = Math.min(FILL_STEP_BYTES, bytes - position);
  writeAll(file, ZEROS.subarray(0, stepBytes), position, (fault) => {
    if (fault !== null) done(fault);
    else fill(file, bytes, position + stepBytes, done);
  });
}

function discard(disk: Disk, file: DiskFile, done: Done): void {
  file.close((closeFault) => {
    disk.remove(file.path, (removeFault) => done(closeFault ?? removeFault));
  });
}
