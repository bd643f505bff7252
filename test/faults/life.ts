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
import { Admission } from "../../engine/ports.ts";
import type { State } from "../../engine/state.ts";
import { openDataFolder } from "../../persistence/data-folder.ts";
import { realDisk } from "../../persistence/disk.ts";
import type { LogFailed } from "../../persistence/faults.ts";
import { openState } from "../../persistence/open-state.ts";
import { realScheduler, type Scheduler } from "../../persistence/scheduler.ts";
import { ServiceClock } from "../../persistence/service-clock.ts";
import { buildSnapshot } from "../../persistence/snapshot-build.ts";
import { openThread } from "../../persistence/snapshot-thread.ts";
import { Snapshots, TURN_MS } from "../../persistence/snapshots.ts";
import type { KeptRecord } from "../support/engine.ts";

export interface LifeOptions {
  readonly folder: string;
  /** File of the records, as `serialize` wrote them. */
  readonly records: string;
  readonly segmentBytes: number;
  readonly snapshotBytes: number;
  readonly batchRecords: number;
  /** The last record that is appended; it stays alive there when `stays`. */
  readonly until: number;
  readonly stays: boolean;
}

/** What waits a second in a service waits so much shorter here. */
const HASTE = 60;
const RETRY_MS = 5;

const options = JSON.parse(process.argv[2]!) as LifeOptions;
const records = deserialize(fs.readFileSync(options.records)) as readonly KeptRecord[];

const hasty: Scheduler = {
  ...realScheduler,
  later: (delayMs, task) => realScheduler.later(delayMs / HASTE, task),
};

async function live(): Promise<void> {
  const { folder } = options;
  const clock = new ServiceClock();
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
  const snapshots = new Snapshots({
    state,
    log: journal,
    clock,
    scheduler: hasty,
    open: (base) => openThread({ folder, storeId, base }),
    everyBytes: options.snapshotBytes,
    turnMs: TURN_MS,
    start,
    onReport: ({ failure }) =>
      say(failure === null ? "snapshot" : `no snapshot: ${failure.message}`),
  });
  await appendAll(state, snapshots, report.sequence);
  if (options.stays) await stay();
  await snapshots.stop();
  await journal.close();
  snapshots.last((base, images, last) => buildSnapshot({ ...place, base }, images, last));
  dataFolder.close();
  say("closed");
}

/** Batch by batch: each is waited for before the next. */
async function appendAll(state: State, snapshots: Snapshots, from: number): Promise<void> {
  let sequence = from;
  let onDurable = () => {};
  snapshots.durable = (upTo) => {
    say(`durable ${upTo}`);
    if (upTo === sequence) onDurable();
  };
  while (sequence < options.until) {
    await admitted(snapshots);
    const isDurable = new Promise<void>((resolve) => (onDurable = resolve));
    const last = Math.min(options.until, sequence + options.batchRecords);
    while (sequence < last) {
      const { record, timeMs } = records[sequence]!;
      sequence += 1;
      snapshots.append(sequence, timeMs, record);
      apply(state, record, timeMs);
    }
    await isDurable;
  }
}

async function admitted(snapshots: Snapshots): Promise<void> {
  if (snapshots.admission() === Admission.OPEN) return;
  say("refused");
  while (snapshots.admission() !== Admission.OPEN) await delay(RETRY_MS);
  say("resumed");
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
