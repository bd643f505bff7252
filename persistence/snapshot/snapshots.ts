/**
 * When and how the living engine is copied into a snapshot. It never stands still for longer than
 * one partition takes to be copied; a writer in another thread does the rest.
 *
 * The snapshot is fuzzy. At a record C it begins; the catalog is as of C, and each partition that
 * changed since the snapshot before is copied at some turn of its own, as of a record P at or
 * behind C. Recovery reads the log from C on: moves and prices of a partition apply from its own P
 * on, catalog records always. That is one state, because no catalog record that touches a partition
 * lies between C and its P: such a record first has the partition copied.
 */
import { removedPartitions, affectedPartitions } from "../../engine/affected-partitions.ts";
import { assert, Broken } from "../../engine/assert.ts";
import { copyPartition, ImagePacker } from "../../engine/inventory/image.ts";
import type { Partition } from "../../engine/inventory/partition.ts";
import { Admission, type Journal, type LogSpace } from "../../engine/ports.ts";
import { type CatalogRecord, type LogRecord, RecordType } from "../../engine/records.ts";
import type { ChainMark } from "../log/scan.ts";
import type { Built, BuildParts, ImageAt } from "./build.ts";
import { CatalogCopy } from "./catalog-copy.ts";
import { type SnapshotReport, type SnapshotsOptions, type SnapshotWriter } from "./options.ts";

/** Holds that are flattened in one turn. */
const SLOTS_PER_TURN = 2_000;
/** A turn that was shorter takes another step. */
export const TURN_MS = 1;
/** After a failure, for example on a full disk. */
const RETRY_DELAY_MS = 60_000;
/** How long an end in order waits for a snapshot in the making. */
const STOP_MS_MAX = 10_000;

/** Images that may wait for the writer, so that memory never holds all of them at once. */
const QUEUED_MAX = 4;

type WriteLast = (parts: BuildParts) => Built;

interface Copy {
  readonly number: number;
  readonly sequence: number;
  readonly packer: ImagePacker;
}

/** A partition as its event's end left it. */
interface Gone {
  readonly partition: Partition;
  /** The last record before the end. */
  readonly sequence: number;
}

/** A snapshot in the making. */
interface Making {
  readonly sequence: number;
  readonly startMs: number;
  readonly writer: SnapshotWriter;
  /** Partitions to be copied yet. */
  readonly pending: Set<number>;
  /** Those of them whose event is gone: nobody changes them any more. */
  readonly gone: Map<number, Gone>;
  /** To be handed over first; null when the writer takes it from what is on disk. */
  readonly catalog: CatalogCopy | null;
  /** Copied, not yet handed over. */
  readonly copies: Copy[];
  readonly copied: number;
  imageSequence: number;
  pauseMsMax: number;
  isFinishing: boolean;
  /** Copying goes on when the writer has written an image. */
  isWaiting: boolean;
}

/**
 * Stands between the engine and its log, so that it sees every record before it is applied.
 *
 * Ordering: one snapshot at a time. It is finished only when the log is durable up to every image,
 * so a snapshot is never ahead of the log.
 */
export class Snapshots implements Journal {
  readonly #options: SnapshotsOptions;
  #sequence: number;
  #base: string | null;
  #baseSequence: number;
  /** Partitions that changed since they were last copied; of no meaning without a base. */
  #changed: Set<number>;
  /** Bytes of the log, counted as `LogStats` does, at which the next snapshot is due. */
  #dueBytes: number;
  #making: Making | null = null;
  /** What is on disk may be at fault: the next one takes all from memory. */
  #hasFailed = false;
  #isDue = false;
  #cancelRetry: (() => void) | null = null;
  #isStopped = false;
  #isGivenUp = false;
  #onIdle: (() => void) | null = null;

  constructor(options: SnapshotsOptions) {
    const { start, everyBytes } = options;
    this.#options = options;
    this.#sequence = start.sequence;
    this.#base = start.base;
    this.#baseSequence = start.baseSequence;
    this.#changed = new Set(start.changed);
    this.#dueBytes = everyBytes - start.bytes;
  }

  admission(): Admission {
    return this.#options.log.admission();
  }

  append(sequence: number, timeMs: number, record: LogRecord, space: LogSpace): Admission {
    const admission = this.#options.log.append(sequence, timeMs, record, space);
    if (admission !== Admission.OPEN) return admission;
    if (record.type === RecordType.CATALOG) this.#beforeCatalog(record);
    else this.#changed.add(record.partition);
    this.#sequence = sequence;
    return admission;
  }

