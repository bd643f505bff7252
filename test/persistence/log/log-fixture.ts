/** The log of a store under test: distinct records, manual time, and a process. */
import { isDeepStrictEqual } from "node:util";
import { Move } from "../../../engine/inventory/states.ts";
import { Admission, type Clock, LogSpace, type TooLong } from "../../../engine/ports.ts";
import { ActorKind, RecordType, type LogRecord, type MoveRecord } from "../../../engine/records.ts";
import type { Disk } from "../../../persistence/disk/disk.ts";
import type { StoreFault } from "../../../persistence/disk/faults.ts";
import type { Scheduler } from "../../../persistence/disk/clock.ts";
import type { CommitFrame } from "../../../persistence/log/frame.ts";
import { openLog, type RecoveryReport } from "../../../persistence/log/recover.ts";
import { FakeDisk } from "../../support/disk/fake-disk.ts";
import { untilDeath } from "../../support/disk/process-disk.ts";

export const STORE_ID = "0b0e7a3c-5d1f-4c3e-9a52-6f0d3c1b2a49";
const SEGMENT_BYTES = 64 * 1024;
const START_MS = 1_790_000_000_000;

export type Files = ReadonlyMap<string, Buffer>;

/** Time advanced only by the test; `soon` runs at the end of the current turn. */
export class ManualTime implements Scheduler, Clock {
  #nowMs = START_MS;
  #waiting: { readonly dueMs: number; readonly task: () => void }[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  soon(task: () => void): void {
    queueMicrotask(() => untilDeath(task));
  }

  later(delayMs: number, task: () => void): () => void {
    const entry = { dueMs: this.#nowMs + delayMs, task };
    this.#waiting.push(entry);
    return () => {
      this.#waiting = this.#waiting.filter((other) => other !== entry);
    };
  }

  /** Periodic tasks never run here. */
  every(): () => void {
    return () => {};
  }

  /** Advances the time, runs the due tasks, and waits until their effects are done. */
  async pass(delayMs: number): Promise<void> {
    this.#nowMs += delayMs;
    const due = this.#waiting.filter((entry) => entry.dueMs <= this.#nowMs);
    this.#waiting = this.#waiting.filter((entry) => entry.dueMs > this.#nowMs);
    for (const entry of due) untilDeath(entry.task);
    await settle();
  }
}

/** Waits until the disk in memory is idle: all its work is in microtasks. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The record with the given sequence number; no two are equal. */
export function recordOf(sequence: number, extraBytes = 0): MoveRecord {
  return {
    type: RecordType.MOVE,
    actor: { kind: ActorKind.ORGANIZATION, id: 7 },
    partition: 1,
    move: Move.LOCK,
    hold: sequence,
    expiresAtMs: timeOf(sequence) + 900_000,
    session: `session-${sequence}`,
    holdType: "CART",
    seats: new Uint32Array(2 + extraBytes / 4).fill(sequence),
    areas: new Uint32Array([1, sequence, 2]),
  };
}

export function timeOf(sequence: number): number {
  return START_MS + sequence;
}

export interface LogOptions {
  readonly disk: Disk | FakeDisk;
  readonly folder?: string;
  readonly segmentBytes?: number;
  readonly scheduler?: Scheduler;
  readonly storeId?: string;
  readonly commit?: CommitFrame;
}

/** The log as a process with an engine uses it. */
export class LogProcess {
  readonly time = new ManualTime();
  readonly replayed: LogRecord[] = [];
  readonly durable: number[] = [];
  readonly failures: StoreFault[] = [];
  report!: RecoveryReport;
  journal!: Awaited<ReturnType<typeof openLog>>["journal"];
  #sequence = 0;

  /** Opens the log. */
  static async start({ disk, ...options }: LogOptions): Promise<LogProcess> {
    const process = new LogProcess();
    const { time } = process;
    const opened = await openLog({
      folder: "/data",
      segmentBytes: SEGMENT_BYTES,
      start: null,
      storeId: STORE_ID,
      scheduler: time,
      clock: time,
      runningMs: () => time.nowMs(),
      ...options,
      disk: disk instanceof FakeDisk ? disk.begin() : disk,
      onFailure: (failure) => process.failures.push(failure),
      replay: (sequence, timeMs, record) => {
        const known = process.replayed.push(record) === sequence && timeMs === timeOf(sequence);
        if (!known) throw new Error(`record ${sequence} is out of place`);
      },
    });
    Object.assign(process, opened);
    opened.journal.durable = (sequence) => process.durable.push(sequence);
    process.#sequence = opened.report.sequence;
    return process;
  }

  /** The last acknowledged sequence number; 0 for none. */
  get acknowledged(): number {
    return this.durable.at(-1) ?? 0;
  }

  /** Appends the next records, all in this turn, up to the first refused one. */
  append(count: number, extraBytes = 0, isFollowUp = false): Admission | TooLong {
    const space = isFollowUp ? LogSpace.RESERVE : LogSpace.GENERAL;
    for (let i = 0; i < count; i++) {
      const next = this.#sequence + 1;
      const record = recordOf(next, extraBytes);
      const admission = this.journal.append(next, timeOf(next), record, space);
      if (admission !== Admission.OPEN) return admission;
      this.#sequence = next;
    }
    return Admission.OPEN;
  }

  /** Appends records of one command: all or none. */
  appendAll(count: number, extraBytes = 0): Admission | TooLong {
    const first = this.#sequence + 1;
    const records = Array.from({ length: count }, (_, i) => recordOf(first + i, extraBytes));
    const time = timeOf(first);
    const admission = this.journal.appendAll(first, time, records, LogSpace.GENERAL);
    if (admission === Admission.OPEN) this.#sequence += count;
    return admission;
  }

  /** Appends records as one batch and waits for the disk. */
  async commit(count: number, extraBytes = 0, isFollowUp = false): Promise<Admission | TooLong> {
    const admission = this.append(count, extraBytes, isFollowUp);
    await settle();
    return admission;
  }

  /** Checks each replayed record against the appended one. */
  expectWhole(): void {
    const broken = this.replayed.findIndex(
      (record, i) => !isDeepStrictEqual(record, recordOf(i + 1)),
    );
    if (broken >= 0) throw new Error(`record ${broken + 1} is not what was appended`);
  }

  async close(): Promise<void> {
    await this.journal.close();
  }
}

/** A disk with an empty folder `/data`, and a process on it. */
export function emptyDisk(): FakeDisk {
  const disk = new FakeDisk({ folder: "/data" });
  disk.begin();
  return disk;
}

/** The segments, oldest first. */
export function segmentPaths(disk: FakeDisk): string[] {
  return [...disk.files().keys()].filter((path) => path.endsWith(".log"));
}

/** Fast, even for long files. */
export function sameFiles(a: Files, b: Files): boolean {
  if (a.size !== b.size) return false;
  return [...a].every(([path, bytes]) => b.get(path)?.equals(bytes) === true);
}

/** A new disk with these files. */
export function copyDisk(files: Files): FakeDisk {
  const disk = emptyDisk();
  disk.process!.makeFolderNow("/data/wal");
  disk.syncFolder("/data");
  for (const [path, bytes] of files) disk.plant(path, bytes);
  return disk;
}
