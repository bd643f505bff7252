/**
 * `npm run bench:micro`: what single steps cost in this process, without HTTP and without a disk.
 * Short steps are measured two hundred at a time, for a clock is slower than they are.
 */
import { Bench } from "tinybench";
import { apply } from "../engine/apply.ts";
import { decide } from "../engine/decide.ts";
import { seatFacts } from "../engine/queries/place-facts.ts";
import { listSeats } from "../engine/queries/seat-listing.ts";
import type { LogRecord } from "../engine/records.ts";
import { ByteReader, ByteWriter } from "../persistence/log/bytes.ts";
import { decodeRecords, encodeRecord } from "../persistence/log/codec.ts";
import { BOOKING_ROUTES } from "../server/routes/booking.ts";
import { checksOf } from "../server/routing/validate.ts";
import { parseJson } from "../server/wire/json.ts";
import { seatView } from "../server/wire/views.ts";
import { type Booking, Hall, shuffled } from "./in-process/hall.ts";
import { conditionsNow } from "./rounds/conditions.ts";
import { keepResult, print, verdict, verdictTable } from "./rounds/results.ts";
import { isTrial } from "./rounds/trial.ts";

const SEATS = Number(process.argv[2] ?? 23_200);
const BATCH = Math.min(200, SEATS >> 1);
const TIME_MS = Date.now();
/** Long enough for the compiler to have done its work for most of it. */
const TASK_MS = 1_500;
/** Prototype: state change and record 65 to 100 ns, with everything around it to be under this. */
const LOCK_NS_MAX = 250;

const hall = new Hall(SEATS);
const show = hall.openShow();
const { engine } = hall;
const { state } = engine;
const partition = hall.partitionOf(show);
const firsts = shuffled(SEATS >> 1)
  .slice(0, BATCH)
  .map((pair) => pair * 2);
const locks = firsts.map((first) => hall.booking("lock", show, first));
// The last hold ends first, so that the next lock takes the same slots again.
const unlocks = firsts.map((first) => hall.booking("unlock", show, first)).toReversed();
const lockRecords = recordsOf(locks);
const unlockRecords = recordsOf(unlocks);
const bodies = locks.map(({ body }) => Buffer.from(JSON.stringify(body)));
const out = new ByteWriter(64 * 1_024);
const payload = Buffer.from(encoded());
const route = BOOKING_ROUTES.find(({ path }) => path.endsWith("/lock"))!;
const checks = checksOf(route);
const prices = state.catalog.pricesOf(show);
const page = { sort: [], offset: SEATS / 2, limit: 100 };
const byState = { ...page, sort: [{ property: "state", descending: true }] } as const;

const WHOLE = "a lock of two seats decided, applied and encoded";
const bench = new Bench(isTrial ? { iterations: 1, time: 0, warmup: false } : { time: TASK_MS });
bench
  .add(`${BATCH} x ${WHOLE}`, () => submitAll(locks), {
    async: false,
    afterEach: () => submitAll(unlocks),
  })
  .add(`${BATCH} x a lock of two seats decided`, () => {
    for (const lock of locks) decide(state, lock, TIME_MS);
  })
  .add(`${BATCH} x a lock of two seats applied`, () => applyAll(lockRecords), {
    async: false,
    afterEach: () => applyAll(unlockRecords),
  })
  .add(`${BATCH} x a record encoded`, () => void encoded())
  .add(`${BATCH} x a record decoded`, () => {
    decodeRecords(new ByteReader(payload), 1, BATCH, () => undefined);
  })
  .add(`${BATCH} x a body read in place`, () => {
    for (const body of bodies) if (route.readBody!(body) === null) throw new Error("not read");
  })
  .add(`${BATCH} x a body parsed and checked, where it cannot be read in place`, () => {
    for (const body of bodies) parsed(body);
  })
  .add("1 x a page of 100 seats, by id", () => void listSeats(partition, prices, page))
  .add("1 x the same page as JSON", () => {
    const { seats } = listSeats(partition, prices, page);
    JSON.stringify(seats.map((seat) => seatView(seatFacts(partition, prices, seat), true)));
  })
  .add(
    "1 x a page of 100 seats, by state, two changed since",
    () => void listSeats(partition, prices, byState),
    {
      async: false,
      beforeEach: () => {
        hall.submit(locks[0]!);
        hall.submit(hall.booking("unlock", show, firsts[0]!));
      },
    },
  );

await bench.run();
if (partition.holds.count > 0) throw new Error("a seat was left locked: no result");
const costs = bench.tasks.map(({ name, result }) => {
  if (result.state !== "completed") throw new Error(name, { cause: result });
  const [count = "1", step = ""] = name.split(" x ");
  return { step, nanoseconds: (result.latency.p50 * 1e6) / Number(count) };
});
print(`${SEATS} seats\n`);
for (const { step, nanoseconds } of costs) print(`${step}: p50 ${nanoseconds.toFixed(0)} ns\n`);
const lockNs = costs.find(({ step }) => step === WHOLE)!.nanoseconds;
const verdicts = [
  verdict("in process, two-seat lock with record encoded, ns", { atMost: LOCK_NS_MAX }, lockNs),
];
print(`\n${verdictTable(verdicts)}`);
await keepResult("micro", { conditions: conditionsNow("/"), verdicts, costs });

function submitAll(bookings: readonly Booking[]): void {
  for (const booking of bookings) hall.submit(booking);
}

function applyAll(records: readonly LogRecord[]): void {
  for (const record of records) apply(state, record, TIME_MS);
}

/** What the bookings come to, one after the other. */
function recordsOf(bookings: readonly Booking[]): LogRecord[] {
  return bookings.map((booking) => {
    const decision = decide(state, booking, TIME_MS);
    if (!("record" in decision) || decision.record === null) throw new Error("refused");
    apply(state, decision.record, TIME_MS);
    return decision.record;
  });
}

/** The records of the locks as they lie in a frame; valid until the next call. */
function encoded(): Buffer {
  out.length = 0;
  for (const record of lockRecords) encodeRecord(out, TIME_MS, record);
  return out.bytes.subarray(0, out.length);
}

function parsed(body: Buffer): void {
  const value = parseJson(body);
  if (!value.ok || checks.body(value.value, body.length).length > 0) throw new Error("refused");
}
