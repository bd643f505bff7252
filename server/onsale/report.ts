/** The report of a run: one plain object, and its text. Prints nothing. */
import { type CheckResult, countSeats, nameSome } from "./books/check.ts";
import type { SalesRecord } from "./books/sales-record.ts";
import type { SaleEnd } from "./crowd/sale.ts";
import type { Inventory } from "./http/inventory-reader.ts";
import { BOOKING_CALLS, type Latency, type Statistics } from "./statistics.ts";
import { formatCount, formatCountOf, type Paint } from "./terminal.ts";

const LABEL_WIDTH = 10;
const NUMBER_WIDTH = 12;

export interface RunResult {
  readonly eventId: string;
  readonly seed: number;
  readonly endedBy: SaleEnd;
  /** Duration of the sale, without setup and final check. */
  readonly seconds: number;
  /** Answered requests of the sale. */
  readonly requests: number;
  readonly outages: number;
  readonly record: SalesRecord;
  readonly after: Inventory;
  readonly statistics: Statistics;
  readonly checks: readonly CheckResult[];
}

/** Counts of seats and of general-admission places. */
interface Counts {
  readonly seats: number;
  readonly places: number;
}

/** The object that `--json` prints. Members may be added, but not renamed or removed. */
export type Report = ReturnType<typeof buildReport>;
type Facts = ReturnType<typeof collectFacts>;
type HeldObject = Facts["heldByOthers"][number];

export function buildReport(result: RunResult) {
  const facts = collectFacts(result);
  return { headline: headlineOf(facts), ...facts };
}

function collectFacts({ record, after, statistics, checks, ...run }: RunResult) {
  const left = {
    free: { seats: countSeats(after.seats, "ACTIVE"), places: countPlaces(after, "active") },
    held: { seats: countSeats(after.seats, "LOCKED"), places: countPlaces(after, "locked") },
  };
  return {
    ...run,
    /** Nothing is free or held any more. */
    soldOut: total(left.free) + total(left.held) === 0,
    sold: { seats: record.seatCount, places: record.placeCount },
    /** Seats of which two buyers got a confirmation. */
    soldTwice: record.seatIdsSoldTwice.size,
    left,
    /** `id` is the id of a seat, or of an area if there are `places`. */
    heldByOthers: findHeld(after),
    buyers: statistics.buyers,
    refused: Object.fromEntries(statistics.refusals),
    requestsPerSecond: Math.round(run.requests / run.seconds),
    serverErrors: Object.fromEntries(statistics.serverErrors),
    throttled: statistics.throttled,
    unsent: statistics.unsent,
    unknownOutcomes: statistics.unknownOutcomes,
    latency: {
      lock: statistics.latency("lock"),
      sale: statistics.latency("sale"),
      unlock: statistics.latency("unlock"),
    },
    checks,
    passed: checks.every(({ passed }) => passed),
  };
}

function countPlaces({ areas }: Inventory, counter: "active" | "locked"): number {
  const priced = areas.filter(({ priceId }) => priceId !== undefined);
  return priced.reduce((places, area) => places + area[counter], 0);
}

/** The buyers of the run hold nothing at the end, so every hold belongs to another session. */
function findHeld({ seats, areas }: Inventory) {
  const heldSeats = seats.filter(({ state }) => state === "LOCKED");
  const heldAreas = areas.filter(({ priceId, locked }) => priceId !== undefined && locked > 0);
  return [
    ...heldSeats.map(({ seatId: id, sectionName, rowName, seatName }) => {
      return { name: `${sectionName}, row ${rowName}, seat ${seatName}`, id, places: undefined };
    }),
    ...heldAreas.map(({ groupOfSeatsId: id, name, locked: places }) => ({ name, id, places })),
  ];
}

function headlineOf(facts: Facts): string {
  const { sold, left, passed, soldOut, soldTwice, seconds } = facts;
  if (passed && soldOut && total(sold) === 0) return "NOTHING TO SELL: no seat or place was left";
  const parts = [
    `${formatCountOf(total(sold), "ticket")} in ${seconds.toFixed(1)} s`,
    total(left.free) > 0 ? `${formatCount(total(left.free))} still free` : "",
    total(left.held) > 0 ? `${formatCount(total(left.held))} held by others` : "",
    `${formatCount(soldTwice)} sold twice`,
  ];
  return `${verdictOf(facts)}: ${parts.filter((part) => part !== "").join(", ")}`;
}

