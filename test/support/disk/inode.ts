/**
 * One file of the fake disk: the page cache for readers, the durable bytes, and the sectors with a
 * difference. When the power fails, dice decide about those sectors.
 */

/** Random decisions; see `Random` of the simulation. */
export interface Dice {
  /** A whole number from 0 to `limit - 1`. */
  below(limit: number): number;
  /** True once in `count` times. */
  once(count: number): boolean;
}

export const SECTOR_BYTES = 512;

/** The unsynced data after a power cut. */
export const Loss = {
  ALL: 0,
  /** The sectors written first are kept; the next one is torn. */
  PREFIX: 1,
  /** Each sector is kept, lost or garbled, independently of the others. */
  SUBSET: 2,
} as const;
export type Loss = (typeof Loss)[keyof typeof Loss];
export const LOSSES = Object.values(Loss);

const EMPTY = Buffer.alloc(0);

export class Inode {
  /** Path of the real file, for writes by SQLite or a test; null for none. */
  realPath: string | null;
  #cached: Buffer;
  #durable: Buffer;
  /** The buffer is not shared; a shared one is copied before the next change. */
  #ownsCached = false;
  #ownsDurable = false;
  /** The cache may differ from the durable content, even if no sector is dirty. */
  #differs = false;
  /** Numbers of sectors, by their first write. */
  readonly #dirty = new Set<number>();

  /** @param bytes - The durable content; the caller must not change it. */
  constructor(realPath: string | null, bytes: Buffer = EMPTY) {
    this.realPath = realPath;
    this.#cached = bytes;
    this.#durable = bytes;
  }

  get sizeBytes(): number {
    return this.#cached.length;
  }

