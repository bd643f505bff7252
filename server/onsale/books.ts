/** The final check: compares the buyers' answers with the state of the server. Pure. */
import { closeSync, openSync, writeSync } from "node:fs";
import { FatalError, type Inventory } from "./client.ts";
import {
  type AreaCounters,
  type Basket,
  type Booking,
  type ListedSeat,
  type SeatState,
  STATUS_SERVICE_UNAVAILABLE,
} from "./contract.ts";
import type { BookingCall } from "./statistics.ts";

/** A failed check names this many objects and counts the rest. */
const NAMED_MAX = 10;

export interface CheckResult {
  readonly name: string;
  readonly passed: boolean;
  /** What was found; may be empty. */
  readonly detail: string;
}

/** Everything that the check compares. */
export interface SaleData {
  readonly record: SalesRecord;
  readonly before: Inventory;
  readonly after: Inventory;
  readonly holdsLost: number;
  /** Answers 5xx by status. */
  readonly serverErrors: ReadonlyMap<number, number>;
}

export function checkSale(data: SaleData): readonly CheckResult[] {
  const { record, after, holdsLost, serverErrors } = data;
  return [
    checkSeatsBought(record, after.seats),
    seatResult("no seat was sold to two buyers", [...record.seatIdsSoldTwice]),
    checkSeatTotal(data),
    checkAreaCounters(after.areas),
    checkPlaceTotals(data),
    resultOf(
      "every acknowledged hold could be bought",
      holdsLost > 0 ? [`lost: ${holdsLost}`] : [],
    ),
    checkServerErrors(serverErrors),
  ];
}

export function countSeats(seats: readonly ListedSeat[], state: SeatState): number {
  return seats.reduce((count, seat) => (seat.state === state ? count + 1 : count), 0);
}

/** @returns The first names in one line, and the number of the others. */
export function nameSome(names: readonly string[]): string {
  const more = names.length - NAMED_MAX;
  const named = names.slice(0, NAMED_MAX).join("; ");
  return more > 0 ? `${named}; and ${more} more` : named;
}

function checkSeatsBought(record: SalesRecord, seats: readonly ListedSeat[]): CheckResult {
  const sold = new Set<number>();
  for (const seat of seats) if (seat.state === "SOLD") sold.add(seat.seatId);
  const missing = [...record.seatIds].filter((id) => !sold.has(id));
  return seatResult("every seat bought is SOLD", missing);
}

function checkSeatTotal({ record, before, after }: SaleData): CheckResult {
  const soldBefore = countSeats(before.seats, "SOLD");
  const soldAfter = countSeats(after.seats, "SOLD");
  const isEqual = soldAfter === soldBefore + record.seatCount;
  const sum = `${soldAfter} ${isEqual ? "=" : "≠"} ${soldBefore} + ${record.seatCount}`;
  return resultOf("SOLD seats = sold before + bought", isEqual ? [] : [sum], sum);
}

function checkAreaCounters(areas: readonly AreaCounters[]): CheckResult {
  const faults = areas.flatMap(({ groupOfSeatsId, active, locked, sold, blocked, capacity }) => {
    if (active + locked + sold + blocked === capacity) return [];
    return [`area ${groupOfSeatsId}: ${active} + ${locked} + ${sold} + ${blocked} ≠ ${capacity}`];
  });
  return resultOf("area counters add up to the capacity", faults);
}

function checkPlaceTotals({ record, before, after }: SaleData): CheckResult {
  const soldBefore = new Map(before.areas.map((area) => [area.groupOfSeatsId, area.sold]));
  const faults = after.areas.flatMap(({ groupOfSeatsId, sold }) => {
    const start = soldBefore.get(groupOfSeatsId) ?? 0;
    const bought = record.placesOf(groupOfSeatsId);
    if (sold === start + bought) return [];
    return [`area ${groupOfSeatsId}: ${sold} ≠ ${start} + ${bought}`];
  });
  return resultOf("sold places = sold before + bought", faults);
}

/** A 503 asks the client to retry later. Any other 5xx is an error of the server. */
function checkServerErrors(serverErrors: ReadonlyMap<number, number>): CheckResult {
  const faults = [...serverErrors]
    .filter(([status]) => status !== STATUS_SERVICE_UNAVAILABLE)
    .map(([status, count]) => `${status} × ${count}`);
  return resultOf("no 5xx answer except 503", faults);
}

function seatResult(name: string, seatIds: readonly number[]): CheckResult {
  const faults = seatIds.map((id) => `seat ${id}`);
  return resultOf(name, faults);
}

/** @param detail - Of a passed check. */
export function resultOf(name: string, faults: readonly string[], detail = ""): CheckResult {
  const passed = faults.length === 0;
  return { name, passed, detail: passed ? detail : nameSome(faults) };
}

// An append-only file of every booking call and its answer: one JSON line each, in the order in
// which they happened. A crash test reads it to check that every acknowledged change still exists
// and that requests of unknown outcome explain every other change. Steps:
// - `asked`: a connection takes the request. The line is written before the first byte is sent, so
// the ledger has a request for everything that the server does.
// - `answered`: the server confirmed the change. Also written when a later refusal proves a sale of
// unknown outcome.
// - `refused`: the server refused the request, which therefore changed nothing.
//
// An `asked` line without a later `answered` or `refused` line is a request of unknown outcome. A
// buyer has one basket at a time: a session locks again only when its last basket is settled.

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

// The purchases that were confirmed to the buyers. The final check compares it with the server.

export class SalesRecord {
  /** Seats bought. A seat that was sold to two buyers counts twice. */
  seatCount = 0;
  placeCount = 0;
  readonly seatIds = new Set<number>();
  readonly seatIdsSoldTwice = new Set<number>();
  readonly #placesByArea = new Map<number, number>();

  /** Adds a basket whose sale was acknowledged. */
  add({ seatIds, areas }: Basket): void {
    for (const { id, capacity } of areas) {
      this.placeCount += capacity;
      this.#placesByArea.set(id, this.placesOf(id) + capacity);
    }
    for (const id of seatIds) {
      this.seatCount += 1;
      if (this.seatIds.has(id)) this.seatIdsSoldTwice.add(id);
      this.seatIds.add(id);
    }
  }

  placesOf(areaId: number): number {
    return this.#placesByArea.get(areaId) ?? 0;
  }
}
