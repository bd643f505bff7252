/**
 * `npm run bench:memory`: what a process needs at all, for a seat beyond the layout that all events
 * of a schema share, and for a hold. The whole is measured from outside, on a `frontrow serve` that
 * is filled over HTTP; a seat and a hold in this process, after garbage collection.
 */
import { Command } from "commander";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { startServer, TENANT_TOKEN } from "./contenders/frontrow.ts";
import { buildHouse, countStates, openShow } from "./contenders/house.ts";
import { Hall } from "./in-process/hall.ts";
import { usedBytes } from "./in-process/used-bytes.ts";
import { conditionsNow } from "./rounds/conditions.ts";
import { keepResult, print, verdict, verdictTable } from "./rounds/results.ts";

interface Options {
  readonly events: number;
  readonly seats: number;
  readonly holds: number;
  readonly folder: string;
}

const options = new Command("bench:memory")
  .description("Bytes of a seat, of a hold, and of a process that does nothing yet.")
  .option("--events <number>", "events of one hall", Number, 1_000)
  .option("--seats <number>", "seats of the hall", Number, 50_000)
  .option("--holds <number>", "holds alive, of two seats each", Number, 500_000)
  .option("--folder <path>", "where the server keeps its data", os.tmpdir())
  .parse()
  .opts<Options>();

const MIB = 1_024 * 1_024;
const SEAT_BYTES_MAX = 24;
const GOAL_SEATS = 50_000_000;

const resident = await fillServer();
const seatCount = options.events * options.seats;
const { seatBytes, holdBytes } = measureEngine();
const layout = resident.first - resident.base;
print(`base: ${mib(resident.base)} MiB resident, no event\n`);
print(`first event of ${options.seats} seats, with its layout: ${mib(layout)} MiB more\n`);
print(`${options.events} events, ${seatCount} seats: ${mib(resident.all)} MiB resident, `);
print(`${mib(resident.peak)} at most\n`);
print(`a seat of a further event, beyond the layout: ${seatBytes.toFixed(1)} bytes\n`);
print(`a hold of two seats, with a session of its own: ${holdBytes.toFixed(0)} bytes\n\n`);
const isWhole = seatCount >= GOAL_SEATS;
const verdicts = [
  verdict("bytes of a seat beyond the layout", { atMost: SEAT_BYTES_MAX }, seatBytes),
  verdict(
    "MiB at most of 50 M seats, one process",
    { atMost: 2_048 },
    isWhole ? resident.peak / MIB : null,
  ),
];
print(verdictTable(verdicts));
const figures = { ...resident, seatBytes, holdBytes, ...options };
await keepResult("memory", { conditions: conditionsNow(options.folder), verdicts, figures });

/** Resident bytes of a server without events, with one, with all, and at the worst moment. */
async function fillServer() {
  const folder = await mkdtemp(path.join(options.folder, "frontrow-memory-"));
  const server = await startServer(folder);
  try {
    const residentNow = () => statusOf(server.pid, "VmRSS");
    const base = residentNow();
    const house = await buildHouse(server.url, TENANT_TOKEN, options.seats);
    let last = await openShow(house);
    const first = residentNow();
    for (let event = 1; event < options.events; event++) last = await openShow(house);
    const counts = await countStates(server.url, last);
    if (counts.get("ACTIVE") !== house.seatIds.length) throw new Error("no result: seats missing");
    return { base, first, all: residentNow(), peak: statusOf(server.pid, "VmHWM") };
  } finally {
    await server.stop();
    await rm(folder, { recursive: true });
  }
}

/** @param field - Of Linux's `/proc/<pid>/status`, in bytes. */
function statusOf(pid: number, field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${field}:\\s*(\\d+) kB`, "m").exec(status)![1]) * 1_024;
}

/** What the engine keeps of each, counted where garbage can be told from what is kept. */
function measureEngine(): { seatBytes: number; holdBytes: number } {
  const { seats, holds } = options;
  const hall = new Hall(seats);
  const perShow = seats >> 1;
  const shows = [hall.openShow()];
  const withOne = usedBytes();
  while (shows.length <= Math.ceil(holds / perShow)) shows.push(hall.openShow());
  const withAll = usedBytes();
  for (let i = 0; i < holds; i++) {
    hall.submit(hall.booking("lock", shows[Math.floor(i / perShow)]!, (i % perShow) * 2));
  }
  const withHolds = usedBytes();
  const counted = shows.reduce((sum, show) => sum + hall.partitionOf(show).holds.count, 0);
  if (counted !== holds) throw new Error(`no result: ${counted} holds`);
  return {
    seatBytes: (withAll - withOne) / ((shows.length - 1) * seats),
    holdBytes: (withHolds - withAll) / holds,
  };
}

function mib(bytes: number): string {
  return (bytes / MIB).toFixed(1);
}
