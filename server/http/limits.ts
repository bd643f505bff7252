/**
 * Bounds of slow and greedy clients: the body budget, paged memory of long bodies, token buckets,
 * and transfers with a deadline. The body budget holds in all, for each organization, and for
 * callers without a key, so that no caller keeps others from sending.
 */
import { keepRecent } from "../../engine/bounds.ts";

// Limits of a body, chosen by its row of the route table.

const KIBIBYTE = 1_024;
/** The largest bodies. Each takes every valid body of its rows, in UTF-8 and without blanks. */
export const BODY_BYTES = {
  /** Rows without lists: texts of up to 255 characters, or names of up to 100 hold types. */
  usual: 64 * KIBIBYTE,
  /** 1,000 objects, each with a fence and a price. */
  booking: 128 * KIBIBYTE,
  /** Lists of prices, zones or assignments. */
  list: 256 * KIBIBYTE,
  /** A thumbnail of 256 KiB beside a description of 10,000 characters. */
  schema: 384 * KIBIBYTE,
  /** 1,000 keys of three labels each, in v1; and paths without a row. */
  keys: 1_024 * KIBIBYTE,
  layout: 64 * KIBIBYTE * KIBIBYTE,
  /** A part of an organization that moves: a sealed layout takes a quarter of it at most. */
  part: 64 * KIBIBYTE * KIBIBYTE,
  login: 4 * KIBIBYTE,
} as const;
/** Objects, lists, members and items of a body, about. */
export const BODY_VALUES = {
  /** 1,000 objects, each with a fence and a price, and with members that are ignored. */
  usual: 16_384,
  /** The longest list of assignments. */
  list: 32_768,
  /** A thumbnail of numbers. */
  schema: 128 * KIBIBYTE + 64,
} as const;
/** Limits of carts, and of calls with lists of prices, zones or assignments. */
export const OF_LISTS = { bodyBytesMax: BODY_BYTES.list, bodyValuesMax: BODY_VALUES.list };

// The body budget.

/** Limits in bytes. */
export interface BodyLimits {
  readonly all: number;
  readonly organization: number;
  /** Paths without a key, such as the login. */
  readonly address: number;
  readonly addresses: number;
}

const MEBIBYTE = 1_024 * 1_024;
export const BODY_LIMITS: BodyLimits = {
  all: 512 * MEBIBYTE,
  // A layout of the largest size.
  organization: 64 * MEBIBYTE,
  address: MEBIBYTE,
  addresses: 64 * MEBIBYTE,
};
/** An answer of at least this length has pages of its own. */
export const LONG_BYTES = MEBIBYTE;
/**
 * As much of a body, when it comes in pieces, has pages too. What was kept of shorter ones whose
 * client has gone waits for a collection of garbage, which may be tens of megabytes later.
 */
export const PAGED_BYTES = MEBIBYTE / 8;

/** Short pieces share buffers of this size: one buffer for each would outweigh the bytes in it. */
const SHARED_BYTES = 4 * 1_024;

/**
 * A longer body waits for its turn after it has come whole. Parsing it may take as long as a
 * hundred locks, and the bodies of many connections may be whole in one turn of the event loop.
 */
export const TURN_BYTES = 32 * 1_024;

/** Sender of a body: an organization, or a source address when no key is needed. */
export interface Sender {
  readonly name: string;
  readonly hasKey: boolean;
}

