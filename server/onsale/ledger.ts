/**
 * An append-only file of everything the server acknowledged, one JSON line each, in the order in
 * which the answers came. A crash test reads it to ask whether what was answered is still true.
 */

import { closeSync, openSync, writeSync } from "node:fs";
import { areasOf, type Booking, seatIdsOf } from "./basket.ts";
import { HaltError } from "./halt.ts";
import type { BookingCall } from "./tally.ts";

export class Ledger {
  readonly #file: number;

  /**
   * Starts an empty file; an old one of this name is emptied.
   * @throws HaltError when it cannot be written.
   */
  constructor(path: string) {
    try {
      this.#file = openSync(path, "w");
    } catch (error) {
      throw new HaltError(`--ledger ${path}: ${(error as Error).message}`);
    }
  }

  /** Hands the line to the system before it returns: it survives the end of this process. */
  write(op: BookingCall, { sessionId, basket }: Booking): void {
    const line = {
      time: new Date().toISOString(),
      op,
      session: sessionId,
      seats: seatIdsOf(basket),
      areas: areasOf(basket),
    };
    writeSync(this.#file, `${JSON.stringify(line)}\n`);
  }

  close(): void {
    closeSync(this.#file);
  }
}
