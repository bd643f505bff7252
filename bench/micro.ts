/**
 * `npm run bench:micro`: what single steps cost in this process, without HTTP and without a disk:
 * a two-seat lock decided, applied and encoded, its decoding, and a page of the seats listing.
 */
import { Bench } from "tinybench";
import { listSeats } from "../engine/seat-listing.ts";
import { Batch } from "../persistence/batch.ts";
import { Hall } from "./hall.ts";

const SEATS = Number(process.argv[2] ?? 23_200);
const IS_TRIAL = process.env["BENCH_TRIAL"] === "1";

const hall = new Hall(SEATS);
const bench = new Bench(IS_TRIAL ? { iterations: 1, time: 0, warmup: false } : {});
const batch = new Batch();
const prices = hall.engine.state.catalog.pricesOf(hall.eventId);
const page = { sort: [], offset: SEATS / 2, limit: 100 };
const byState = { ...page, sort: [{ property: "state", descending: true }] } as const;

bench
  .add("lock and unlock of two seats: decide and apply", () => {
    hall.lockAndUnlock();
    hall.taken();
  })
  .add("lock and unlock of two seats: decide, apply and encode", () => {
    hall.lockAndUnlock();
    for (const { timeMs, record } of hall.taken()) batch.add(timeMs, record);
    batch.clear();
  })
  .add("a page of 100 seats, by id", () => void listSeats(hall.partition, prices, page))
  .add("a page of 100 seats, by state, two changed since", () => {
    hall.lockAndUnlock();
    hall.taken();
    listSeats(hall.partition, prices, byState);
  });

await bench.run();
if (hall.heldSeats() > 0) throw new Error("a seat was left locked: no result");
process.stdout.write(`${SEATS} seats\n`);
for (const { name, result } of bench.tasks) {
  if (result.state !== "completed") throw new Error(`${name} did not complete`);
  const nanoseconds = (result.latency.p50 * 1e6).toFixed(0);
  process.stdout.write(`${name}: p50 ${nanoseconds} ns\n`);
}
