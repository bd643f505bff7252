/**
 * The newest segment of the log, and spares: segment files not yet part of the log. A
 * spare is filled with zeros and synced in the background under a temporary name, so the log itself
 * never waits for space. It is renamed when the log needs it.
 */
import type { Clock } from "../../engine/ports.ts";
import type { Disk, DiskFile, Done } from "../disk/disk.ts";
import { DiskFault, only } from "../disk/faults.ts";
import type { Scheduler } from "../disk/clock.ts";
import {
  TEMPORARY_SUFFIX,
  writeAll,
  writeAllThrough,
  writeAllThroughNow,
} from "../disk/transfer.ts";
import {
  encodeSegmentHeader,
  type FramePlace,
  padToSector,
  SECTOR_BYTES,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
  segmentName,
} from "./frame.ts";
import type { ChainMark } from "./log-reader.ts";

/** The end of the log, and the segment where it continues. */
export interface LogEnd {
  readonly epoch: number;
  /** The last sequence number; all records up to it are durable. */
  readonly sequence: number;
  /** Chain of the last frame. */
  readonly chain: Uint8Array;
  /** The last record; null when there is none. */
  readonly mark: ChainMark | null;
  readonly segment: OpenSegment;
}

export interface OpenSegment {
  readonly file: DiskFile;
  readonly number: number;
  readonly bytes: number;
  /** Offset of the next frame in bytes. */
  readonly position: number;
}

export interface NewestSegmentOptions {
  readonly disk: Disk;
  /** The folder of the segments. */
  readonly folder: string;
  readonly storeId: string;
  readonly clock: Clock;
}

/** The segment where the log continues. One call at a time: each begins when the last is done. */
export class NewestSegment {
  readonly #options: NewestSegmentOptions;
  #file: DiskFile;
  #number: number;
  #position: number;

  constructor(options: NewestSegmentOptions, { file, number, position }: OpenSegment) {
    this.#options = options;
    this.#file = file;
    this.#number = number;
    this.#position = position;
  }

  /** The end of the log on this disk. */
  get place(): FramePlace {
    return { number: this.#number, offset: this.#position };
  }

  /** Writes and syncs the next frame. */
  write(frame: Buffer, done: Done): void {
    writeAllThrough(this.#file, frame, this.#position, (fault) => {
      if (fault === null) this.#position += frame.length;
      done(fault);
    });
  }

  /** `writeNow` can write the next frame. */
  get writesNow(): boolean {
    return this.#file.writeThroughNow !== undefined;
  }

  /** Writes and syncs the next frame before it returns. */
  writeNow(frame: Buffer, done: Done): void {
    let fault: DiskFault | null = null;
    try {
      writeAllThroughNow(this.#file, frame, this.#position);
      this.#position += frame.length;
    } catch (error) {
      only(error, DiskFault);
      fault = error;
    }
    done(fault);
  }

  /** Continues in the spare. */
  replace(
    { file, bytes }: Spare,
    log: Pick<SegmentHeader, "firstSequence" | "epoch" | "chain">,
    done: Done,
  ): void {
    const { disk, folder, storeId, clock } = this.#options;
    const number = this.#number + 1;
    const head = encodeSegmentHeader({ ...log, number, storeId, createdAtMs: clock.nowMs() });
    const name = segmentName({ number, firstSequence: log.firstSequence });
    activate(disk, { file, bytes }, { folder, name, head }, (fault) => {
      if (fault !== null) return done(fault);
      const before = this.#file;
      this.#file = file;
      this.#number = number;
      this.#position = SEGMENT_HEADER_BYTES;
      before.close(done);
    });
  }

  /** Cuts the unused zeros, so the next start does not read them. */
  close(done: Done): void {
    this.#file.truncateNow?.(this.#position);
    this.#file.close(done);
  }
}

export const SEGMENT_BYTES = 64 * 1024 * 1024;

/**
 * A spare is filled in steps, because the kernel does not interrupt a write for the log's: one of a
 * mebibyte took 2.6 ms of a processor, and the log waited for it.
 */
export const FILL_STEP_BYTES = 128 * 1024;
const RETRY_DELAY_MS = 1_000;
const ZEROS = Buffer.alloc(FILL_STEP_BYTES);

/** A durable file of zeros. */
export interface Spare {
  readonly file: DiskFile;
  readonly bytes: number;
}

/** Makes a spare. After a failure it removes the file again. */
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
      discard(disk, file, () => done(withNeed(fault, bytes), null));
    });
  });
}

const MEBIBYTE = 1024 * 1024;

/** A full disk: says how much the file of the log needs, because it shows no use of it yet. */
function withNeed(fault: DiskFault, bytes: number): DiskFault {
  const { operation, path, code, cause } = fault;
  if (code !== "ENOSPC") return fault;
  const remedy = `this file of the log needs ${Math.ceil(bytes / MEBIBYTE)} MiB: free them on this disk`;
  return new DiskFault(operation, path, code, { cause, remedy });
}

/**
 * Turns a spare into a segment of the log.
 *
 * Ordering: the head is written and synced, then the file is renamed, then the folder is synced. So
 * after a power cut every file with the name of a segment has an intact header.
 *
 * @param target - `head` is the header block, perhaps followed by a first frame.
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
 * Keeps one spare ready. While none can be made, for example on a full disk, it sets `fault` and
 * tries again every second.
 *
 * Ordering: a longer spare is made beside the ready one and then replaces it, so a disk
 * without room for it leaves the log with the shorter one. Each request for a longer spare is tried
 * once, at least a second after the last failure.
 */
export class Spares {
  /** Why the last spare could not be made; null when it could. */
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

  /** Room for a frame in the spare, in bytes; 0 when none is ready. */
  get roomBytes(): number {
    return this.#ready === null ? 0 : roomIn(this.#ready.bytes);
  }

  /** Starts to make a spare with room for the frame, and of at least `segmentBytes`. */
  request(frameBytes: number): void {
    const { segmentBytes } = this.#options;
    const fits = frameBytes <= roomIn(segmentBytes);
    // A longer spare also has the room of a normal segment after the frame.
    const bytes = fits ? segmentBytes : segmentBytes + padToSector(frameBytes);
    this.#wantedBytes = Math.max(this.#wantedBytes, bytes);
    if (!this.#making && this.#cancelRetry === null && this.#closed === null) this.#make();
  }

  /** @returns The spare, then owned by the caller; null when the frame does not fit. */
  take(frameBytes: number): Spare | null {
    if (this.roomBytes < frameBytes) return null;
    const spare = this.#ready;
    this.#ready = null;
    this.#wantedBytes = 0;
    return spare;
  }

  /** Removes the spare, even an unfinished one. To be called once. */
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
      // If the removal fails, the next start removes the file.
      if (smaller === null) this.#made();
      else discard(disk, smaller.file, () => this.#made());
    });
  }

  #made(): void {
    this.#making = false;
    if (this.#closed !== null) this.#finish();
    else if (this.fault !== null) this.#retryLater();
    else {
      // A longer spare may have been requested in the meantime.
      this.#make();
      if (this.#ready !== null) this.#options.onReady();
    }
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

/** Room for frames, in bytes. One sector is reserved for the clean-shutdown frame. */
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
