/**
 * Memory of bodies that come in pieces, from their first byte to their answer. It is bounded in
 * all, for each organization, and for callers without a key, so no caller can keep the others from
 * sending. And the pages in which long bodies are kept.
 */

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

/** Who sends a body: an organization, or an address when no key is needed. */
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

// Transfers that take more than one turn: bodies that arrive in pieces, and answers that the client
// does not read at once. Each has a deadline, and the bytes that they hold together are bounded.

/** A transfer while it is in progress. */
export interface Transfer {
  /** Bytes that stay in memory because of it. */
  heldBytes: number;
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
  /** The oldest comes first. */
  readonly #open = new Set<Transfer>();
  #timer: NodeJS.Timeout | null = null;
  heldBytes = 0;
  /** How many did not come to their end. */
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
    this.#open.add(transfer);
    this.heldBytes += transfer.heldBytes;
    this.#timer ??= setInterval(() => this.sweep(), SWEEP_INTERVAL_MS).unref();
  }

  /** Moves the deadline of a transfer whose length was not announced. */
  extend(transfer: Transfer, bytes: number): void {
    transfer.deadlineMs += bytes / BYTES_PER_MS_MIN;
  }

  hold(transfer: Transfer, bytes: number): void {
    transfer.heldBytes += bytes;
    this.heldBytes += bytes;
  }

  /** Has no effect for a transfer that is not in progress. */
  end(transfer: Transfer): void {
    if (!this.#open.delete(transfer)) return;
    this.heldBytes -= transfer.heldBytes;
    transfer.heldBytes = 0;
    if (this.#open.size > 0) return;
    clearInterval(this.#timer ?? undefined);
    this.#timer = null;
  }

  /** Abandons the transfers that are past their deadline. */
  sweep(): void {
    const nowMs = this.#nowMs();
    for (const transfer of this.#open) {
      if (transfer.deadlineMs <= nowMs) this.#abandon(transfer);
    }
  }

  /** Abandons the oldest transfers until the others hold this many bytes at most. */
  shrinkTo(bytesMax: number): void {
    for (const transfer of this.#open) {
      if (this.heldBytes <= bytesMax) return;
      this.#abandon(transfer);
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
