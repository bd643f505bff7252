/**
 * One file of the virtual disk: what processes read (the page cache), what is on the platter, and
 * which sectors differ. What becomes of those when the power goes is decided by dice.
 */
import type { Random } from "../workload/random.ts";

export const SECTOR_BYTES = 512;

/** What the power leaves of what was not synced. */
export const Loss = {
  ALL: 0,
  /** The first sectors that were written are kept; the next one is torn. */
  PREFIX: 1,
  /** Each sector is kept, lost or garbage, whatever the others are. */
  SUBSET: 2,
} as const;
export type Loss = (typeof Loss)[keyof typeof Loss];
export const LOSSES = Object.values(Loss);

const EMPTY = Buffer.alloc(0);

export class Inode {
  /** What a process reads. */
  #cached: Buffer = EMPTY;
  #kept: Buffer = EMPTY;
  /** Nobody else has the memory; otherwise it is copied before the next change. */
  #ownsCached = false;
  #ownsKept = false;
  /** The cache may differ from the platter, whatever counts as written. */
  #differs = false;
  /** In the order in which they were first written. */
  readonly #dirty = new Set<number>();

  get sizeBytes(): number {
    return this.#cached.length;
  }

  /** @returns How many bytes there were. */
  read(target: Uint8Array, position: number): number {
    if (position >= this.#cached.length) return 0;
    return this.#cached.copy(target, 0, position, position + target.length);
  }

  /** All that a process reads; stays as it is. */
  content(): Buffer {
    this.#ownsCached = false;
    return this.#cached;
  }

  write(bytes: Uint8Array, position: number): void {
    if (bytes.length === 0) return;
    this.#differs = true;
    const end = position + bytes.length;
    if (!this.#ownsCached || end > this.#cached.length) {
      this.#cached = resized(this.#cached, Math.max(end, this.#cached.length));
      this.#ownsCached = true;
    }
    this.#cached.set(bytes, position);
    const lastSector = Math.floor((end - 1) / SECTOR_BYTES);
    for (let i = Math.floor(position / SECTOR_BYTES); i <= lastSector; i++) this.#dirty.add(i);
  }

  /** The file is emptied, as by making it again. */
  truncate(): void {
    this.#differs = true;
    this.#cached = EMPTY;
    this.#ownsCached = false;
  }

  /**
   * Another hand wrote it: whatever differs from the platter is not synced.
   * @param bytes - Never changed again.
   */
  replace(bytes: Buffer): void {
    if (bytes.equals(this.#cached)) return;
    this.#differs = true;
    this.#cached = bytes;
    this.#ownsCached = false;
    const sectors = Math.ceil(Math.max(bytes.length, this.#kept.length) / SECTOR_BYTES);
    for (let i = 0; i < sectors; i++) {
      if (!sector(bytes, i).equals(sector(this.#kept, i))) this.#dirty.add(i);
    }
  }

  sync(): void {
    if (this.#dirty.size === 0 && this.#kept.length === this.#cached.length) return;
    this.#resizeKept(this.#cached.length);
    const kept = this.#changingKept();
    for (const [first, last] of runs(this.#dirty)) {
      const start = first * SECTOR_BYTES;
      this.#cached.copy(kept, start, start, (last + 1) * SECTOR_BYTES);
    }
    this.#dirty.clear();
  }

  /**
   * As kernels do: some sectors may have arrived, and all count as written from now on. They stay
   * readable until the power goes.
   */
  failSync(random: Random): void {
    for (const i of this.#dirty) if (random.once(3)) this.#keep(i);
    this.#dirty.clear();
  }

  losePower(random: Random, loss: Loss): void {
    if (!this.#differs) return;
    const kept = this.#kept.length;
    const longer = Math.max(0, this.#cached.length - kept);
    if (longer > 0 && random.once(2)) {
      this.#resizeKept(kept + (random.once(2) ? longer : random.below(longer + 1)));
    }
    const cut = loss === Loss.PREFIX ? random.below(this.#dirty.size + 1) : 0;
    let order = 0;
    for (const i of this.#dirty) {
      if (loss === Loss.PREFIX && order < cut) this.#keep(i);
      else if (loss === Loss.PREFIX && order === cut) this.#garble(i, random);
      else if (loss === Loss.SUBSET) this.#keepLoseOrGarble(i, random);
      order += 1;
    }
    this.#dirty.clear();
    this.#cached = this.#kept;
    this.#ownsCached = false;
    this.#ownsKept = false;
    this.#differs = false;
  }

  /** A file that was always there. @param bytes - Never changed again. */
  static of(bytes: Buffer): Inode {
    const inode = new Inode();
    inode.#cached = bytes;
    inode.#kept = bytes;
    return inode;
  }

  /** Costs the memory of what is changed later, in either of the two. */
  clone(): Inode {
    const copy = new Inode();
    this.#ownsCached = false;
    this.#ownsKept = false;
    copy.#cached = this.#cached;
    copy.#kept = this.#kept;
    copy.#differs = this.#differs;
    for (const i of this.#dirty) copy.#dirty.add(i);
    return copy;
  }

  #keepLoseOrGarble(i: number, random: Random): void {
    const fate = random.below(3);
    if (fate === 0) this.#keep(i);
    else if (fate === 1) this.#garble(i, random);
  }

  #keep(i: number): void {
    const start = i * SECTOR_BYTES;
    const end = start + SECTOR_BYTES;
    if (start >= this.#kept.length) {
      this.#resizeKept(Math.min(end, Math.max(this.#cached.length, this.#kept.length)));
    }
    this.#cached.copy(this.#changingKept(), start, start, end);
  }

  /** A sector holds what was to be written up to some byte, or anything. */
  #garble(i: number, random: Random): void {
    const start = i * SECTOR_BYTES;
    const end = Math.min(start + SECTOR_BYTES, this.#kept.length);
    if (end <= start) return;
    const kept = this.#changingKept();
    if (random.once(2)) {
      this.#cached.copy(kept, start, start, Math.min(end, start + random.below(SECTOR_BYTES)));
      return;
    }
    for (let at = start; at < end; at++) kept[at] = random.below(256);
  }

  #changingKept(): Buffer {
    if (!this.#ownsKept) this.#kept = resized(this.#kept, this.#kept.length);
    this.#ownsKept = true;
    return this.#kept;
  }

  #resizeKept(lengthBytes: number): void {
    if (lengthBytes === this.#kept.length) return;
    this.#kept = resized(this.#kept, lengthBytes);
    this.#ownsKept = true;
  }
}

/** First and last of numbers that follow each other; most are written in order. */
function* runs(numbers: Iterable<number>): Generator<readonly [number, number]> {
  let first = -1;
  let last = -2;
  for (const number of numbers) {
    if (number === last + 1) {
      last = number;
      continue;
    }
    if (first >= 0) yield [first, last];
    first = number;
    last = number;
  }
  if (first >= 0) yield [first, last];
}

function sector(bytes: Buffer, i: number): Buffer {
  return bytes.subarray(i * SECTOR_BYTES, (i + 1) * SECTOR_BYTES);
}

function resized(bytes: Buffer, lengthBytes: number): Buffer<ArrayBuffer> {
  const copy = Buffer.alloc(lengthBytes);
  bytes.copy(copy);
  return copy;
}