function verdictOf({ checks, soldOut, endedBy }: Facts): string {
  const failedCount = checks.filter(({ passed }) => !passed).length;
  if (failedCount > 0) return `${failedCount} OF ${checks.length} CHECKS FAILED`;
  if (soldOut) return "SOLD OUT";
  return endedBy === "TIME_LIMIT" ? "TIME LIMIT REACHED" : "NOT SOLD OUT";
}

export function formatReport(report: Report, paint: Paint): string {
  const { sold, left, buyers, passed, soldOut, latency } = report;
  const color = passed ? (soldOut ? "green" : "yellow") : "red";
  const held = report.heldByOthers.map(heldLabel);
  const served = [
    `${formatCount(buyers.bought)} bought`,
    `${formatCount(buyers.gaveUp)} gave up`,
    `${formatCount(buyers.emptyHanded)} found nothing left`,
  ];
  const rate = `${formatCount(report.requestsPerSecond)} per second`;
  return [
    paint("bold", paint(color, report.headline)),
    "",
    formatLine("event", `${report.eventId}, seed ${report.seed}`),
    formatLine("sold", formatCounts(sold)),
    formatLine("left", `${formatCounts(left.free)} free; ${formatCounts(left.held)} held`),
    ...(held.length === 0 ? [] : [formatLine("held", nameSome(held))]),
    formatLine("buyers", `${formatCount(buyers.served)}: ${served.join(", ")}`),
    formatLine("refused", formatCauses(Object.entries(report.refused))),
    formatLine("requests", `${formatCount(report.requests)}, ${rate}`),
    formatLine("errors", formatCauses(errorsOf(report))),
    "",
    formatRow("", ["count", "p50 ms", "p99 ms", "p99.9 ms", "max ms"]),
    ...BOOKING_CALLS.map((call) => formatRow(call, latencyCells(latency[call]))),
    "",
    ...report.checks.map((check) => formatCheck(check, paint)),
  ].join("\n");
}

function heldLabel({ name, id, places }: HeldObject): string {
  return places === undefined ? `${name} (id ${id})` : `${name}: ${formatCountOf(places, "place")}`;
}

/** What went wrong without failing a check. The buyers resolved every unknown outcome. */
function errorsOf(report: Report): [string, number][] {
  return [
    ...Object.entries(report.serverErrors),
    ["429", report.throttled],
    ["waits for the server", report.outages],
    ["requests lost before sending", report.unsent],
    ["unknown outcomes (all resolved)", report.unknownOutcomes],
  ];
}

function formatLine(label: string, value: string): string {
  return label.padEnd(LABEL_WIDTH) + value;
}

function formatRow(label: string, cells: readonly string[]): string {
  return formatLine(label, cells.map((cell) => cell.padStart(NUMBER_WIDTH)).join(""));
}

function latencyCells({ count, p50Ms, p99Ms, p999Ms, maxMs }: Latency): string[] {
  return [formatCount(count), ...[p50Ms, p99Ms, p999Ms, maxMs].map((ms) => ms.toFixed(3))];
}

function formatCheck({ name, passed, detail }: CheckResult, paint: Paint): string {
  const finding = detail === "" ? "" : ` (${detail})`;
  return `check: ${passed ? paint("green", "ok  ") : paint("red", "FAIL")} ${name}${finding}`;
}

function formatCounts({ seats, places }: Counts): string {
  return `${formatCountOf(seats, "seat")}, ${formatCountOf(places, "place")}`;
}

function formatCauses(causes: readonly (readonly [string, number])[]): string {
  const parts = causes.flatMap(([name, n]) => (n === 0 ? [] : [`${name} × ${formatCount(n)}`]));
  return parts.length === 0 ? "none" : parts.join(", ");
}

function total({ seats, places }: Counts): number {
  return seats + places;
}
