/**
 * One life of a store, as a program of its own: recovery, commits, segment changes, snapshots in
 * the real thread, and an end in order. Composed as `openEngine` does, but with small segments, so
 * that all of it happens within a few hundred operations of the disk, and with records that are
 * given, so that whoever started it knows the state after each.
 *
 * It says on standard output, line by line: `recovered 12`, `durable 15`, `refused`, `resumed`,
 * `snapshot` or `no snapshot: why`, `waiting` when it has come to its last record and is to stay,
 * `closed`.
 */
import fs from "node:fs";
import { deserialize } from "node:v8";
import { apply } from "../../engine/apply.ts";
import { Admission, LogSpace } from "../../engine/ports.ts";
import type { State } from "../../engine/state.ts";
import { openDataFolder } from "../../persistence/disk/data-folder.ts";
import { realDisk } from "../../persistence/disk/disk.ts";
import type { LogFailed } from "../../persistence/disk/faults.ts";
import { realScheduler, type Scheduler } from "../../persistence/disk/scheduler.ts";
import { realTime, ServiceClock } from "../../persistence/disk/service-clock.ts";
import { buildSnapshot } from "../../persistence/snapshot/build.ts";
import { Snapshots, TURN_MS } from "../../persistence/snapshot/snapshots.ts";
import { SnapshotThread } from "../../persistence/snapshot/thread.ts";
import { openState } from "../../persistence/store/open-state.ts";
import type { KeptRecord } from "../support/engine.ts";

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

/** What waits a second in a service waits so much shorter here. */
const HASTE = 60;
const RETRY_MS = 5;
/** Written while a snapshot is in the making. */
const BATCHES_BESIDE = 3;

const options = JSON.parse(process.argv[2]!) as LifeOptions;
const records = deserialize(fs.readFileSync(options.records)) as readonly KeptRecord[];

const hasty: Scheduler = {
  ...realScheduler,
  later: (delayMs, task) => realScheduler.later(delayMs / HASTE, task),
};

async function live(): Promise<void> {
  const { folder } = options;
  const clock = new ServiceClock(realTime);
  const dataFolder = openDataFolder({ disk: realDisk, folder, clock });
  const { storeId } = dataFolder;
  const place = { disk: realDisk, folder, storeId };
  const { state, journal, report, start } = await openState({
    ...place,
    mustExist: dataFolder.hasLog,
    clock,
    scheduler: hasty,
    onFailure: end,
    segmentBytes: options.segmentBytes,
  });
  if (!dataFolder.hasLog) dataFolder.keepHasLog();
  say(`recovered ${report.sequence}`);
  const thread = new SnapshotThread({ folder, storeId });
  const snapshots = new Snapshots({
    state,
    log: journal,
    clock,
    scheduler: hasty,
    open: (base, onWritten) => thread.begin(base, onWritten),
    isSound: () => true,
    everyBytes: options.snapshotBytes,
    turnMs: TURN_MS,
    start,
    onReport: ({ failure }) => {
      say(failure === null ? "snapshot" : `no snapshot: ${failure.message}`);
      pace.told();
    },
  });
  const pace = new Pace(snapshots);
  await appendAll({ state, snapshots, pace }, report.sequence);
  if (options.stays) await stay();
  await snapshots.stop();
  await journal.close();
  await thread.close();
  snapshots.last((parts) => buildSnapshot(place, parts));
  dataFolder.close();
  say("closed");
}

/** Begins snapshots at given records, and waits for each of them some batches later. */
class Pace {
  told: () => void = () => {};
  readonly #snapshots: Snapshots;
  #made: Promise<void> | null = null;
  #batchesLeft = 0;

  constructor(snapshots: Snapshots) {
    this.#snapshots = snapshots;
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
      this.#snapshots.request();
    }
  }
}

interface Parts {
  readonly state: State;
  readonly snapshots: Snapshots;
  readonly pace: Pace;
}

/** Batch by batch, as far as there is room: each is waited for before the next. */
async function appendAll({ state, snapshots, pace }: Parts, from: number): Promise<void> {
  let sequence = from;
  let onDurable = () => {};
  snapshots.durable = (upTo) => {
    say(`durable ${upTo}`);
    if (upTo === sequence) onDurable();
  };
  let wasRefused = false;
  while (sequence < options.until) {
    const isDurable = new Promise<void>((resolve) => (onDurable = resolve));
    const first = sequence + 1;
    const last = Math.min(options.until, sequence + options.batchRecords);
    while (sequence < last) {
      const { record, timeMs } = records[sequence]!;
      const admission = snapshots.append(sequence + 1, timeMs, record, LogSpace.GENERAL);
      if (admission !== Admission.OPEN) break;
      sequence += 1;
      apply(state, record, timeMs);
    }
    const isRefused = sequence < first;
    if (isRefused !== wasRefused) say(isRefused ? "refused" : "resumed");
    wasRefused = isRefused;
    if (isRefused) {
      await delay(RETRY_MS);
      continue;
    }
    await isDurable;
    await pace.after(first, sequence);
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

function end(fault: LogFailed): void {
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
