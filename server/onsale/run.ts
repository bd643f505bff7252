/** One run from the first request to the report: set up, read, sell, read again, check. */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { visible } from "../../engine/names.ts";
import { type CheckResult, checkSale, countSeats, Ledger, nameSome, SalesRecord } from "./books.ts";
import {
  ApiClient,
  FatalError,
  type Inventory,
  InventoryReader,
  RetryPolicy,
  SocketTransport,
  Transport,
} from "./client.ts";
import {
  BookingClient,
  type HoldWait,
  Sale,
  type SaleEnd,
  type Services,
  WaitingRoom,
} from "./crowd.ts";
import { Door } from "./door.ts";
import { checkDoor, type DoorFigures, doorFigures } from "./door-check.ts";
import { InventoryView } from "./inventory-view.ts";
import type { OnsaleOptions } from "./options.ts";
import { Random } from "./random.ts";
import { BOOKING_CALLS, type BookingCall, type Latency, Statistics } from "./statistics.ts";
import { formatCount, formatCountOf, type Paint, paintFor } from "./terminal.ts";

const MS_PER_SECOND = 1_000;
/** A server that does not answer at the start is more likely a wrong address than a restart. */
const START_MS_MAX = 10_000;
/** After the time limit: to settle what is held, and to read everything for the check. */
const END_MS_MAX = 60_000;

/**
 * @param stream - Gets the event, and on a terminal the progress.
 * @throws FatalError if the run cannot continue.
 */
async function runOnsale(options: OnsaleOptions, stream: NodeJS.WriteStream): Promise<Report> {
  const ledger = options.ledger === undefined ? undefined : new Ledger(options.ledger);
  const statistics = new Statistics();
  const transport = new Transport(options, statistics);
  const socket = options.socket === true ? new SocketTransport(options, statistics) : null;
  const retryPolicy = new RetryPolicy(transport, new Random(options.seed));
  const services = { transport: socket ?? transport, retryPolicy, statistics, ledger };
  try {
    return await play(options, stream, { services, transport });
  } finally {
    retryPolicy.allow(0);
    socket?.destroy();
    await transport.destroy();
    ledger?.close();
  }
}

async function play(
  options: OnsaleOptions,
  stream: NodeJS.WriteStream,
  { services, transport }: { readonly services: Services; readonly transport: Transport },
): Promise<Report> {
  const { retryPolicy } = services;
  const { target } = options;
  const client = new ApiClient(transport, retryPolicy);
  retryPolicy.allow(START_MS_MAX);
  await retryPolicy.waitUntilReady();
  const eventId = "eventId" in target ? target.eventId : await createEvent(client, target.layout);
  stream.write(`event ${eventId}\n`);
  const door = options.door === true ? await Door.of(client, eventId, options) : null;
  try {
    if (door !== null) {
      stream.write(`door opens at ${door.opensAt}\n`);
      retryPolicy.allow(door.msToOpening + END_MS_MAX);
      await door.open(options.buyers);
    }
    return await sell(options, stream, { services, client, eventId, door });
  } finally {
    await door?.close();
  }
}

/** An event on sale. */
interface Opened {
  readonly services: Services;
  readonly client: ApiClient;
  readonly eventId: string;
  readonly door: Door | null;
}

async function sell(
  options: OnsaleOptions,
  stream: NodeJS.WriteStream,
  { services, client, eventId, door }: Opened,
): Promise<Report> {
  const { retryPolicy, statistics } = services;
  const limitMs = options.seconds * MS_PER_SECOND;
  retryPolicy.allow(limitMs + END_MS_MAX);
  const reader = new InventoryReader(client, eventId);
  const before = await reader.readAll();
  const view = new InventoryView(before);
  const record = new SalesRecord();
  const bookings = new BookingClient(services, eventId, view);
  const room = new WaitingRoom(() => door?.stop());
  const sale = new Sale({ ...services, bookings, view, room, record, door }, reader, options);

  const requestsBefore = statistics.requests;
  const totalCount = view.openCount;
  const startMs = performance.now();
  const progressLine = new ProgressLine(stream, () => ({
    soldCount: record.seatCount + record.placeCount,
    totalCount,
    msLeft: startMs + limitMs - performance.now(),
    p99Ms: statistics.takeRecentP99Ms(),
    holdWait: sale.holdWait,
  }));
  const endedBy = await sale.run().finally(() => progressLine.stop());
  const seconds = (performance.now() - startMs) / MS_PER_SECOND;
  const requests = statistics.requests - requestsBefore;

  retryPolicy.allow(END_MS_MAX);
  const after = await reader.readAll();
  const { holdsLost, serverErrors, refusals } = statistics;
  const saleChecks = checkSale({ record, before, after, holdsLost, serverErrors });
  const met = await door?.finish();
  const doorChecks = met === undefined ? [] : checkDoor(met, refusals);
  const { outages } = retryPolicy;
  const { seed, best: isBest = false } = options;
  return buildReport({
    eventId,
    seed,
    isBest,
    endedBy,
    seconds,
    requests,
    outages,
    record,
    after,
    statistics,
    checks: [...saleChecks, ...doorChecks],
    door: met === undefined ? null : doorFigures(met),
  });
}

