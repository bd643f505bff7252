/**
 * Decides when a snapshot is taken, and copies the state of the running engine. The engine pauses
 * no longer than it takes to copy one partition; a writer in another thread does the rest.
 *
 * A snapshot is fuzzy. It begins at a record C. Its catalog is as of C; each partition
 * changed since the previous snapshot is copied in a later turn, as of a record P at or after C.
 * Recovery replays the log from C on: every catalog record, and the moves and prices of a partition
 * after its own P. The result is consistent because no catalog record affecting a partition lies
 * between C and its P: such a record is applied only after the partition has been copied.
 */
import { affectedPartitions, replacedPartitions } from "../../engine/apply.ts";
import { assert, Broken } from "../../engine/assert.ts";
import { copyPartition, packInSteps } from "../../engine/inventory/image.ts";
import type { Partition } from "../../engine/inventory/partition.ts";
import type { Observer } from "../../engine/ports.ts";
import {
  type CatalogRecord,
  type LogRecord,
  partitionsOf,
  RecordType,
} from "../../engine/records.ts";
import type { ChainMark } from "../log/log-reader.ts";
import {
  type BuildParts,
  type Built,
  imagesOf,
  type SnapshotReport,
  type SnapshotsOptions,
  type SnapshotWriter,
} from "./build.ts";
import { type CatalogCopy, copyCatalog, packSequences } from "./file.ts";

/** A shorter turn continues with another step. */
export const TURN_MS = 1;
/** After a failure, for example on a full disk. */
const RETRY_DELAY_MS = 60_000;
/** Longest wait of a shutdown for the snapshot in progress. */
const STOP_MS_MAX = 10_000;
/** Images queued for the writer, at most. The limit bounds their memory. */
const QUEUED_MAX = 4;

type WriteLast = (parts: BuildParts) => Built;

/**
 * Observes the engine's records, because a partition may have to be copied before a record changes
 * it.
 *
 * Ordering: there is one snapshot at a time. It is finished only when every record in its images is
 * durable, so a snapshot is never ahead of the log.
 */
export class Snapshots implements Observer {
  readonly #options: SnapshotsOptions;
  #sequence: number;
  /** The last catalog record, or an earlier bound. */
  #catalogSequence: number;
  #base: string | null;
  #baseSequence: number;
  /** Partitions changed since their last copy; not used without a base. */
  #changed: Set<number>;
  /** The next snapshot is due when `LogStats.bytes` reaches this. */
  #dueBytes: number;
  /** Begin of the last snapshot. */
  #lastMs: number;
  #current: SnapshotInProgress | null = null;
  /** The files on disk may be the cause, so the next snapshot copies everything from memory. */
  #hasFailed = false;
  #isDue = false;
  #cancelRetry: (() => void) | null = null;
  #isStopped = false;
  #isAbandoned = false;
  #onIdle: (() => void) | null = null;
  /** The record at which the snapshot of `final` began; null before. */
  #finalSequence: number | null = null;

  constructor(options: SnapshotsOptions) {
    const { start, everyBytes } = options;
    this.#options = options;
    this.#sequence = start.sequence;
    this.#catalogSequence = start.sequence;
    this.#base = start.base;
    this.#baseSequence = start.baseSequence;
    this.#changed = new Set(start.changed);
    this.#dueBytes = everyBytes - start.bytes;
    this.#lastMs = start.baseMs;
  }

  beforeApply(sequence: number, _timeMs: number, record: LogRecord): void {
    if (record.type === RecordType.CATALOG) {
      this.#beforeCatalog(record);
      this.#catalogSequence = sequence;
    } else for (const number of partitionsOf(record)) this.#changed.add(number);
    this.#sequence = sequence;
  }

