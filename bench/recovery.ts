/**
 * `npm run bench:recovery`: how long a start takes, from a log alone and from a snapshot. Each
 * store is filled by one process that ends, and recovered by others; the state that comes back must
 * have the digest of the one that went.
 */
import { Command } from "commander";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { live } from "./in-process/live.ts";
import type { Life } from "./recovery-child.ts";

interface Options {
  readonly records: string;
  readonly events: number;
  readonly seats: number;
  readonly rounds: number;
  readonly folder: string;
}

/** Seats of the one event whose bookings make up the long logs. */
const HALL_SEATS = 23_200;
/** Bookings behind the snapshot: none, for it is made at the end. */
const SNAPSHOT_RECORDS = 1_000;

const options = new Command("bench:recovery")
  .description("Seconds from a data folder to an engine that could take requests.")
  .option("--records <list>", "lengths of logs without a snapshot", "1000000,10000000")
  .option("--events <number>", "events in the snapshot", Number, 100)
  .option("--seats <number>", "seats of each of them", Number, 50_000)
  .option("--rounds <number>", "recoveries of each store", Number, 3)
  .option("--folder <path>", "where the stores are made, and removed again", os.tmpdir())
  .parse()
  .opts<Options>();

const lengths = options.records.split(",").filter((text) => text !== "");
for (const text of lengths) {
  const records = Number(text);
  const seconds = await measure({ events: 1, seats: HALL_SEATS, records }, false);
  print(`${records.toLocaleString("en")} records of the log`, seconds);
}
const { events, seats } = options;
const seconds = await measure({ events, seats, records: SNAPSHOT_RECORDS }, true);
print(`a snapshot of ${events} events of ${seats.toLocaleString("en")} seats`, seconds);

/** @returns Seconds of each recovery. */
async function measure(
  fill: NonNullable<Life["fill"]>,
  fromSnapshot: boolean,
): Promise<readonly number[]> {
  const folder = fs.mkdtempSync(path.join(options.folder, "frontrow-recovery-"));
  try {
    const filled = await live({ folder, fill, closes: fromSnapshot });
    const rounds: number[] = [];
    for (let round = 0; round < options.rounds; round++) {
      const opened = await live({ folder, closes: false });
      const isRight =
        opened.digest === filled.digest && (opened.snapshot !== null) === fromSnapshot;
      if (!isRight) throw new Error("another state came back: no result");
      rounds.push(opened.seconds);
    }
    return rounds;
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

function print(what: string, rounds: readonly number[]): void {
  const sorted = rounds.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)]!;
  const texts = [median, sorted[0]!, sorted.at(-1)!].map((value) => value.toFixed(2));
  process.stdout.write(`${what}: ${texts[0]} s (${texts[1]} to ${texts[2]})\n`);
}