// Creates an event on sale from a layout file: venue, schema, layout, event, prices.

const MS_PER_DAY = 86_400_000;
const EVENT_DAYS_AHEAD = 30;
const EVENT_NAME = "On-sale rehearsal";
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);

/** An object that the server created or stored, with its id. */
interface Stored<Id = number> {
  readonly id: Id;
  readonly name: string;
}

/**
 * Reads a layout, plain or compressed with gzip, whatever the file's name.
 * @throws the system's error, or a SyntaxError if the content is not JSON.
 */
export function readLayoutFile(path: string): string {
  const bytes = readFileSync(path);
  const isGzip = bytes.subarray(0, GZIP_MAGIC.length).equals(GZIP_MAGIC);
  const text = (isGzip ? gunzipSync(bytes) : bytes).toString();
  JSON.parse(text);
  return text;
}

/** @returns The id of a new event with one price for each section and area. */
export async function createEvent(client: ApiClient, layout: string): Promise<string> {
  const post = <Body>(path: string, body: object) =>
    client.write<Body>("POST", path, JSON.stringify(body));
  const venue = await post<Stored>("/venues/", { name: EVENT_NAME });
  const schema = await post<Stored>("/schemas/", { name: EVENT_NAME, venueId: venue.id });
  const layoutPath = `/schemas/${schema.id}/layout`;
  const { sectors } = await client.write<{ sectors: Stored[] }>("PUT", layoutPath, layout);
  const event = await post<Stored<string>>("/events/", {
    name: EVENT_NAME,
    start: localDateTime(EVENT_DAYS_AHEAD),
    endDate: localDateTime(EVENT_DAYS_AHEAD + 1),
    schemaId: schema.id,
  });
  const pricesPath = `/event/${event.id}/prices/`;
  const names = sectors.map(({ name }) => ({ name, eventId: event.id }));
  const prices = await post<readonly Stored[]>(pricesPath, names);
  const priceIdByName = new Map(prices.map((price) => [price.name, price.id]));
  const groupOfSeats = sectors.map(({ id, name }) => ({
    objectId: id,
    assignmentId: priceIdByName.get(name),
    activeCount: null,
  }));
  await post<boolean>(`${pricesPath}assignments/`, { seats: [], groupOfSeats });
  return event.id;
}

/** A local date-time without offset, as the interface expects it. */
function localDateTime(daysAhead: number): string {
  return new Date(Date.now() + daysAhead * MS_PER_DAY).toISOString().slice(0, 19);
}

// Runs a sale and prints its report.

/** @returns Whether all checks passed. */
export async function runAndPrint(options: OnsaleOptions, asJson: boolean): Promise<boolean> {
  const { stdout, stderr } = process;
  try {
    const report = await runOnsale(options, stderr);
    stdout.write(
      `${asJson ? visible(JSON.stringify(report)) : formatReport(report, paintFor(stdout))}\n`,
    );
    return report.passed;
  } catch (error) {
    if (!(error instanceof FatalError)) throw error;
    stderr.write(`error: ${visible(error.message)}\n`);
    return false;
  }
}

// The report of a run: one plain object, and its text. Prints nothing.

const LABEL_WIDTH = 10;
const NUMBER_WIDTH = 12;