  durable(): void {
    const { log, everyBytes } = this.#options;
    if (this.#current !== null) return log.whenWritten(this.#finishCurrent);
    if (log.stats.bytes < this.#dueBytes || this.#cancelRetry !== null) return;
    this.#dueBytes = log.stats.bytes + everyBytes;
    this.request();
  }

  /** Begins a snapshot when the last one is too old. To be called from time to time. */
  tick(): void {
    const { clock, everyMs } = this.#options;
    if (this.#sequence === this.#baseSequence || this.#cancelRetry !== null) return;
    if (clock.nowMs() - this.#lastMs >= everyMs) this.request();
  }

  /** Begins a snapshot at the end of this turn, unless one is in progress. */
  request(): void {
    if (this.#isDue || this.#current !== null || this.#isStopped) return;
    this.#isDue = true;
    this.#options.scheduler.soon(this.#turn);
  }

  /**
   * Makes a snapshot before a shutdown, while the engine continues; `last` then leaves the few
   * records after it to the log. Settles when it is made, has failed, or takes too long.
   */
  async final(msMax: number): Promise<void> {
    await this.#whenIdle(msMax);
    if (this.#isStopped || this.#isAbandoned || this.#sequence === this.#baseSequence) return;
    this.#finalSequence = this.#sequence;
    this.request();
    // The snapshot begins at the end of this turn.
    await new Promise<void>((resolve) => {
      this.#options.scheduler.soon(resolve);
    });
    await this.#whenIdle(msMax);
  }

  /**
   * Prevents further snapshots. Settles when none is in progress. One over its time is abandoned:
   * the log has everything.
   */
  stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelRetry?.();
    return this.#whenIdle(STOP_MS_MAX);
  }

  #whenIdle(msMax: number): Promise<void> {
    const snapshot = this.#current;
    if (snapshot === null) return Promise.resolve();
    if (this.#options.log.hasFailed) return this.#abandon(snapshot);
    return new Promise((resolve) => {
      let isTooLong = false;
      const cancel = this.#options.scheduler.later(msMax, () => {
        isTooLong = true;
        void this.#abandon(snapshot).then(resolve);
      });
      const others = this.#onIdle;
      this.#onIdle = () => {
        others?.();
        cancel();
        if (!isTooLong) resolve();
      };
    });
  }

  async #abandon(snapshot: SnapshotInProgress): Promise<void> {
    this.#isAbandoned = true;
    await snapshot.writer.abandon();
    if (this.#current === snapshot) this.#failed(new Error("abandoned: the shutdown cannot wait"));
  }

  /**
   * Takes a last snapshot in this thread, at shutdown. To be called after `stop`, when everything
   * is durable.
   * @param write - Writes the snapshot.
   */
  last(write: WriteLast): void {
    assert(this.#isStopped && this.#current === null, "no other snapshot is in progress");
    const { log, isSound } = this.#options;
    const sequence = this.#sequence;
    const hasFinal = this.#finalSequence !== null && this.#baseSequence >= this.#finalSequence;
    const isNeedless = hasFinal || sequence === this.#baseSequence || log.mark === null;
    if (!isSound() || this.#isAbandoned || isNeedless) return;
    assert(log.mark.sequence === sequence, "at the end everything is durable");
    if (this.#writeLast(write, log.mark) || this.#hasFailed) return;
    // There is no later attempt, and the files on disk may be the cause: copy everything from
    // memory.
    this.#hasFailed = true;
    this.#base = null;
    this.#writeLast(write, log.mark);
  }

  #writeLast(write: WriteLast, mark: ChainMark): boolean {
    const { clock, state, onReport } = this.#options;
    const startMs = clock.nowMs();
    const numbers = this.#numbersToCopy();
    const [sequence, catalogSequence] = [this.#sequence, this.#catalogSequence];
    const sequences = packSequences(state.sequences);
    const end = { sequence, catalogSequence, mark, sequences, createdAtMs: startMs };
    const catalog = this.#hasFailed ? copyCatalog(state.catalog) : null;
    try {
      const images = imagesOf(state, numbers, sequence);
      const built = write({ base: this.#base, catalog, images, end });
      const seconds = (clock.nowMs() - startMs) / 1_000;
      onReport({ ...built, failure: null, copied: numbers.size, seconds, pauseMsMax: 0 });
      return true;
    } catch (error) {
      // The log has everything; only the next start takes longer.
      onReport({ failure: errorOf(error) });
      return false;
    }
  }

  /** @returns Numbers of the partitions to copy in a snapshot beginning now. */
  #numbersToCopy(): Set<number> {
    const { partitions } = this.#options.state;
    if (this.#base === null) return new Set(partitions.keys());
    return new Set([...this.#changed].filter((number) => partitions.has(number)));
  }

  readonly #turn = (): void => {
    const startMs = performance.now();
    this.#guard(() => {
      const isNew = this.#current === null;
      if (isNew) this.#begin();
      const snapshot = this.#current;
      if (snapshot === null) return;
      if (!this.#options.isSound()) throw new Error("the engine has halted");
      let hasMore = isNew || this.#step(snapshot);
      while (hasMore && performance.now() - startMs < this.#options.turnMs) {
        hasMore = this.#step(snapshot);
      }
      snapshot.pauseMsMax = Math.max(snapshot.pauseMsMax, performance.now() - startMs);
      snapshot.isWaiting = hasMore && snapshot.writer.queued >= QUEUED_MAX;
      if (!hasMore) this.#options.log.whenWritten(this.#finishCurrent);
      else if (!snapshot.isWaiting) this.#options.scheduler.soon(this.#turn);
    });
  };

  readonly #written = (): void => {
    if (this.#current?.isWaiting === true) this.#options.scheduler.soon(this.#turn);
  };

  /** Without the memory for a copy, or without a thread, the snapshot fails; nothing is lost. */
  #guard(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (error instanceof Broken) throw error;
      void this.#current?.writer.abandon();
      this.#failed(error);
    }
  }

  #begin(): void {
    const { clock, isSound, open, state } = this.#options;
    if (!this.#isDue || this.#isStopped) return;
    this.#isDue = false;
    if (this.#sequence === this.#baseSequence || !isSound()) return;
    const pending = this.#numbersToCopy();
    const writer = open(this.#base, this.#written);
    this.#changed = new Set();
    const startMs = clock.nowMs();
    this.#lastMs = startMs;
    const snapshot: SnapshotInProgress = {
      sequence: this.#sequence,
      catalogSequence: this.#catalogSequence,
      sequences: packSequences(state.sequences),
      startMs,
      writer,
      pending,
      retained: new Map(),
      catalog: this.#hasFailed ? copyCatalog(state.catalog) : null,
      copies: [],
      copied: pending.size,
      imageSequence: this.#sequence,
      pauseMsMax: 0,
      isFinishing: false,
      isWaiting: false,
    };
    this.#current = snapshot;
    writer.built.then(
      (built) => this.#finished(snapshot, built),
      (error: unknown) => {
        if (this.#current === snapshot) this.#failed(error);
      },
    );
  }

  /** @returns True when there is more to do. */
  #step(snapshot: SnapshotInProgress): boolean {
    const { catalog, writer } = snapshot;
    const part = catalog?.parts.next().value;
    if (catalog !== null && part !== undefined) {
      writer.put(catalog.nextId, part);
      return true;
    }
    snapshot.catalog = null;
    const [copy] = snapshot.copies;
    if (copy !== undefined) {
      const step = copy.packing.next();
      if (step.done !== true) return true;
      snapshot.copies.shift();
      writer.add({ number: copy.number, sequence: copy.sequence, image: step.value });
      return true;
    }
    const [number] = snapshot.pending;
    if (number === undefined) return false;
    this.#copy(snapshot, number);
    return true;
  }

  /** Copies a partition as of the last record, or as it was when it was retained. */
  #copy(snapshot: SnapshotInProgress, number: number): void {
    const retained = snapshot.retained.get(number);
    const partition = retained?.partition ?? this.#options.state.partitions.get(number);
    assert(partition !== undefined, "a partition is kept until it is copied");
    const door = this.#options.state.doors.get(number);
    const packing = packInSteps(
      copyPartition(partition, retained === undefined ? door : undefined),
    );
    snapshot.pending.delete(number);
    snapshot.retained.delete(number);
    // A retained one has changed since.
    if (retained === undefined) this.#changed.delete(number);
    const sequence = retained?.sequence ?? this.#sequence;
    snapshot.copies.push({ number, sequence, packing });
    snapshot.imageSequence = Math.max(snapshot.imageSequence, sequence);
  }

  /**
   * While a snapshot is in progress, a partition that a catalog record changes is copied first. One
   * that the record removes or replaces is retained instead and copied in its turn: deleting an
   * organization, or changing a layout, may affect hundreds.
   */
  #beforeCatalog(record: CatalogRecord): void {
    const { state } = this.#options;
    const snapshot = this.#current;
    const startMs = performance.now();
    const affected = affectedPartitions(state, record);
    if (snapshot !== null) {
      this.#guard(() => {
        for (const number of replacedPartitions(state, record)) this.#retain(snapshot, number);
        for (const number of affected) {
          const isPending = snapshot.pending.has(number) && !snapshot.retained.has(number);
          if (isPending) this.#copy(snapshot, number);
        }
      });
      snapshot.pauseMsMax = Math.max(snapshot.pauseMsMax, performance.now() - startMs);
    }
    for (const number of affected) this.#changed.add(number);
  }

  #retain(snapshot: SnapshotInProgress, number: number): void {
    // A second layout finds a newer partition, which the records after C would change again.
    if (!snapshot.pending.has(number) || snapshot.retained.has(number)) return;
    const partition = this.#options.state.partitions.get(number);
    if (partition === undefined) return;
    snapshot.retained.set(number, { partition, sequence: this.#sequence });
  }

  readonly #finishCurrent = (): void => {
    if (this.#current !== null) this.#finishWhenWritten(this.#current);
  };

  #finishWhenWritten(snapshot: SnapshotInProgress): void {
    const { mark } = this.#options.log;
    if (snapshot.isFinishing || snapshot.catalog !== null) return;
    if (snapshot.pending.size > 0 || snapshot.copies.length > 0) return;
    if (mark === null || mark.sequence < snapshot.imageSequence) return;
    snapshot.isFinishing = true;
    const { sequence, catalogSequence, sequences, startMs } = snapshot;
    const end = { sequence, catalogSequence, mark, sequences, createdAtMs: startMs };
    snapshot.writer.finish(end);
  }

  #finished(snapshot: SnapshotInProgress, built: Built): void {
    this.#hasFailed = false;
    this.#base = built.name;
    this.#baseSequence = snapshot.sequence;
    const { copied, pauseMsMax, startMs } = snapshot;
    const seconds = (this.#options.clock.nowMs() - startMs) / 1_000;
    this.#end({ ...built, failure: null, copied, seconds, pauseMsMax });
  }

  /** Nothing is lost: the log keeps everything, and the next snapshot copies everything. */
  #failed(error: unknown): void {
    this.#hasFailed = true;
    this.#base = null;
    this.#cancelRetry?.();
    if (!this.#isStopped) {
      this.#cancelRetry = this.#options.scheduler.later(RETRY_DELAY_MS, () => {
        this.#cancelRetry = null;
        this.request();
      });
    }
    this.#end({ failure: errorOf(error) });
  }

