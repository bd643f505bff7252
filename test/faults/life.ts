/**
 * One life of a store, as a program of its own: recovery, commits, segment changes, snapshots in
 * the real thread, and a shutdown. It opens the store as `openEngine` does, but with small
 * segments, so that all of this happens within a few hundred operations of the disk, and with given
 * records, so that its starter knows the state after each of them.
 *
 * It reports on standard output, line by line: `recovered 12`, `durable 15`, `refused`, `resumed`,
 * `snapshot` or `no snapshot: why`, `waiting` when it has come to its last record and is to stay,
 * `closed`.
 */
import fs from "node:fs";
import { deserialize } from "node:v8";
import { Admission } from "../../engine/ports.ts";
import type { StoreFault } from "../../persistence/disk/faults.ts";
import { realScheduler, type Scheduler } from "../../persistence/disk/clock.ts";
import { openStore, type OpenStore } from "../../persistence/store/open-store.ts";
import { realPlatform } from "../../persistence/store/platform.ts";
import type { KeptRecord } from "../support/engine.ts";
import { RecordFeed } from "../support/store.ts";

export interface LifeOptions {
  readonly folder: string;
  /** File of the records, as `serialize` wrote them. */
  readonly records: string;
  readonly segmentBytes: number;
  readonly snapshotBytes: number;
  /**
   * A snapshot is also begun at so many records, and waited for a little later: so that each life
   * goes through the same steps. Null for none.
   */
  readonly snapshotRecords: number | null;
  readonly batchRecords: number;
  /** The last record that is appended; it stays alive there when `stays`. */
  readonly until: number;
  readonly stays: boolean;
}

/** Divides the waits of a service: a second becomes 17 ms. */
const HASTE = 60;
const RETRY_MS = 5;
const KEPT_ALIVE_MS = 1_000;
/** Written while a snapshot is in the making. */
const BATCHES_BESIDE = 3;

const options = JSON.parse(process.argv[2]!) as LifeOptions;
const records = deserialize(fs.readFileSync(options.records)) as readonly KeptRecord[];

const hasty: Scheduler = {
  ...realScheduler,
  later: (delayMs, task) => realScheduler.later(delayMs / HASTE, task),
  // The holds of the records end by records.
  every: () => () => {},
};

async function live(): Promise<void> {
  // As the listening socket of a service does: the threads of a store keep no process alive.
  const alive = setInterval(() => {}, KEPT_ALIVE_MS);
  const { folder, segmentBytes, snapshotBytes } = options;
  let pace: Pace | null = null;
  const store = await openStore(
    { ...realPlatform, scheduler: hasty },
    {
      folder,
      segmentBytes,
      snapshotBytes,
      onFailure: end,
      onSnapshot: ({ failure }) => {
        say(failure === null ? "snapshot" : `no snapshot: ${failure.message}`);
        pace?.told();
      },
    },
  );
  say(`recovered ${store.report.sequence}`);
  pace = new Pace(store);
  await appendAll(store, pace);
  if (options.stays) await stay();
  await store.close();
  clearInterval(alive);
  say("closed");
}

/** Begins snapshots at given records, and waits for each of them some batches later. */
class Pace {
  told: () => void = () => {};
  readonly #store: OpenStore;
  #made: Promise<void> | null = null;
  #batchesLeft = 0;

  constructor(store: OpenStore) {
    this.#store = store;
  }

  /** To be called after each batch. */
  async after(firstSequence: number, lastSequence: number): Promise<void> {
    const { snapshotRecords } = options;
    if (snapshotRecords === null) return;
    const stepOf = (sequence: number) => Math.floor(sequence / snapshotRecords);
    if (this.#made !== null) {
      this.#batchesLeft -= 1;
      if (this.#batchesLeft > 0) return;
      await this.#made;
      this.#made = null;
    } else if (stepOf(firstSequence - 1) < stepOf(lastSequence)) {
      this.#made = new Promise((resolve) => (this.told = resolve));
      this.#batchesLeft = BATCHES_BESIDE;
      this.#store.snapshots.request();
    }
  }
}

/** Batch by batch, as far as there is space: each is waited for before the next. */
async function appendAll(store: OpenStore, pace: Pace): Promise<void> {
  let onDurable = () => {};
  const feed = new RecordFeed(store, records, (upTo) => {
    say(`durable ${upTo}`);
    if (upTo === feed.sequence) onDurable();
  });
  let wasRefused = false;
  while (feed.sequence < options.until) {
    const isDurable = new Promise<void>((resolve) => (onDurable = resolve));
    const first = feed.sequence + 1;
    const last = Math.min(options.until, feed.sequence + options.batchRecords);
    while (feed.sequence < last && feed.append() === Admission.OPEN);
    const isRefused = feed.sequence < first;
    if (isRefused !== wasRefused) say(isRefused ? "refused" : "resumed");
    wasRefused = isRefused;
    if (isRefused) {
      await delay(RETRY_MS);
      continue;
    }
    await isDurable;
    await pace.after(first, feed.sequence);
  }
}

function stay(): Promise<void> {
  say("waiting");
  return new Promise((resolve) => process.on("SIGTERM", resolve));
}

/** Handed to the system before it returns, so that it outlives this process. */
function say(line: string): void {
  fs.writeSync(1, `${line}\n`);
}

function end(fault: StoreFault): void {
  process.stderr.write(`${fault.message}\n`);
  process.exit(fault.exitCode);
}

function delay(delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, delayMs);
  });
}

try {
  await live();
} catch (error) {
  const { message, exitCode = 1 } = error as { message: string; exitCode?: number };
  process.stderr.write(`${message}\n`);
  process.exit(exitCode);
}
