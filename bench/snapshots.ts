/**
 * `npm run bench:snapshots`: how much a snapshot slows the engine: the longest pause of its thread,
 * and the rate of bookings during a snapshot compared with the rate without one, in turns.
 */
import { setTimeout } from "node:timers/promises";
import { checkState } from "../engine/verify/check.ts";
import type { SnapshotReport } from "../persistence/snapshot/options.ts";
import { openEngine } from "../persistence/store/open-engine.ts";
import { folder, inTemporaryFolder, number, parseOptions } from "./harness/command.ts";
import { medianOf } from "./harness/measure.ts";
import { print, table } from "./harness/table.ts";
import { book, putOnSale } from "./in-process/bookings.ts";

const POLL_MS = 10;

type CompletedSnapshot = Extract<SnapshotReport, { failure: null }>;

const options = parseOptions(
  "bench:snapshots",
  "Measures pauses and throughput of an engine that books while it makes snapshots.",
  {
    events: number(1, "events; all of them change between snapshots"),
    seats: number(50_000, "seats of each event"),
    rounds: number(7, "rounds, each with a snapshot and without one"),
    records: number(400_000, "records of each half of a round"),
    folder,
  },
);

const { events, seats, rounds, records } = options;
const { ratios, snapshots } = await inTemporaryFolder(options.folder, measure);
const [first = 0, ...later] = snapshots.map(({ pauseMsMax }) => pauseMsMax);
const rows = [
  ["seconds of a snapshot, median", medianOf(snapshots.map(({ seconds }) => seconds)).toFixed(2)],
  ["longest pause in the first snapshot, ms", first.toFixed(2)],
  ["longest pause in later snapshots, ms", Math.max(0, ...later).toFixed(2)],
  ["throughput during a snapshot ÷ without", medianOf(ratios).toFixed(2)],
];
print(table([`${events} x ${seats} seats, ${rounds} snapshots`, ""], rows));

async function measure(data: string) {
  const completed: CompletedSnapshot[] = [];
  const store = await openEngine({
    folder: data,
    snapshotBytes: Infinity,
    onSnapshot: (report) => {
      if (report.failure !== null) throw report.failure;
      completed.push(report);
    },
  });
  const onSale = await putOnSale(store, events, seats);
  const seconds = async () => {
    const startedMs = performance.now();
    await book(onSale, records);
    return (performance.now() - startedMs) / 1_000;
  };
  await seconds();
  const slowdowns: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const without = await seconds();
    const count = completed.length;
    store.requestSnapshot();
    slowdowns.push(without / (await seconds()));
    while (completed.length === count) await setTimeout(POLL_MS);
  }
  checkState(store.engine.state);
  const result = { ratios: slowdowns, snapshots: completed.slice(0, rounds) };
  await store.close();
  return result;
}
