/**
 * Space taken by the replies of the catalog, in memory and on disk, by their organization or
 * tenant. A budget limits both. The longest part of a reply, its body, is not in memory: the audit
 * trail keeps it, and the oldest bodies are dropped first. The row of a reply stays for its whole
 * day, because without it a retry would have a second effect.
 */
import { assert } from "./assert.ts";

/** A longer body is kept on disk. Most replies of a sale are "true". */
export const BODY_IN_MEMORY_MAX = 64;
/** Memory for a row, besides its texts; more than was measured with a million rows. */
const ROW_BYTES = 320;
/** Disk space for a body, besides its text. */
const BODY_BYTES = 512;

/** Numbers of LOCKED, SOLD and BLOCKED seats with another label, once for each event. */
export interface SeatsInUse {
  /** In their row. */
  readonly renamed: number;
  /** In another row than before. */
  readonly moved: number;
}

/** A layout as it was after one of its changes. */
export interface LayoutVersion {
  readonly schemaId: number;
  readonly version: number;
  /** Of that change. */
  readonly inUse: SeatsInUse;
}

/** The first reply to a request with an `Idempotency-Key`, repeated for later ones. */
export interface ReplyRow {
  /** `<organization id>:<key>`. */
  readonly id: string;
  /** Keyed hash (hex) of method, path, query and body of the first request. */
  readonly fingerprint: string;
  readonly status: number;
  /**
   * Null when it is a layout, is kept on disk, or was dropped. A record has the whole body, however
   * long.
   */
  readonly body: string | null;
  /** Characters of a body on disk. */
  readonly bodyLength?: number;
  /** The layout in place of the body, while it has this version. */
  readonly layout?: LayoutVersion;
  /** Milliseconds since 1970. */
  readonly expiresAtMs: number;
}

/** Limits in bytes; a character counts as one. */
export interface ReplyBudget {
  /** For the rows in memory. */
  readonly memory: number;
  readonly memoryOfOwner: number;
  /** For the bodies on disk. */
  readonly disk: number;
  readonly diskOfOwner: number;
}

interface Share {
  rows: number;
  memory: number;
  disk: number;
  /** By id of the reply, the oldest first: bytes of its body on disk. */
  readonly bodies: Map<string, number>;
}

/** @returns The organization or tenant of a reply, as the ids of its replies begin. */
export function ownerOf(id: string): string {
  return id.slice(0, id.indexOf(":"));
}

/** @param length - Characters of the body. @returns Its bytes on disk. */
export function diskBytesOf(length: number): number {
  return BODY_BYTES + length;
}

/** The row as it stays in memory: without a long body. */
export function rowInMemory(row: ReplyRow): ReplyRow {
  const { id, fingerprint, status, body, expiresAtMs } = row;
  if (body === null || body.length <= BODY_IN_MEMORY_MAX) return row;
  // Written out, because the spread of another object takes twice the memory.
  return { id, fingerprint, status, body: null, bodyLength: body.length, expiresAtMs };
}

export class StoredReplies {
  /** Bytes of all rows in memory. */
  memory = 0;
  /** Bytes of all bodies on disk. */
  disk = 0;
  /** Bodies dropped before their day was over, since the process began. */
  dropped = 0;
  readonly #shares = new Map<string, Share>();

  /** @param replaced - The row with the same id before. */
  put(row: ReplyRow, replaced: ReplyRow | undefined): void {
    if (replaced !== undefined) {
      if (replaced.bodyLength !== undefined && row.bodyLength === undefined) this.dropped += 1;
      this.remove(replaced);
    }
    const owner = ownerOf(row.id);
    let share = this.#shares.get(owner);
    if (share === undefined) {
      share = { rows: 0, memory: 0, disk: 0, bodies: new Map() };
      this.#shares.set(owner, share);
    }
    const memory = memoryOf(row);
    share.rows += 1;
    share.memory += memory;
    this.memory += memory;
    if (row.bodyLength === undefined) return;
    const disk = diskBytesOf(row.bodyLength);
    share.bodies.set(row.id, disk);
    share.disk += disk;
    this.disk += disk;
  }

  remove(row: ReplyRow): void {
    const owner = ownerOf(row.id);
    const share = this.#shares.get(owner);
    assert(share !== undefined && share.rows > 0, "a stored reply is counted");
    const memory = memoryOf(row);
    share.rows -= 1;
    share.memory -= memory;
    this.memory -= memory;
    const disk = share.bodies.get(row.id) ?? 0;
    share.bodies.delete(row.id);
    share.disk -= disk;
    this.disk -= disk;
    if (share.rows === 0) this.#shares.delete(owner);
  }

  /**
   * True when the owner may store one more reply. When all of the memory is used, an owner with
   * less than an equal share still may.
   */
  hasRoom(owner: string, { memory, memoryOfOwner }: ReplyBudget): boolean {
    const own = this.#shares.get(owner)?.memory ?? 0;
    if (own >= memoryOfOwner) return false;
    return this.memory < memory || own < memory / (this.#shares.size + 1);
  }

  /**
   * Chooses bodies to make room for a new one: the oldest of its owner, then the oldest of the
   * largest owner.
   * @param neededBytes - Of the new body on disk.
   * @returns Ids of replies; null when no choice makes enough room.
   */
  bodiesToDrop(owner: string, neededBytes: number, budget: ReplyBudget): string[] | null {
    const { disk, diskOfOwner } = budget;
    if (neededBytes > Math.min(disk, diskOfOwner)) return null;
    const ids: string[] = [];
    const own = new Queue(this.#shares.get(owner));
    const freed = own.drop(own.disk + neededBytes - diskOfOwner, ids);
    let excess = this.disk - freed + neededBytes - disk;
    if (excess <= 0) return ids;
    const queues = [...this.#shares].map(([name, share]) =>
      name === owner ? own : new Queue(share),
    );
    while (excess > 0) {
      const largest = queues.reduce((a, b) => (b.disk > a.disk ? b : a));
      const bytes = largest.drop(excess, ids);
      assert(bytes > 0, "bodies that use up the budget can be dropped");
      excess -= bytes;
    }
    return ids;
  }
}

/** The bodies of an owner, the oldest first. */
class Queue {
  disk: number;
  readonly #bodies: Iterator<[string, number], undefined>;

  constructor(share: Share | undefined) {
    this.disk = share?.disk ?? 0;
    this.#bodies = (share?.bodies ?? new Map<string, number>()).entries();
  }

  /** Adds ids until their bodies take up the bytes. @returns The bytes of those added. */
  drop(bytes: number, ids: string[]): number {
    let dropped = 0;
    while (dropped < bytes) {
      const next = this.#bodies.next();
      if (next.done === true) break;
      const [id, size] = next.value;
      ids.push(id);
      dropped += size;
    }
    this.disk -= dropped;
    return dropped;
  }
}

function memoryOf({ id, fingerprint }: ReplyRow): number {
  return ROW_BYTES + id.length + fingerprint.length;
}
