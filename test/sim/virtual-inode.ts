/**
 * One file of the virtual disk: what processes read (the page cache), what is on the platter, and
 * which sectors differ. What becomes of those when the power goes is decided by dice.
 */
import type { Random } from "./random.ts";

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
  cached: Buffer = EMPTY;
  #kept: Buffer = EMPTY;
  /** The cache may differ from the platter, whatever counts as written. */
  #differs = false;
  /** In the order in which they were first written. */
  readonly #dirty = new Set<number>();

  write(bytes: Uint8Array, position: number): void {
    if (bytes.length === 0) return;
    this.#differs = true;
    const end = position + bytes.length;
    if (end > this.cached.length) this.cached = resized(this.cached, end);
    this.cached.set(bytes, position);
    const lastSector = Math.floor((end - 1) / SECTOR_BYTES);
    for (let i = Math.floor(position / SECTOR_BYTES); i <= lastSector; i++) this.#dirty.add(i);
  }

  /** The file is emptied, as by making it again. */
  truncate(): void {
    this.#differs = true;
    this.cached = EMPTY;
  }

  /** Another hand wrote it: whatever differs from the platter is not synced. */
  replace(bytes: Buffer): void {
    this.#differs = true;
    this.cached = bytes;
    const sectors = Math.ceil(Math.max(bytes.length, this.#kept.length) / SECTOR_BYTES);
    for (let i = 0; i < sectors; i++) {
      if (!sector(bytes, i).equals(sector(this.#kept, i))) this.#dirty.add(i);
    }
  }

  sync(): void {
    if (this.#kept.length !== this.cached.length) {
      this.#kept = resized(this.#kept, this.cached.length);
    }
    for (const i of this.#dirty) this.#keep(i);
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
    const longer = Math.max(0, this.cached.length - kept);
    if (longer > 0 && random.once(2)) {
      this.#kept = resized(this.#kept, kept + (random.once(2) ? longer : random.below(longer + 1)));
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
    this.cached = Buffer.from(this.#kept);
    this.#differs = false;
  }

  /** A file that was always there. */
  static of(bytes: Buffer): Inode {
    const inode = new Inode();
    inode.cached = Buffer.from(bytes);
    inode.#kept = Buffer.from(bytes);
    return inode;
  }

  clone(): Inode {
    const copy = new Inode();
    copy.cached = Buffer.from(this.cached);
    copy.#kept = Buffer.from(this.#kept);
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
    if (start >= this.#kept.length) this.#grow(start + SECTOR_BYTES);
    this.cached.copy(this.#kept, start, start, start + SECTOR_BYTES);
  }

  /** A sector holds what was to be written up to some byte, or anything. */
  #garble(i: number, random: Random): void {
    const start = i * SECTOR_BYTES;
    const end = Math.min(start + SECTOR_BYTES, this.#kept.length);
    if (end <= start) return;
    if (random.once(2)) {
      this.cached.copy(this.#kept, start, start, Math.min(end, start + random.below(SECTOR_BYTES)));
      return;
    }
    for (let at = start; at < end; at++) this.#kept[at] = random.below(256);
  }

  #grow(end: number): void {
    this.#kept = resized(
      this.#kept,
      Math.min(end, Math.max(this.cached.length, this.#kept.length)),
    );
  }
}

function sector(bytes: Buffer, i: number): Buffer {
  return bytes.subarray(i * SECTOR_BYTES, (i + 1) * SECTOR_BYTES);
}

function resized(bytes: Buffer, lengthBytes: number): Buffer<ArrayBuffer> {
  const copy = Buffer.alloc(lengthBytes);
  bytes.copy(copy);
  return copy;
}
