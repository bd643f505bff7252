/**
 * An append-only file of every booking call and its answer: one JSON line each, in the order in
 * which they happened. A crash test reads it to check that every acknowledged change still exists
 * and that requests of unknown outcome explain every other change. Steps:
 * - `asked`: a connection takes the request. The line is written before the first byte is sent, so
 *   the ledger has a request for everything that the server does.
 * - `answered`: the server confirmed the change. Also written when a later refusal proves a sale of
 *   unknown outcome.
 * - `refused`: the server refused the request, which therefore changed nothing.
 *
 * An `asked` line without a later `answered` or `refused` line is a request of unknown outcome. A
 * buyer has one basket at a time: a session locks again only when its last basket is settled.
 */
import { closeSync, openSync, writeSync } from "node:fs";
import type { Booking } from "../basket.ts";
import { FatalError } from "../http/errors.ts";
import type { BookingCall } from "../statistics.ts";

export type LedgerStep = "asked" | "answered" | "refused";

/** One line, parsed. */
export interface LedgerLine {
  /** UTC, for human readers. The order of the lines is the order of events. */
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
   * Creates the file, or empties an existing one.
   * @throws FatalError if the file cannot be written.
   */
  constructor(path: string) {
    try {
      this.#file = openSync(path, "w");
    } catch (error) {
      throw new FatalError(`--ledger ${path}: ${(error as Error).message}`);
    }
  }

  /** Hands the line to the operating system, so it survives the end of this process. */
  write(op: BookingCall, step: LedgerStep, { sessionId, basket }: Booking): void {
    const line: LedgerLine = {
      time: new Date().toISOString(),
      op,
      step,
      session: sessionId,
      seats: basket.seatIds,
      areas: basket.areas,
    };
    writeSync(this.#file, `${JSON.stringify(line)}\n`);
  }

  close(): void {
    closeSync(this.#file);
  }
}