export interface RunResult {
  readonly eventId: string;
  readonly seed: number;
  /** The server chose the places. */
  readonly isBest: boolean;
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
  readonly door: DoorFigures | null;
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

function buildReport(result: RunResult) {
  const facts = collectFacts(result);
  return { headline: headlineOf(facts), ...facts };
}

function collectFacts({ record, after, statistics, checks, ...run }: RunResult) {
  const ticketCount = record.seatCount + record.placeCount;
  const refusalCount = [...statistics.refusals.values()].reduce((sum, n) => sum + n, 0);
  const left = {
    free: { seats: countSeats(after.seats, "ACTIVE"), places: countPlaces(after, "active") },
    held: { seats: countSeats(after.seats, "LOCKED"), places: countPlaces(after, "locked") },
  };
  return {
    ...run,
    /** Nothing is free or held any more. */
    soldOut: totalOf(left.free) + totalOf(left.held) === 0,
    sold: { seats: record.seatCount, places: record.placeCount },
    /** Seats of which two buyers got a confirmation. */
    soldTwice: record.seatIdsSoldTwice.size,
    left,
    /** `id` is the id of a seat, or of an area if there are `places`. */
    heldByOthers: findHeld(after),
    buyers: statistics.buyers,
    refused: Object.fromEntries(statistics.refusals),
    ticketsPerSecond: Math.round(ticketCount / run.seconds),
    /** Null without a ticket. */
    refusalsPerTicket: ticketCount === 0 ? null : refusalCount / ticketCount,
    requestsPerSecond: Math.round(run.requests / run.seconds),
    serverErrors: Object.fromEntries(statistics.serverErrors),
    throttled: statistics.throttled,
    unsent: statistics.unsent,
    unknownOutcomes: statistics.unknownOutcomes,
    latency: {
      lock: statistics.latency("lock"),
      best: statistics.latency("best"),
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
  if (passed && soldOut && totalOf(sold) === 0) return "NOTHING TO SELL: no seat or place was left";
  const parts = [
    `${formatCountOf(totalOf(sold), "ticket")} in ${seconds.toFixed(1)} s`,
    totalOf(left.free) > 0 ? `${formatCount(totalOf(left.free))} still free` : "",
    totalOf(left.held) > 0 ? `${formatCount(totalOf(left.held))} held by others` : "",
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

function formatReport(report: Report, paint: Paint): string {
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
    ...(held.length === 0 ? [] : [formatLine("held", visible(nameSome(held)))]),
    formatLine("buyers", `${formatCount(buyers.served)}: ${served.join(", ")}`),
    formatLine("refused", formatCauses(Object.entries(report.refused))),
    formatLine("tickets", formatTickets(report)),
    ...(report.door === null ? [] : [formatLine("door", formatDoor(report.door))]),
    formatLine("requests", `${formatCount(report.requests)}, ${rate}`),
    formatLine("errors", formatCauses(errorsOf(report))),
    "",
    formatRow("", ["count", "p50 ms", "p99 ms", "p99.9 ms", "max ms"]),
    ...callsOf(report).map((call) => formatRow(call, latencyCells(latency[call]))),
    "",
    ...report.checks.map((check) => formatCheck(check, paint)),
  ].join("\n");
}

function heldLabel({ name, id, places }: HeldObject): string {
  return places === undefined ? `${name} (id ${id})` : `${name}: ${formatCountOf(places, "place")}`;
}

function formatTickets({ ticketsPerSecond, refusalsPerTicket }: Report): string {
  const rate = `${formatCount(ticketsPerSecond)} per second`;
  if (refusalsPerTicket === null) return rate;
  return `${rate}, ${refusalsPerTicket.toFixed(3)} refusals per ticket`;
}

function formatDoor({ visitors, drawn, invited, perMinute, insideMost }: DoorFigures): string {
  const joined = `${formatCountOf(visitors, "visitor")}, ${formatCount(drawn)} drawn`;
  const rate = `${formatCount(invited)} invited at ${formatCount(perMinute)} a minute`;
  return `${joined}; ${rate}; at most ${formatCount(insideMost)} inside`;
}

/** The calls of such buyers. */
function callsOf({ isBest }: Report): BookingCall[] {
  const other = isBest ? "lock" : "best";
  return BOOKING_CALLS.filter((call) => call !== other);
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

function totalOf({ seats, places }: Counts): number {
  return seats + places;
}

// The progress line of a run, for a terminal.

const DRAW_INTERVAL_MS = 250;
/** The rate is the average over this many intervals. */
const RATE_INTERVALS = 8;
const BAR_COLUMNS_MIN = 10;
const BAR_COLUMNS_MAX = 40;
/** The width of a terminal that does not report one. */
const COLUMNS_DEFAULT = 80;
const ERASE_TO_END_OF_LINE = "\u001B[K";

export interface SaleProgress {
  /** Seats and places bought in this run. */
  readonly soldCount: number;
  /** Seats and places that were free or held at the start. */
  readonly totalCount: number;
  /** Time until the limit. */
  readonly msLeft: number;
  /** p99 of the booking calls since the previous draw; undefined without calls. */
  readonly p99Ms: number | undefined;
  readonly holdWait: HoldWait | undefined;
}

type Figures = SaleProgress & { readonly perSecond: number };

class ProgressLine {
  readonly #stream: NodeJS.WriteStream;
  readonly #paint: Paint;
  readonly #readProgress: () => SaleProgress;
  #timer: NodeJS.Timeout | undefined;
  /** The last draws, oldest first. */
  readonly #samples: { readonly atMs: number; readonly soldCount: number }[] = [];
  #p99Ms: number | undefined;

  /** Draws the line regularly until `stop`. Draws nothing if the stream is not a terminal. */
  constructor(stream: NodeJS.WriteStream, readProgress: () => SaleProgress) {
    this.#stream = stream;
    this.#paint = paintFor(stream);
    this.#readProgress = readProgress;
    if (!stream.isTTY) return;
    this.#timer = setInterval(() => this.#draw(), DRAW_INTERVAL_MS);
    this.#draw();
  }

  /** Erases the line. */
  stop(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#stream.write(`\r${ERASE_TO_END_OF_LINE}`);
  }

  #draw(): void {
    const progress = this.#readProgress();
    this.#p99Ms = progress.p99Ms ?? this.#p99Ms;
    const now = { atMs: performance.now(), soldCount: progress.soldCount };
    this.#samples.push(now);
    if (this.#samples.length > RATE_INTERVALS + 1) this.#samples.shift();
    const { atMs, soldCount } = this.#samples[0]!;
    const perSecond = ((now.soldCount - soldCount) / (now.atMs - atMs || 1)) * MS_PER_SECOND;
    const columns = this.#stream.columns || COLUMNS_DEFAULT;
    const figures = { ...progress, p99Ms: this.#p99Ms, perSecond };
    const line = formatProgress(figures, columns, this.#paint);
    this.#stream.write(`\r${line}${ERASE_TO_END_OF_LINE}`);
  }
}

/** @returns A line shorter than the terminal is wide, so that the next draw overwrites it. */
export function formatProgress(figures: Figures, columns: number, paint: Paint): string {
  const { soldCount, totalCount, holdWait } = figures;
  const share = totalCount === 0 ? 1 : soldCount / totalCount;
  const total = formatCount(totalCount);
  const text = [
    `${Math.floor(share * 100)} %`.padStart(6),
    `${formatCount(soldCount).padStart(total.length)} of ${total} sold`,
    holdWait === undefined ? formatRates(figures) : formatHoldWait(holdWait),
  ].join("  ");
  const barColumns = Math.min(BAR_COLUMNS_MAX, columns - 1 - text.length);
  if (barColumns < BAR_COLUMNS_MIN) return text.trimStart().slice(0, columns - 1);
  const filled = Math.round(share * barColumns);
  return paint("cyan", "█".repeat(filled)) + "░".repeat(barColumns - filled) + text;
}

/** Padded, so that the bar keeps its width. */
function formatRates({ soldCount, totalCount, msLeft, p99Ms, perSecond }: Figures): string {
  const saleMs = ((totalCount - soldCount) / perSecond) * MS_PER_SECOND;
  const eta = perSecond > 0 ? formatSeconds(Math.min(saleMs, msLeft)) : "-";
  const p99 = p99Ms === undefined ? "-" : `${p99Ms.toFixed(1)} ms`;
  const rate = `${formatCount(perSecond)}/s`;
  return `${rate.padStart(7)}  ETA ${eta.padStart(5)}  p99 ${p99.padStart(9)}`;
}

function formatHoldWait({ count, msLeft }: HoldWait): string {
  return `waiting ${formatSeconds(msLeft)} for ${formatCount(count)} held by others`;
}

function formatSeconds(durationMs: number): string {
  return `${Math.ceil(Math.max(0, durationMs) / MS_PER_SECOND)} s`;
}
