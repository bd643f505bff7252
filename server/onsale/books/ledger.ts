/**
 * An append-only file of every booking call that left and of what the server said to it, one JSON
 * line each, in the order in which it happened. A crash test reads it to ask whether what was
 * answered is still true, and whether all else can be explained by what was left open.
 *
 * A line is `{time, op, step, session, seats, areas}`: `op` is lock, unlock or sale; `seats` are
 * ids, `areas` are `{id, capacity}`. Steps:
 * - `asked`: the request is handed to a connection. The line is written before the first byte goes,
 *   so whatever the server did, somebody is on record as having asked for it.
 * - `answered`: the server said yes. Also a sale of unknown outcome that a later refusal proves.
 * - `refused`: the server said no, and nothing was changed by that request.
 *
 * Each `asked` without an `answered` or `refused` after it is a request of unknown outcome. A buyer
 * has one basket at a time: a session locks again only when its last basket is off its hands.
 */

import { closeSync, openSync, writeSync } from "node:fs";
import { areasOf, type Booking, seatIdsOf } from "../basket.ts";
import { HaltError } from "../http/halt.ts";
import type { BookingCall } from "../tally.ts";

export type LedgerStep = "asked" | "answered" | "refused";

/** One line, parsed. */
export interface LedgerLine {
  /** UTC, for people; the order of the lines is the order of events. */
  readonly time: string;
  readonly op: BookingCall;
  readonly step: LedgerStep;
  readonly session: string;
  readonly seats: readonly number[];
  readonly areas: readonly { readonly id: number; readonly capacity: number }[];
}

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
  write(op: BookingCall, step: LedgerStep, { sessionId, basket }: Booking): void {
    const line: LedgerLine = {
      time: new Date().toISOString(),
      op,
      step,
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
