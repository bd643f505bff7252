/**
 * Transfers that take more than one turn: bodies that arrive in pieces, and answers that the client
 * does not read at once. Each has a deadline, and the bytes that they hold together are bounded.
 */

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
