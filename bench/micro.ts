/**
 * `npm run bench:micro`: the cost of single steps in this process, without HTTP and without a disk.
 * Short steps are measured 200 at a time, because reading the clock takes longer than they do.
 */
import { apply } from "../engine/apply.ts";
import { decide } from "../engine/commands.ts";
import { listedEvent, listSeats, seatFacts } from "../engine/queries/seats.ts";
import type { LogRecord } from "../engine/records.ts";
import { ByteWriter } from "../persistence/log/bytes.ts";
import { decodeRecords, encodeRecord } from "../persistence/log/codec.ts";
import { BOOKING_ROUTES } from "../server/routes/booking.ts";
import { checksOf } from "../server/api/validate.ts";
import { parseJson } from "../server/http/json.ts";
import { seatView } from "../server/api/entities.ts";
import { isTrial, number, parseOptions } from "./harness/command.ts";
import { measureSteps, newSteps, print, report, table, verdict } from "./harness/results.ts";
import { measureBest } from "./in-process/best.ts";
import { type Booking, EngineVenue, shuffled } from "./in-process/engine-venue.ts";

const { seats: seatCount, rows } = parseOptions(
  "bench:micro",
  "Measures single steps of a booking and of the seats listing in one process.",
  {
    seats: number(23_200, "seats of the event"),
    rows: number(28, "rows of each block of the stadium: 28 for 80,640 seats"),
  },
);
const BATCH = Math.min(200, seatCount >> 1);
const TIME_MS = Date.now();
/** Long enough that most of it runs optimized code. */
const TASK_MS = 1_500;
/** A prototype took 65 to 100 ns for the state change and the record alone. */
const LOCK_NS_MAX = 250;
/** Of the slowest case of the best places: 99 of 100 calls. */
const [BEST_US_MAX, NO_BEST_US_MAX] = [50, 500];
/** Of each case. */
const BEST_CALLS = 5_000;

const venue = EngineVenue.inMemory(seatCount);
const eventId = venue.openEvent();
const { state } = venue.engine;
/** The same venue again, to which records are applied without its engine. */
const twin = EngineVenue.inMemory(seatCount);
twin.openEvent();
let { sequence } = twin.engine;
const partition = venue.partitionOf(eventId);
const firsts = shuffled(seatCount >> 1)
  .slice(0, BATCH)
  .map((pair) => pair * 2);
const locks = firsts.map((first) => venue.booking("lock", eventId, first));
// In reverse order, so that the next locks use the same hold slots again.
const unlocks = firsts.map((first) => venue.booking("unlock", eventId, first)).toReversed();
const lockRecords = recordsOf(locks);
const unlockRecords = recordsOf(unlocks);
const bodies = locks.map(({ body }) => Buffer.from(JSON.stringify(body)));
const out = new ByteWriter(64 * 1_024);
const payload = Buffer.from(encoded());
const route = BOOKING_ROUTES.find(({ path }) => path.endsWith("/lock"))!;
const checks = checksOf(route);
const listed = listedEvent(state, state.catalog.events.get(eventId)!);
const page = { sort: [], offset: seatCount / 2, limit: 100 };
const byState = { ...page, sort: [{ property: "state", descending: true }] } as const;

const WHOLE = "decide, apply and encode a lock of two seats";
const bookingSteps = newSteps(1, TASK_MS)
  .add(WHOLE, () => submitAll(locks), { async: false, afterEach: () => submitAll(unlocks) })
  .add("decide a lock of two seats", () => {
    for (const lock of locks) decide(state, lock, TIME_MS);
  })
  .add("apply a lock of two seats", () => applyAll(lockRecords), {
    async: false,
    afterEach: () => applyAll(unlockRecords),
  })
  .add("encode a record", () => void encoded())
  .add("decode a record", () => {
    decodeRecords(payload, 1, BATCH, () => undefined);
  })
  .add("read a body in place", () => {
    for (const body of bodies) if (route.readBody!(body) === null) throw new Error("not read");
  })
  .add("parse and validate a body that cannot be read in place", () => {
    for (const body of bodies) parsed(body);
  });
const pageSteps = newSteps(1, TASK_MS)
  .add("list a page of 100 seats, by id", () => void listSeats(listed, page))
  .add("list the same page as JSON", () => {
    const { seats } = listSeats(listed, page);
    JSON.stringify(seats.map((seat) => seatView(seatFacts(listed, seat), true)));
  })
  .add(
    "list a page of 100 seats, by state, after two changes",
    () => void listSeats(listed, byState),
    {
      async: false,
      beforeEach: () => {
        venue.submit(locks[0]!);
        venue.submit(venue.booking("unlock", eventId, firsts[0]!));
      },
    },
  );

const title = `${seatCount} seats`;
const costs = await measureSteps(title, bookingSteps, { unit: "ns", batch: BATCH });
const pageCosts = await measureSteps(title, pageSteps, { unit: "ns" });
if (partition.holds.count > 0) throw new Error("a seat is still locked");
const figure = "two-seat lock in process, including the record, ns";
const places = measureBest(rows, isTrial ? 50 : BEST_CALLS);
const cellsOf = (times: { p50: number; p99: number } | null) =>
  times === null ? ["", ""] : [times.p50.toFixed(1), times.p99.toFixed(1)];
const head = ["best places in a stadium, µs", "granted", "p99", "refused", "p99"];
const rowsOfCases = places.map(({ name, granted, refused }) => [
  name,
  ...cellsOf(granted),
  ...cellsOf(refused),
]);
print(`\n${table(head, rowsOfCases)}`);
const slowest = (outcome: "granted" | "refused") =>
  Math.max(...places.map((place) => place[outcome]?.p99 ?? 0));
const verdicts = [
  verdict(figure, { atMost: LOCK_NS_MAX }, costs.get(WHOLE)!),
  verdict(
    "best places in a stadium, granted, p99 in µs",
    { atMost: BEST_US_MAX },
    slowest("granted"),
  ),
  verdict(
    "best places in a stadium, refused, p99 in µs",
    { atMost: NO_BEST_US_MAX },
    slowest("refused"),
  ),
];
const steps = [...costs, ...pageCosts].map(([step, nanoseconds]) => ({ step, nanoseconds }));
await report("micro", "/", { verdicts, costs: steps, places });

function submitAll(bookings: readonly Booking[]): void {
  for (const booking of bookings) venue.submit(booking);
}

function applyAll(records: readonly LogRecord[]): void {
  const timeMs = Date.now();
  for (const record of records) apply(twin.engine.state, record, timeMs, ++sequence);
}

/** Submits the bookings. @returns Their records. */
function recordsOf(bookings: readonly Booking[]): LogRecord[] {
  return bookings.map((booking) => {
    const decision = decide(state, booking, TIME_MS);
    if (!("record" in decision) || decision.record === null) throw new Error("refused");
    venue.submit(booking);
    return decision.record;
  });
}

/** The records of the locks as in a frame of the log; valid until the next call. */
function encoded(): Buffer {
  out.length = 0;
  for (const record of lockRecords) encodeRecord(out, TIME_MS, record);
  return out.bytes.subarray(0, out.length);
}

function parsed(body: Buffer): void {
  const value = parseJson(body);
  if (!value.ok || checks.body(value.value, body.length).length > 0) throw new Error("refused");
}