export class BodyBudget {
  readonly #limits: BodyLimits;
  /** Senders without unfinished bodies are not listed. */
  readonly #bySender = new Map<string, number>();
  #byAddresses = 0;
  bytes = 0;
  /** Bodies that were refused for want of room, before more than their first piece came. */
  refused = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** @returns False when there is no room. */
  take({ name, hasKey }: Sender, bytes: number): boolean {
    const limits = this.#limits;
    const ownBytes = (this.#bySender.get(name) ?? 0) + bytes;
    const hasRoom =
      this.bytes + bytes <= limits.all &&
      ownBytes <= (hasKey ? limits.organization : limits.address) &&
      (hasKey || this.#byAddresses + bytes <= limits.addresses);
    if (!hasRoom) {
      this.refused += 1;
      return false;
    }
    this.bytes += bytes;
    this.#bySender.set(name, ownBytes);
    if (!hasKey) this.#byAddresses += bytes;
    return true;
  }

  giveBack({ name, hasKey }: Sender, bytes: number): void {
    const ownBytes = (this.#bySender.get(name) ?? 0) - bytes;
    this.bytes -= bytes;
    if (ownBytes === 0) this.#bySender.delete(name);
    else this.#bySender.set(name, ownBytes);
    if (!hasKey) this.#byAddresses -= bytes;
  }
}

/**
 * Memory that goes back to the system as soon as it is not needed, and leaves no gaps. Pages are
 * taken when they are first written to.
 */
export function pagesFor(bytesMax: number, bytes = bytesMax): ArrayBuffer {
  return new ArrayBuffer(bytes, { maxByteLength: bytesMax });
}

/**
 * Gives the pages back, if the bytes have any and they have not moved to another thread. Otherwise
 * garbage collection would, much later.
 */
export function freePages({ buffer }: Pick<Uint8Array, "buffer">): void {
  if (buffer instanceof ArrayBuffer && buffer.resizable && buffer.byteLength > 0) buffer.resize(0);
}

/**
 * A body that comes in pieces. A long one is joined as it comes, because joining it later would
 * take twice the memory.
 */
export class BodyPieces {
  readonly #bytesMax: number;
  #short: Buffer[] = [];
  #long: ArrayBuffer | null = null;
  #length = 0;

  /** @param bytesMax - Its `Content-Length`, or its limit. Memory is taken only for what comes. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** @param piece - It is copied, because the library uses its memory again. */
  add(piece: Uint8Array): void {
    const before = this.#length;
    this.#length += piece.length;
    if (this.#length < PAGED_BYTES) {
      this.#addShort(piece);
      return;
    }
    this.#long ??= this.#join();
    this.#long.resize(this.#length);
    new Uint8Array(this.#long, before).set(piece);
  }

  #addShort(piece: Uint8Array): void {
    const last = this.#short.at(-1);
    const length = last === undefined ? 0 : last.length + piece.length;
    if (last !== undefined && length <= last.buffer.byteLength) {
      const longer = Buffer.from(last.buffer, 0, length);
      longer.set(piece, last.length);
      this.#short[this.#short.length - 1] = longer;
      return;
    }
    // Most bodies are one piece.
    const bytes = last === undefined ? piece.length : Math.max(piece.length, SHARED_BYTES);
    const own = Buffer.from(new ArrayBuffer(bytes), 0, piece.length);
    own.set(piece);
    this.#short.push(own);
  }

  #join(): ArrayBuffer {
    const start = Buffer.concat(this.#short);
    this.#short = [];
    const long = pagesFor(this.#bytesMax, start.length);
    new Uint8Array(long).set(start);
    return long;
  }

  /** Gives the memory of a long body back. To be called when nobody reads it any more. */
  free(): void {
    if (this.#long !== null) freePages({ buffer: this.#long });
  }

  /** Each has memory of its own, which may move to another thread. */
  get parts(): Buffer[] {
    return this.#long === null ? this.#short : [Buffer.from(this.#long)];
  }
}

// Rate limits.

/** The bucket that was used least recently is dropped first, and would be full when used again. */
export const BUCKETS_MAX = 100_000;
const MS_PER_SECOND = 1_000;

interface Bucket {
  readonly tokens: number;
  /** As by the clock of the caller. */
  readonly filledAtMs: number;
}

/** Token buckets. Burst: one second's refill. */
export class TokenBuckets {
  /** By name, the least recently used first. */
  readonly #buckets = new Map<string, Bucket>();

  /** Buckets in memory. */
  get count(): number {
    return this.#buckets.size;
  }

  /** @returns Seconds until there is a token; 0 when one was taken. */
  take(name: string, perSecond: number, nowMs: number): number {
    const { tokens, filledAtMs } = this.#buckets.get(name) ?? {
      tokens: perSecond,
      filledAtMs: nowMs,
    };
    const filled = tokens + ((nowMs - filledAtMs) * perSecond) / MS_PER_SECOND;
    const available = Math.min(perSecond, filled);
    const isTaken = available >= 1;
    const bucket = { tokens: available - Number(isTaken), filledAtMs: nowMs };
    keepRecent(this.#buckets, name, bucket, BUCKETS_MAX);
    return isTaken ? 0 : (1 - available) / perSecond;
  }
}

// Transfers that take more than one turn: bodies that arrive in pieces, and answers that the client
// does not read at once. Each has a deadline, and the bytes that they hold together are bounded.

/** A transfer while it is in progress. */
export interface Transfer {
  /** Bytes that stay in memory because of it. */
  heldBytes: number;
  /** The source address of the client. */
  readonly holder: string;
  deadlineMs: number;
  /** Closes the connection, which also ends the transfer. */
  abandon(): void;
}

/** Time that each transfer has, whatever its size. */
const GRACE_MS = 20_000;
/** A slower transfer is abandoned. The library has a lower limit of its own: 16 KiB a second. */
const BYTES_PER_MS_MIN = 64;
const SWEEP_INTERVAL_MS = 1_000;

export class Transfers {
  readonly #nowMs: () => number;
  /** With the holder, which an ended connection no longer has. The oldest comes first. */
  readonly #open = new Map<Transfer, string>();
  /** Bytes by holder. */
  readonly #held = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  heldBytes = 0;
  /** Transfers that did not come to their end. */
  abandoned = 0;

  /** @param nowMs - A monotonic clock. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  get count(): number {
    return this.#open.size;
  }

  /** @param expectedBytes - How much has to be sent or received before the deadline. */
  begin(transfer: Transfer, expectedBytes: number): void {
    transfer.deadlineMs = this.#nowMs() + GRACE_MS + expectedBytes / BYTES_PER_MS_MIN;
    const holder = transfer.heldBytes === 0 ? "" : transfer.holder;
    this.#open.set(transfer, holder);
    this.#add(holder, transfer.heldBytes);
    this.#timer ??= setInterval(() => this.sweep(), SWEEP_INTERVAL_MS).unref();
  }

  /** Moves the deadline of a transfer whose length was not announced. */
  extend(transfer: Transfer, bytes: number): void {
    transfer.deadlineMs += bytes / BYTES_PER_MS_MIN;
  }

  hold(transfer: Transfer, bytes: number): void {
    transfer.heldBytes += bytes;
    this.#add(this.#open.get(transfer)!, bytes);
  }

  #add(holder: string, bytes: number): void {
    this.heldBytes += bytes;
    const held = (this.#held.get(holder) ?? 0) + bytes;
    if (held === 0) this.#held.delete(holder);
    else this.#held.set(holder, held);
  }

  /** Has no effect for a transfer that is not in progress. */
  end(transfer: Transfer): void {
    const holder = this.#open.get(transfer);
    if (holder === undefined) return;
    this.#open.delete(transfer);
    this.#add(holder, -transfer.heldBytes);
    transfer.heldBytes = 0;
    if (this.#open.size > 0) return;
    clearInterval(this.#timer ?? undefined);
    this.#timer = null;
  }

  /** Abandons the transfers that are past their deadline. */
  sweep(): void {
    const nowMs = this.#nowMs();
    for (const transfer of this.#open.keys()) {
      if (transfer.deadlineMs <= nowMs) this.#abandon(transfer);
    }
  }

  /**
   * Abandons transfers until the others hold this many bytes at most: the largest one of who holds
   * most, and of equals the oldest.
   *
   * Cost: O(transfers) for each that is abandoned.
   */
  shrinkTo(bytesMax: number): void {
    while (this.heldBytes > bytesMax) {
      const holder = largestOf(this.#held.keys(), (name) => this.#held.get(name)!);
      const own = [...this.#open.keys()].filter((one) => this.#open.get(one) === holder);
      const largest = largestOf(own, ({ heldBytes }) => heldBytes);
      if (largest === null) return;
      this.#abandon(largest);
    }
  }

  #abandon(transfer: Transfer): void {
    this.lose(transfer);
    transfer.abandon();
  }

  /** Ends a transfer, if it is in progress, whose connection has been closed. */
  lose(transfer: Transfer): void {
    if (!this.#open.has(transfer)) return;
    this.abandoned += 1;
    this.end(transfer);
  }
}

/** @returns The first of the largest; null for none. */
function largestOf<Item>(items: Iterable<Item>, sizeOf: (item: Item) => number): Item | null {
  let [largest, size]: [Item | null, number] = [null, -Infinity];
  for (const item of items) if (sizeOf(item) > size) [largest, size] = [item, sizeOf(item)];
  return largest;
}