  #end(report: SnapshotReport): void {
    this.#current = null;
    this.#onIdle?.();
    this.#options.onReport(report);
  }
}

function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

// The snapshot in progress.

interface Copy {
  readonly number: number;
  readonly sequence: number;
  readonly packing: ReturnType<typeof packInSteps>;
}

/** A partition removed or replaced before its copy. */
interface RetainedPartition {
  readonly partition: Partition;
  /** The last record before. */
  readonly sequence: number;
}

interface SnapshotInProgress {
  /** Its first record. */
  readonly sequence: number;
  /** The last record up to there that may have changed the catalog. */
  readonly catalogSequence: number;
  /** The last record of each event then, as by `packSequences`. */
  readonly sequences: Float64Array;
  readonly startMs: number;
  readonly writer: SnapshotWriter;
  /** Numbers of partitions still to be copied. */
  readonly pending: Set<number>;
  /** Those of them that were removed or replaced, by number: nothing changes them any more. */
  readonly retained: Map<number, RetainedPartition>;
  /** Handed over first; null afterwards, or when the writer reads the catalog from disk. */
  catalog: CatalogCopy | null;
  /** Copied, but not handed over yet. */
  readonly copies: Copy[];
  /** Copied partitions, in total. */
  readonly copied: number;
  /** The newest record in any image. */
  imageSequence: number;
  pauseMsMax: number;
  isFinishing: boolean;
  /** Copying waits for the writer. */
  isWaiting: boolean;
}