  /** @returns The number of bytes read. */
  read(target: Uint8Array, position: number): number {
    if (position >= this.#cached.length) return 0;
    return this.#cached.copy(target, 0, position, position + target.length);
  }

  /** The content for readers; later writes do not change the buffer. */
  content(): Buffer {
    this.#ownsCached = false;
    return this.#cached;
  }

  write(bytes: Uint8Array, position: number): void {
    if (bytes.length === 0) return;
    this.#differs = true;
    const end = position + bytes.length;
    const lengthBytes = Math.max(end, this.#cached.length);
    this.#cached = ownOf(this.#cached, this.#ownsCached, lengthBytes);
    this.#ownsCached = true;
    this.#cached.set(bytes, position);
    const lastSector = Math.floor((end - 1) / SECTOR_BYTES);
    for (let i = Math.floor(position / SECTOR_BYTES); i <= lastSector; i++) this.#dirty.add(i);
  }

  /** Empties the file, as a new creation does. */
  truncate(): void {
    this.#differs = true;
    this.#cached = EMPTY;
    this.#ownsCached = false;
  }

  /**
   * Takes over the changes of another program.
   * @param bytes - The caller must not change them.
   */
  replace(bytes: Buffer): void {
    if (bytes.equals(this.#cached)) return;
    this.#differs = true;
    this.#cached = bytes;
    this.#ownsCached = false;
    const sectors = Math.ceil(Math.max(bytes.length, this.#durable.length) / SECTOR_BYTES);
    for (let i = 0; i < sectors; i++) {
      if (!sector(bytes, i).equals(sector(this.#durable, i))) this.#dirty.add(i);
    }
  }

  sync(): void {
    if (this.#dirty.size === 0 && this.#durable.length === this.#cached.length) return;
    this.#resizeDurable(this.#cached.length);
    const durable = this.#ownDurable();
    for (const i of this.#dirty) {
      this.#cached.copy(durable, i * SECTOR_BYTES, i * SECTOR_BYTES, (i + 1) * SECTOR_BYTES);
    }
    this.#dirty.clear();
  }

  /**
   * As in a kernel, some sectors may be written, and all count as written from now on. They stay
   * readable until the power fails.
   */
  failSync(dice: Dice): void {
    for (const i of this.#dirty) if (dice.once(3)) this.#keep(i);
    this.#dirty.clear();
  }

  losePower(dice: Dice, loss: Loss): void {
    if (!this.#differs) return;
    const durableBytes = this.#durable.length;
    const grownBytes = Math.max(0, this.#cached.length - durableBytes);
    if (grownBytes > 0 && dice.once(2)) {
      const keptBytes = dice.once(2) ? grownBytes : dice.below(grownBytes + 1);
      this.#resizeDurable(durableBytes + keptBytes);
    }
    const cut = loss === Loss.PREFIX ? dice.below(this.#dirty.size + 1) : 0;
    let order = 0;
    for (const i of this.#dirty) {
      if (loss === Loss.PREFIX && order < cut) this.#keep(i);
      else if (loss === Loss.PREFIX && order === cut) this.#garble(i, dice);
      else if (loss === Loss.SUBSET) this.#keepLoseOrGarble(i, dice);
      order += 1;
    }
    this.#dirty.clear();
    this.#cached = this.#durable;
    this.#ownsCached = false;
    this.#ownsDurable = false;
    this.#differs = false;
  }

  /** The copy shares memory with this file until one of them is changed. */
  clone(): Inode {
    this.#ownsCached = false;
    this.#ownsDurable = false;
    const copy = new Inode(this.realPath, this.#durable);
    copy.#cached = this.#cached;
    copy.#differs = this.#differs;
    for (const i of this.#dirty) copy.#dirty.add(i);
    return copy;
  }

  #keepLoseOrGarble(i: number, dice: Dice): void {
    const fate = dice.below(3);
    if (fate === 0) this.#keep(i);
    else if (fate === 1) this.#garble(i, dice);
  }

  #keep(i: number): void {
    const start = i * SECTOR_BYTES;
    const end = start + SECTOR_BYTES;
    if (start >= this.#durable.length) {
      this.#resizeDurable(Math.min(end, Math.max(this.#cached.length, this.#durable.length)));
    }
    this.#cached.copy(this.#ownDurable(), start, start, end);
  }

  /** The sector gets the first bytes of the write, or random bytes. */
  #garble(i: number, dice: Dice): void {
    const start = i * SECTOR_BYTES;
    const end = Math.min(start + SECTOR_BYTES, this.#durable.length);
    if (end <= start) return;
    const durable = this.#ownDurable();
    if (dice.once(2)) {
      this.#cached.copy(durable, start, start, Math.min(end, start + dice.below(SECTOR_BYTES)));
      return;
    }
    for (let at = start; at < end; at++) durable[at] = dice.below(256);
  }

  #ownDurable(): Buffer {
    this.#resizeDurable(this.#durable.length);
    return this.#durable;
  }

  #resizeDurable(lengthBytes: number): void {
    this.#durable = ownOf(this.#durable, this.#ownsDurable, lengthBytes);
    this.#ownsDurable = true;
  }
}

function sector(bytes: Buffer, i: number): Buffer {
  return bytes.subarray(i * SECTOR_BYTES, (i + 1) * SECTOR_BYTES);
}

/**
 * An unshared buffer of that length, with zeros after the bytes. A log grows in hundreds
 * of small steps, so there is room for more of them: a copy for each would take seconds.
 */
function ownOf(bytes: Buffer, isOwn: boolean, lengthBytes: number): Buffer {
  if (isOwn && lengthBytes === bytes.length) return bytes;
  const isGrowing = lengthBytes > bytes.length;
  if (isOwn && isGrowing && bytes.byteOffset + lengthBytes <= bytes.buffer.byteLength) {
    return Buffer.from(bytes.buffer, bytes.byteOffset, lengthBytes);
  }
  const copy = Buffer.alloc(isGrowing ? 2 * lengthBytes : lengthBytes).subarray(0, lengthBytes);
  bytes.copy(copy);
  return copy;
}
