/**
 * `npm run bench:snapshots`: what a snapshot costs the engine while it works: the longest pause of
 * its thread, and bookings a second during snapshots against those without, in turns.
 */
import { Command } from "commander";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { checkState } from "../engine/verify/check.ts";
import type { SnapshotReport } from "../persistence/snapshot/options.ts";
import { openEngine } from "../persistence/store/open-engine.ts";
import { book, type OnSale, putOnSale } from "./full-store.ts";

interface Options {
  readonly events: number;
  readonly seats: number;
  readonly rounds: number;
  readonly records: number;
  readonly folder: string;
}

type Made = Extract<SnapshotReport, { failure: null }>;

const options = new Command("bench:snapshots")
  .description("Pauses and throughput of an engine that books while it makes snapshots.")
  .option("--events <number>", "events, all of which change between snapshots", Number, 1)
  .option("--seats <number>", "seats of each", Number, 50_000)
  .option("--rounds <number>", "rounds, each with a snapshot and without", Number, 7)
  .option("--records <number>", "records of a round", Number, 400_000)
  .option("--folder <path>", "where the store is made, and removed again", os.tmpdir())
  .parse()
  .opts<Options>();

const folder = fs.mkdtempSync(path.join(options.folder, "frontrow-snapshots-"));
const made: Made[] = [];
let onReport: () => void = () => undefined;
const store = await openEngine({
  folder,
  snapshotBytes: Infinity,
  onSnapshot: (report) => {
    if (report.failure !== null) throw report.failure;
    made.push(report);
    onReport();
  },
});
try {
  const onSale = await putOnSale(store, options.events, options.seats);
  await book(store, onSale, options.records);
  const ratios: number[] = [];
  for (let round = 0; round < options.rounds; round++) {
    const without = await rate(onSale);
    const end = new Promise<void>((resolve) => {
      onReport = resolve;
    });
    store.requestSnapshot();
    ratios.push((await rate(onSale)) / without);
    await end;
  }
  checkState(store.engine.state);
  print(ratios);
} finally {
  await store.close();
  fs.rmSync(folder, { recursive: true });
}

/** @returns Records a second. */
async function rate(onSale: OnSale): Promise<number> {
  const startMs = performance.now();
  await book(store, onSale, options.records);
  return (options.records * 1_000) / (performance.now() - startMs);
}

function print(ratios: readonly number[]): void {
  const { events, seats, rounds } = options;
  const [first, ...later] = made.slice(0, rounds).map(({ pauseMsMax }) => pauseMsMax);
  const seconds = median(made.slice(0, rounds).map((report) => report.seconds));
  const ratio = median(ratios).toFixed(2);
  process.stdout.write(
    `${events} x ${seats} seats, ${rounds} snapshots of ${seconds.toFixed(2)} s\n` +
      `longest pause: ${first?.toFixed(2)} ms in the first snapshot, ` +
      `${Math.max(...later).toFixed(2)} ms in later ones\n` +
      `throughput during a snapshot / without: ${ratio}\n`,
  );
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