  set durable(told: (sequence: number) => void) {
    this.#options.log.durable = (sequence) => {
      told(sequence);
      this.#goOn();
    };
  }

  /** Begins a snapshot at the end of this turn, unless one is in the making. */
  request(): void {
    if (this.#isDue || this.#making !== null || this.#isStopped) return;
    this.#isDue = true;
    this.#options.scheduler.soon(this.#turn);
  }

  /**
   * Settles when none is in the making; none begins any more. One that takes too long is given up:
   * the log has everything.
   */
  stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelRetry?.();
    const making = this.#making;
    if (making === null) return Promise.resolve();
    if (this.#options.log.hasFailed) return this.#giveUp(making);
    return new Promise((resolve) => {
      const cancel = this.#options.scheduler.later(STOP_MS_MAX, () => {
        void this.#giveUp(making).then(resolve);
      });
      this.#onIdle = () => {
        cancel();
        if (!this.#isGivenUp) resolve();
      };
    });
  }

  async #giveUp(making: Making): Promise<void> {
    this.#isGivenUp = true;
    await making.writer.abandon();
    if (this.#making === making) this.#failed(new Error("given up: it takes too long for an end"));
  }

  /**
   * One more, at once, in this thread: for an end in order, when nobody waits any more.
   * @param write - Makes it. To be called behind `stop`, with everything durable.
   */
  last(write: WriteLast): void {
    assert(this.#isStopped && this.#making === null, "the last snapshot comes alone");
    const { log, isSound } = this.#options;
    const sequence = this.#sequence;
    if (!isSound() || this.#isGivenUp || sequence === this.#baseSequence || log.mark === null)
      return;
    assert(log.mark.sequence === sequence, "everything is durable at the end");
    if (this.#writeLast(write, log.mark) || this.#hasFailed) return;
    // Nobody can make another one later: what is on disk may be at fault, so all from memory.
    this.#hasFailed = true;
    this.#base = null;
    this.#writeLast(write, log.mark);
  }

  #writeLast(write: WriteLast, mark: ChainMark): boolean {
    const { clock, state, onReport } = this.#options;
    const startMs = clock.nowMs();
    const numbers = this.#numbers();
    const end = { sequence: this.#sequence, mark, createdAtMs: startMs };
    const catalog = this.#hasFailed ? new CatalogCopy(state.catalog) : null;
    try {
      const built = write({ base: this.#base, catalog, images: this.#imagesOf(numbers), end });
      const seconds = (clock.nowMs() - startMs) / 1_000;
      onReport({ ...built, failure: null, copied: numbers.size, seconds, pauseMsMax: 0 });
      return true;
    } catch (error) {
      // The log has everything; only the next start takes longer.
      onReport({ failure: error instanceof Error ? error : new Error(String(error)) });
      return false;
    }
  }

  *#imagesOf(numbers: Iterable<number>): Generator<ImageAt> {
    for (const number of numbers) {
      const packer = new ImagePacker(copyPartition(this.#options.state.partitions.get(number)!));
      yield { number, sequence: this.#sequence, image: packer.step(Infinity)! };
    }
  }

  /** The partitions that a snapshot of this moment has to copy. */
  #numbers(): Set<number> {
    const { partitions } = this.#options.state;
    if (this.#base === null) return new Set(partitions.keys());
    return new Set([...this.#changed].filter((number) => partitions.has(number)));
  }

  #goOn(): void {
    const { log, everyBytes } = this.#options;
    if (this.#making !== null) return this.#finishWhenDurable(this.#making);
    if (log.stats.bytes < this.#dueBytes || this.#cancelRetry !== null) return;
    this.#dueBytes = log.stats.bytes + everyBytes;
    this.request();
  }

  readonly #turn = (): void => {
    const startMs = performance.now();
    this.#guard(() => {
      const isNew = this.#making === null;
      if (isNew) this.#begin();
      const making = this.#making;
      if (making === null) return;
      if (!this.#options.isSound()) throw new Error("the engine has halted");
      let isBusy = isNew || this.#step(making);
      while (isBusy && performance.now() - startMs < this.#options.turnMs) {
        isBusy = this.#step(making);
      }
      making.pauseMsMax = Math.max(making.pauseMsMax, performance.now() - startMs);
      making.isWaiting = isBusy && making.writer.queued >= QUEUED_MAX;
      if (!isBusy) this.#finishWhenDurable(making);
      else if (!making.isWaiting) this.#options.scheduler.soon(this.#turn);
    });
  };

  readonly #written = (): void => {
    if (this.#making?.isWaiting === true) this.#options.scheduler.soon(this.#turn);
  };

  /** No memory for a copy, no thread to be had: there is no snapshot then, and nothing is lost. */
  #guard(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (error instanceof Broken) throw error;
      void this.#making?.writer.abandon();
      this.#failed(error);
    }
  }

  #begin(): void {
    const { clock, isSound, open } = this.#options;
    if (!this.#isDue || this.#isStopped) return;
    this.#isDue = false;
    if (this.#sequence === this.#baseSequence || !isSound()) return;
    const pending = this.#numbers();
    const writer = open(this.#base, this.#written);
    this.#changed = new Set();
    const making: Making = {
      sequence: this.#sequence,
      startMs: clock.nowMs(),
      writer,
      pending,
      gone: new Map(),
      catalog: this.#hasFailed ? new CatalogCopy(this.#options.state.catalog) : null,
      copies: [],
      copied: pending.size,
      imageSequence: this.#sequence,
      pauseMsMax: 0,
      isFinishing: false,
      isWaiting: false,
    };
    this.#making = making;
    writer.built.then(
      (built) => this.#finished(making, built),
      (error: unknown) => {
        if (this.#making === making) this.#failed(error);
      },
    );
  }

  /** @returns Whether there is more to do. */
  #step(making: Making): boolean {
    const { catalog } = making;
    if (catalog?.isDone === false) {
      making.writer.put(catalog.nextId, catalog.next());
      return true;
    }
    const [copy] = making.copies;
    if (copy !== undefined) {
      const image = copy.packer.step(SLOTS_PER_TURN);
      if (image === null) return true;
      making.copies.shift();
      making.writer.add({ number: copy.number, sequence: copy.sequence, image });
      return true;
    }
    const [number] = making.pending;
    if (number === undefined) return false;
    this.#copy(making, number);
    return true;
  }

  /** As of the last record, or as its event's end left it. */
  #copy(making: Making, number: number): void {
    const gone = making.gone.get(number);
    const partition = gone?.partition ?? this.#options.state.partitions.get(number);
    assert(partition !== undefined, "a partition is kept until it is copied");
    const packer = new ImagePacker(copyPartition(partition));
    making.pending.delete(number);
    making.gone.delete(number);
    this.#changed.delete(number);
    const sequence = gone?.sequence ?? this.#sequence;
    making.copies.push({ number, sequence, packer });
    making.imageSequence = Math.max(making.imageSequence, sequence);
  }

  /**
   * What a catalog record touches is first copied as it was, while a snapshot is being made. What
   * it removes is kept instead, and copied in its turn: an organization may take hundreds along.
   */
  #beforeCatalog(record: CatalogRecord): void {
    const making = this.#making;
    const startMs = performance.now();
    const touched = affectedPartitions(this.#options.state, record);
    this.#guard(() => {
      for (const number of removedPartitions(this.#options.state, record))
        this.#keep(making, number);
      for (const number of touched) {
        if (making?.pending.has(number) !== true || making.gone.has(number)) continue;
        this.#copy(making, number);
      }
    });
    for (const number of touched) this.#changed.add(number);
    if (making !== null) {
      making.pauseMsMax = Math.max(making.pauseMsMax, performance.now() - startMs);
    }
  }

  #keep(making: Making | null, number: number): void {
    const partition = this.#options.state.partitions.get(number);
    if (making?.pending.has(number) !== true || partition === undefined) return;
    making.gone.set(number, { partition, sequence: this.#sequence });
  }

  #finishWhenDurable(making: Making): void {
    const { mark } = this.#options.log;
    if (making.isFinishing || making.catalog?.isDone === false) return;
    if (making.pending.size > 0 || making.copies.length > 0) return;
    if (mark === null || mark.sequence < making.imageSequence) return;
    making.isFinishing = true;
    const { sequence, startMs } = making;
    making.writer.finish({ sequence, mark, createdAtMs: startMs });
  }

  #finished(making: Making, built: Built): void {
    this.#hasFailed = false;
    this.#base = built.name;
    this.#baseSequence = making.sequence;
    const { copied, pauseMsMax, startMs } = making;
    const seconds = (this.#options.clock.nowMs() - startMs) / 1_000;
    this.#end({ ...built, failure: null, copied, seconds, pauseMsMax });
  }

  /** The log keeps everything meanwhile. The next one copies all. */
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
    this.#end({ failure: error instanceof Error ? error : new Error(String(error)) });
  }

  #end(report: SnapshotReport): void {
    this.#making = null;
    this.#onIdle?.();
    this.#options.onReport(report);
  }
}
