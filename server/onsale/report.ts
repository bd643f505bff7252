/** The report of a run: one plain object for machines, aligned lines for people. Prints nothing. */

import type { Book } from "./books/book.ts";
import { countSeats, type Verdict } from "./books/check.ts";
import type { Inventory } from "./books/listing.ts";
import { type AreaCounters, SeatState } from "./contract.ts";
import { BOOKING_CALLS, type BookingCall, type Latency, type Tally } from "./tally.ts";

const MS_PER_SECOND = 1_000;
const LABEL_WIDTH = 22;
const NUMBER_WIDTH = 12;

/** Counts of seats and of general-admission places. */
interface Inventories {
  readonly seats: number;
  readonly places: number;
}

/** The shape of `--json`. Times in ms or s as their names say, counts of the sale alone. */
export interface Report {
  readonly eventId: string;
  readonly seed: number;
  readonly seconds: number;
  /** Nothing is free or held any more. */
  readonly soldOut: boolean;
  readonly sold: Inventories;
  readonly left: { readonly free: Inventories; readonly held: Inventories };
  readonly buyers: Tally["buyers"];
  readonly refused: Readonly<Record<string, number>>;
  readonly requests: number;
  readonly requestsPerSecond: number;
  readonly serverErrors: Readonly<Record<string, number>>;
  readonly throttled: number;
  readonly unsent: number;
  readonly unknownOutcomes: number;
  readonly outages: number;
  readonly latency: Readonly<Record<BookingCall, Latency>>;
  readonly checks: readonly Verdict[];
  readonly passed: boolean;
}

export interface RunResult {
  readonly eventId: string;
  readonly seed: number;
  readonly durationMs: number;
  readonly requests: number;
  readonly outages: number;
  readonly book: Book;
  readonly after: Inventory;
  readonly tally: Tally;
  readonly verdicts: readonly Verdict[];
}

export function buildReport(result: RunResult): Report {
  const { book, after, tally, verdicts } = result;
  const seconds = result.durationMs / MS_PER_SECOND;
  const left = {
    free: countLeft(after, SeatState.ACTIVE, "active"),
    held: countLeft(after, SeatState.LOCKED, "locked"),
  };
  return {
    eventId: result.eventId,
    seed: result.seed,
    seconds,
    soldOut: [left.free, left.held].every(({ seats, places }) => seats + places === 0),
    sold: { seats: book.seatCount, places: book.placeCount },
    left,
    buyers: tally.buyers,
    refused: Object.fromEntries(tally.refusals),
    requests: result.requests,
    requestsPerSecond: Math.round(result.requests / seconds),
    serverErrors: Object.fromEntries(tally.serverErrors),
    throttled: tally.throttled,
    unsent: tally.unsent,
    unknownOutcomes: tally.unknownOutcomes,
    outages: result.outages,
    latency: {
      lock: tally.latency("lock"),
      sale: tally.latency("sale"),
      unlock: tally.latency("unlock"),
    },
    checks: verdicts,
    passed: verdicts.every(({ passed }) => passed),
  };
}

export function formatReport(report: Report): string {
  const { sold, left, buyers } = report;
  const served = `${count(buyers.served)} served: ${count(buyers.bought)} bought, `;
  const lines = [
    line("event", report.eventId),
    line("seed", String(report.seed)),
    line("time", `${report.seconds.toFixed(2)} s`),
    line("sold", inventories(sold)),
    line("left free", inventories(left.free)),
    line("left held", inventories(left.held)),
    line("buyers", `${served}${count(buyers.gaveUp)} gave up, ${count(buyers.emptyHanded)} left`),
    line("refused", counts(report.refused)),
    line("requests", `${count(report.requests)}, ${count(report.requestsPerSecond)} a second`),
    line("answers 5xx", counts(report.serverErrors)),
    line("answers 429", count(report.throttled)),
    line("waits for the server", count(report.outages)),
    line("unknown outcomes", `${count(report.unknownOutcomes)}, all settled`),
    line("requests sent again", count(report.unsent)),
    "",
    tableRow("", ["count", "p50 ms", "p99 ms", "p99.9 ms", "max ms"]),
    ...BOOKING_CALLS.map((call) => tableRow(call, latencyCells(report.latency[call]))),
    "",
    ...report.checks.map(verdictLine),
  ];
  return lines.join("\n");
}

function countLeft(
  { seats, areas }: Inventory,
  state: SeatState,
  counter: "active" | "locked",
): Inventories {
  const sum = (total: number, area: AreaCounters) =>
    area.priceId === null ? total : total + area[counter];
  return { seats: countSeats(seats, state), places: areas.reduce(sum, 0) };
}

function line(label: string, value: string): string {
  return label.padEnd(LABEL_WIDTH) + value;
}

function tableRow(label: string, cells: readonly string[]): string {
  return line(label, cells.map((cell) => cell.padStart(NUMBER_WIDTH)).join(""));
}

function latencyCells({ count: total, p50Ms, p99Ms, p999Ms, maxMs }: Latency): string[] {
  return [count(total), ...[p50Ms, p99Ms, p999Ms, maxMs].map((ms) => ms.toFixed(3))];
}

function verdictLine({ name, passed, detail }: Verdict): string {
  const finding = detail === "" ? "" : ` (${detail})`;
  return `check: ${passed ? "ok  " : "FAIL"} ${name}${finding}`;
}

function inventories({ seats, places }: Inventories): string {
  return `${count(seats)} seats, ${count(places)} places`;
}

function counts(byName: Readonly<Record<string, number>>): string {
  const parts = Object.entries(byName).map(([name, number]) => `${name} ${count(number)}`);
  return parts.length === 0 ? "0" : parts.join(", ");
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}
