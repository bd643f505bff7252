/**
 * `npm run bench:memory`: the memory of a process, of a free and of a sold seat beyond the layout
 * shared by all events of a schema, and of a hold. The process is a `frontrow serve` filled over
 * HTTP; seats and holds are measured in this process, after garbage collection.
 */
import v8 from "node:v8";
import vm from "node:vm";
import { SeatState } from "../engine/inventory/states.ts";
import { startServer } from "./contenders/frontrow.ts";
import { countSeats, createVenue, openEvent } from "./contenders/venue.ts";
import { folder, inTemporaryFolder, number, parseOptions } from "./harness/command.ts";
import { memoryOf } from "./harness/measure.ts";
import { print, report, table, verdict, withCommas } from "./harness/results.ts";
import { EngineVenue } from "./in-process/engine-venue.ts";

const MIB = 1_024 * 1_024;
const SEAT_BYTES_MAX = 26;
const MIB_MAX = 2_048;
const GOAL_SEATS = 50_000_000;

v8.setFlagsFromString("--expose-gc");
const collectGarbage = vm.runInNewContext("gc") as () => void;

const options = parseOptions(
  "bench:memory",
  "Measures the bytes of a free and of a sold seat, of a hold, and of a whole process.",
  {
    events: number(1_000, "events of one venue"),
    seats: number(50_000, "seats of each event"),
    holds: number(500_000, "active holds of two seats each"),
    folder,
  },
);

const { events, seats, holds } = options;
const resident = await inTemporaryFolder(options.folder, measureServer);
const inventory = measureEngine();
const mib = (bytes: number) => `${(bytes / MIB).toFixed(1)} MiB`;
const allSeats = events * seats;
const rows = [
  ["process without events", mib(resident.base)],
  [`first event of ${seats} seats, with its layout`, mib(resident.first - resident.base)],
  [`process with ${events} events, ${withCommas(allSeats)} seats`, mib(resident.all)],
  ["process at its peak", mib(resident.peak)],
  ["free seat of a further event, beyond the layout", `${inventory.seatBytes.toFixed(1)} bytes`],
  ["sold seat, beyond the layout", `${inventory.soldSeatBytes.toFixed(1)} bytes`],
  ["hold of two seats, with a session of its own", `${inventory.holdBytes.toFixed(0)} bytes`],
];
print(table(["memory", ""], rows));
const peakMib = allSeats >= GOAL_SEATS ? resident.peak / MIB : null;
const verdicts = [
  verdict(
    "bytes per sold seat beyond the layout",
    { atMost: SEAT_BYTES_MAX },
    inventory.soldSeatBytes,
  ),
  verdict("peak MiB of one process with 50 million seats", { atMost: MIB_MAX }, peakMib),
];
const figures = { ...resident, ...inventory, events, seats, holds };
await report("memory", options.folder, { verdicts, figures });

/** Resident bytes of a server without events, with one event, with all, and at its peak. */
async function measureServer(data: string) {
  const server = await startServer(data);
  const bytesOf = (line: "VmRSS" | "VmHWM") => memoryOf(server.pid, line)! * MIB;
  const residentNow = () => bytesOf("VmRSS");
  const base = residentNow();
  const venue = await createVenue(server.url, seats);
  let last = await openEvent(venue);
  const first = residentNow();
  for (let event = 1; event < events; event++) last = await openEvent(venue);
  const counts = await countSeats(server.url, last);
  if (counts.get("free") !== venue.seatIds.length) throw new Error("seats are missing");
  const result = { base, first, all: residentNow(), peak: bytesOf("VmHWM") };
  await server.stop();
  return result;
}

/** Half of the events is held, half is sold; the first one only compiles the code for a sale. */
function measureEngine() {
  const venue = EngineVenue.inMemory(seats);
  const pairs = seats >> 1;
  venue.sell(venue.openEvent(), [...venue.seatIds.keys()]);
  const withOne = usedBytes();
  const count = Math.ceil(holds / pairs);
  const held = Array.from({ length: count }, () => venue.openEvent());
  const sold = Array.from({ length: count }, () => venue.openEvent());
  const withAll = usedBytes();
  for (let i = 0; i < holds; i++) {
    venue.submit(venue.booking("lock", held[Math.floor(i / pairs)]!, (i % pairs) * 2));
  }
  const withHolds = usedBytes();
  if (venue.holdCount(held) !== holds) throw new Error("holds are missing");
  for (const eventId of sold) venue.sell(eventId, [...venue.seatIds.keys()]);
  const isSold = (eventId: string) =>
    venue.partitionOf(eventId).seatsIn[SeatState.SOLD] === venue.seatIds.length;
  if (!sold.every(isSold)) throw new Error("sold seats are missing");
  const seatBytes = (withAll - withOne) / (2 * count * seats);
  return {
    seatBytes,
    soldSeatBytes: seatBytes + (usedBytes() - withHolds) / (count * seats),
    holdBytes: (withHolds - withAll) / holds,
  };
}

/** Bytes of the heap and of buffers. After a single collection they differ by megabytes a run. */
function usedBytes(): number {
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
