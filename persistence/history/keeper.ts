/**
 * Keeps the history: reads the log up to the moment of a question, moves what was read into the
 * archive when it has grown, rebuilds a missing or damaged archive, and applies the retention. For
 * use by one thread.
 */
import { drain } from "../../engine/inventory/steps.ts";
import { assert } from "../../engine/assert.ts";
import type { TimedRecord } from "../../engine/queries/effect.ts";
import { State } from "../../engine/state.ts";
import { setAside, type StorePlace } from "../disk/data-folder.ts";
import { type Disk, namesIn, type ReadDisk } from "../disk/disk.ts";
import {
  DiskFault,
  LogCorrupt,
  Malformed,
  messageOf,
  only,
  SnapshotsDamaged,
} from "../disk/faults.ts";
import { openSqlReader, openSqlWriter, SqlFault, type SqlFile } from "../disk/sqlite.ts";
import { chainOfStore, LOG_FOLDER } from "../log/frame.ts";
import {
  type ChainMark,
  findSegments,
  LogFollower,
  type LogStart,
  readLog,
  startOfFirst,
} from "../log/log-reader.ts";
import { startOf } from "../snapshot/file.ts";
import { loadOldest, replayAfter } from "../snapshot/load.ts";
import { Answers } from "./answers.ts";
import {
  Archive,
  type ArchivedEvent,
  AUDIT_FILE,
  type ChunkHead,
  onlyDamage,
  packed,
  type PackedChunk,
  readAuditFile,
  unlessDamaged,
} from "./archive.ts";
import { ColumnWriter, recordsIn } from "./columns.ts";
import { EventHistories, SLICE_MOVES, type Slices, type Span } from "./events.ts";
import { type EventReplay, imageChunk, imageOf } from "./replay.ts";
import { removeExpired } from "./retention.ts";
import { Tail } from "./tail.ts";

/** Bytes of the log in memory, at most; more are archived. */
export const TAIL_BYTES_MAX = 64 * 1024 * 1024;
/** Transitions between two images, at least ... */
const IMAGE_MOVES_MIN = 16_384;
/** ... and so many for each seat of the event: an image takes a few bytes a seat. */
const IMAGE_MOVES_PER_SEAT = 1;
/** Transitions of a usual record, at most. */
const MOVES_PER_RECORD_MAX = 5;
/** Bytes of the log that are read at once: a few milliseconds. */
const READ_BYTES = 1024 * 1024;
const DAY_MS = 86_400_000;
/** A longer chunk is not continued; its records take some tens of kilobytes. */
const SHORT_MOVES_MAX = 500;
/** Nor is an older one, because the retention removes whole chunks. */
const CONTINUED_MS_MAX = 3_600_000;
/** Interval of the retention. */
const RETENTION_EVERY_MS = 3_600_000;

/** News for the operator. */
export type AuditReport =
  /** The file could not be used, was renamed, and is rebuilt. */
  | { readonly kind: "rebuilt"; readonly reason: string }
  /** The log had lost its beginning, so the history begins with a snapshot, not with the store. */
  | { readonly kind: "incomplete"; readonly firstSequence: number }
  /** Transitions before that record are past their retention and were removed. */
  | { readonly kind: "expired"; readonly firstSequence: number }
  /** A part of the archive is damaged: its past is gone, and the rest goes on. */
  | { readonly kind: "damaged"; readonly part: string }
  /** The next question tries again. The log keeps the records that the archive lacks. */
  | { readonly kind: "failed"; readonly failure: string };

export interface HistoryOptions extends StorePlace<ReadDisk> {
  /** `TAIL_BYTES_MAX` by default. */
  readonly tailBytesMax?: number | undefined;
  /** `IMAGE_MOVES_MIN` by default. */
  readonly imageMovesMin?: number | undefined;
  /** `CONTINUED_MS_MAX` by default. */
  readonly continuedMsMax?: number | undefined;
  /** `SLICE_MOVES` by default. */
  readonly sliceMoves?: number | undefined;
  /** Opens the archive for reading only: the tail then grows. */
  readonly openSql?: ((path: string) => SqlFile) | undefined;
  /** The retention passes over a damaged part of the archive. */
  readonly onDamage?: ((error: unknown) => void) | undefined;
}

/** An open archive, and the records after it. After an error it must be closed. */
export class OpenHistory {
  readonly archive: Archive;
  readonly tail: Tail;
  readonly histories: EventHistories;
  readonly answers: Answers;
  readonly #options: HistoryOptions;
  #follower: LogFollower | null = null;
  #archiving: Slices<void> | null = null;
  /** The retention, which comes before archiving. */
  #expiring: Slices<void> | null = null;
  /** The last batch that was read. */
  #end: ChainMark | null = null;
  /** Changes of chunks so far; the last one of all events, and those of single events after it. */
  #changes = 0;
  #changesOfAll = 0;
  readonly #changesOf = new Map<string, number>();
  /** True once log and archive have proved to belong together. */
  isProven = false;

  /** @throws Malformed, SqlFault. */
  constructor(options: HistoryOptions) {
    const { folder, storeId, openSql = openSqlWriter, sliceMoves } = options;
    this.#options = options;
    this.archive = new Archive(`${folder}/${AUDIT_FILE}`, storeId, openSql);
    this.tail = new Tail(this.archive);
    this.histories = new EventHistories(this.archive, this.tail, { sliceMoves });
    this.answers = new Answers(this.archive, this.histories, this.tail);
  }

  /**
   * Does a slice of reading the log up to a batch that is on disk.
   * @returns True once it has been read.
   */
  followSlice(mark: ChainMark): boolean {
    const { tail } = this;
    if (this.isProven && tail.sequence >= mark.sequence) return true;
    const { sequence, row } = this.archive;
    if (sequence > mark.sequence) {
      throw new Malformed(`a history up to record ${mark.sequence}`, `${sequence}`);
    }
    if (sequence === mark.sequence && Buffer.compare(mark.chain, row.mark!.chain) !== 0) {
      throw new Malformed("a history of this log", "one of another log of that length");
    }
    const { tailBytesMax = TAIL_BYTES_MAX } = this.#options;
    // During archiving the tail may have twice its bytes, so that questions need not wait for it.
    const isTooLong = tail.bytes >= tailBytesMax * (this.isArchiving ? 2 : 1);
    if (isTooLong) this.archiveSlice();
    else this.#read(mark.sequence);
    const isRead = tail.sequence >= mark.sequence;
    if (isRead) this.isProven = true;
    return isRead;
  }

  /** Reads some bytes of the log, up to a record on disk. */
  #read(sequence: number): void {
    const { archive, tail } = this;
    const { mark } = archive.row;
    this.#follower ??= new LogFollower({
      ...this.#options,
      start: startAt(mark),
      replay: () => {},
      onEncoded: tail.add,
    });
    const bytesMax = tail.bytes + READ_BYTES;
    this.#follower.read(sequence, (reached) => {
      this.#end = reached;
      return tail.bytes < bytesMax;
    });
  }

  /** True when the tail should be archived. */
  get isFull(): boolean {
    return this.tail.bytes >= (this.#options.tailBytesMax ?? TAIL_BYTES_MAX);
  }

  /** True between two slices of archiving, or of the retention. */
  get isArchiving(): boolean {
    return this.#archiving !== null || this.isExpiring;
  }

  /** True between two slices of the retention. */
  get isExpiring(): boolean {
    return this.#expiring !== null;
  }

  /** @returns The last change of an event's chunks: a question begun before it must begin again. */
  changesOf(eventId: string): number {
    return this.#changesOf.get(eventId) ?? this.#changesOfAll;
  }

  /**
   * Does a slice of moving the records of the tail into the archive: compresses some of them, or at
   * last writes all, in one transaction. Meanwhile the tail may grow. First the retention ends.
   * @param mark - The batch that ends the tail; by default the last one that was read.
   * @returns True once the archive has all records.
   */
  archiveSlice(mark?: ChainMark): boolean {
    if (this.#expiring !== null) {
      if (this.#expiring.next().done === true) this.#expiring = null;
      return false;
    }
    this.#archiving ??= this.#archive(mark);
    const isDone = this.#archiving.next().done === true;
    if (isDone) this.#archiving = null;
    return isDone;
  }

  *#archive(mark?: ChainMark): Slices<void> {
    const { archive, tail, histories } = this;
    const chunks: PackedChunk[] = [];
    const partitions = new Set<number>();
    const { sliceMoves = SLICE_MOVES } = this.#options;
    let from = archive.sequence;
    if (tail.sequence === from) return;
    // In a rush each round is for the records that came during the one before. A short one is not
    // interrupted, so that there is a last one.
    while (from < tail.sequence) {
      const until = tail.sequence;
      const isShort = until - from <= sliceMoves / MOVES_PER_RECORD_MAX;
      for (const partition of tail.changedAfter(from)) {
        const isNew = !partitions.has(partition);
        partitions.add(partition);
        const steps = this.#chunksOf(partition, { from, until, isNew }, chunks);
        if (isShort) drain(steps);
        else yield* steps;
      }
      from = until;
    }
    const end = mark ?? this.#end;
    assert(end?.sequence === tail.sequence, "a tail ends with a batch");
    archive.commit({ ...archive.row, mark: end }, () => {
      tail.writeCatalog();
      for (const chunk of chunks) archive.putChunk(chunk);
    });
    tail.clear();
    this.#changesOfAll = this.#changes += 1;
    this.#changesOf.clear();
    for (const partition of partitions) histories.forget(partition);
  }

  /** Makes chunks of the records of an event, with an image after many of them. */
  *#chunksOf(
    partition: number,
    { from, until, isNew }: Round,
    chunks: PackedChunk[],
  ): Slices<void> {
    const { histories, tail } = this;
    const { imageMovesMin = IMAGE_MOVES_MIN, sliceMoves = SLICE_MOVES } = this.#options;
    // Null where the archive is damaged: the records are archived without an image.
    const open = unlessDamaged(() => {
      const event = histories.eventAt(partition);
      return event === undefined ? null : { event, span: histories.spansOf(event).at(-1)! };
    });
    const before = isNew ? (open?.span.chunks ?? []) : [];
    let moves = before.reduce((sum, chunk) => sum + chunk.moves, 0);
    let movesMax = imageMovesMin;
    let { image, columns } = this.#lastChunk(partition, before);
    const close = () => {
      const { first, last: end, lastMs, moves: all } = columns;
      if (first === 0) return;
      const extent = { partition, first, last: end, lastMs, moves: all };
      chunks.push(packed({ ...extent, image, records: columns.pack() }));
    };
    // An image is of the moment after a record of the event.
    let last = isNew ? (before.at(-1)?.last ?? (open?.event.created ?? 0) - 1) : from;
    // Before an image the state follows record by record, to decode each only once.
    const isLong = moves + tail.countOf(partition) >= movesMax;
    let replay = isLong ? yield* this.#stateAfter(open, last) : null;
    let work = 0;
    for (const record of tail.recordsOf(partition, from)) {
      if (record.sequence > until) break;
      if (moves >= movesMax) {
        replay ??= yield* this.#stateAfter(open, last);
        const seats = replay?.event === undefined ? Infinity : replay.seatCount;
        movesMax = Math.max(imageMovesMin, IMAGE_MOVES_PER_SEAT * seats);
        if (moves >= movesMax && replay !== null) {
          close();
          image = replay.image();
          columns = new ColumnWriter();
          moves = 0;
          yield;
        }
      }
      const count = columns.add(record);
      moves += count;
      work += 1 + count;
      replay = applied(replay, record);
      last = record.sequence;
      if (work < sliceMoves) continue;
      work = 0;
      yield;
    }
    close();
    yield;
  }

  /** @returns Null where the archive is damaged: no image can be made, but records go on. */
  *#stateAfter(open: OpenSpan | null, sequence: number): Slices<EventReplay | null> {
    if (open === null) return null;
    try {
      return yield* this.histories.at(open.event, open.span, sequence);
    } catch (error) {
      onlyDamage(error);
      return null;
    }
  }

  /** Continues the last chunk of an event while it is short, so that the archive has few. */
  #lastChunk(partition: number, chunks: readonly ChunkHead[]): OpenChunk {
    const last = chunks.at(-1);
    const made = { image: null, columns: new ColumnWriter() };
    if (last === undefined || last.moves === 0 || last.moves > SHORT_MOVES_MAX) return made;
    const kept = unlessDamaged(() => this.archive.chunk(partition, last.first));
    if (kept === null) return made;
    const [...all] = recordsIn(kept.records, partition);
    const { continuedMsMax = CONTINUED_MS_MAX } = this.#options;
    if (this.tail.oldestMs - all[0]!.timeMs >= continuedMsMax) return made;
    for (const record of all) made.columns.add(record);
    return { ...made, image: kept.image };
  }

  /**
   * Begins an empty archive with a state.
   * @param mark - The last record in the state, which ends a batch.
   * @param timeMs - Milliseconds since 1970: its time.
   */
  beginWith(state: State, mark: ChainMark, timeMs: number): void {
    const { archive, tail } = this;
    const { sequence } = mark;
    tail.begin(state, sequence);
    const first = { firstSequence: sequence + 1, firstTimeMs: timeMs };
    archive.commit({ ...archive.row, mark, ...first }, () => {
      tail.writeCatalog();
      for (const event of state.catalog.events.values()) {
        const image = imageOf(state, event, { sequence, last: state.sequenceOf(event) });
        archive.putChunk(imageChunk(event.partition, { sequence, timeMs, image }));
      }
    });
    tail.clear();
  }

  /** Refuses questions before a time. The next slices of archiving remove its chunks. */
  expire(beforeMs: number): void {
    assert(!this.isArchiving, "chunks are made or removed, one after the other");
    const { archive, histories } = this;
    const { sliceMoves = SLICE_MOVES, onDamage = () => {} } = this.#options;
    const firstSequence = archive.lastBefore(beforeMs) + 1;
    if (firstSequence > archive.row.firstSequence) {
      archive.commit({ ...archive.row, firstSequence, firstTimeMs: beforeMs }, () => {});
    }
    const onRemoved = (eventId: string) => this.#changesOf.set(eventId, (this.#changes += 1));
    this.#expiring = removeExpired({ archive, histories, sliceMoves, onRemoved, onDamage });
  }

  close(): void {
    try {
      this.#follower?.close();
    } catch (error) {
      // The segments were only read, so nothing is lost.
      only(error, DiskFault);
    }
    this.archive.close();
  }
}

/**
 * Opens the history of a folder for reading, up to the end of its log. A process may be using it.
 * @throws Malformed, SqlFault, LogCorrupt, DiskFault. Cost: O(bytes of the log after the archive).
 */
export function readHistory(place: StorePlace<ReadDisk>): OpenHistory {
  const { disk, folder } = place;
  const hasFile = namesIn(disk, folder).includes(AUDIT_FILE);
  const isUsed = hasFile && readAuditFile(disk, folder, (sql) => sql.row(ANY_TABLE) !== undefined);
  const openSql = isUsed ? openSqlReader : () => openSqlWriter(":memory:");
  const history = new OpenHistory({ ...place, openSql });
  try {
    const start = startAt(history.archive.row.mark);
    readLog({ ...place, start, onEncoded: history.tail.add, replay: () => {} });
    return history;
  } catch (error) {
    history.close();
    throw error;
  }
}

/** @param mark - The end of an archive. @returns The start of its tail in the log. */
function startAt(mark: ChainMark | null): LogStart | null {
  return mark === null ? null : { sequence: mark.sequence, mark };
}

const ANY_TABLE = "SELECT 1 FROM sqlite_schema";

/** The last span of an event. */
interface OpenSpan {
  readonly event: ArchivedEvent;
  readonly span: Span;
}

/** A chunk under construction. */
interface OpenChunk {
  readonly image: Buffer | null;
  readonly columns: ColumnWriter;
}

/** Records after `from` up to `until`; `isNew` when the archive begins with them. */
interface Round {
  readonly from: number;
  readonly until: number;
  readonly isNew: boolean;
}

/** @returns Null where a damaged part of the archive is needed: no image can be made then. */
function applied(replay: EventReplay | null, record: TimedRecord): EventReplay | null {
  try {
    replay?.apply(record);
    return replay;
  } catch (error) {
    onlyDamage(error);
    return null;
  }
}

export interface KeeperOptions extends Omit<HistoryOptions, "disk" | "onDamage">, StorePlace {
  /** Days for which transitions are kept; null for ever. */
  readonly days: number | null;
  readonly nowMs: () => number;
  readonly onReport: (report: AuditReport) => void;
}

/** Damaged parts that are reported once, at most. */
const DAMAGES_MAX = 1_000;

/** Opens the history again after a failure, and replaces an unreadable archive. */
export class HistoryKeeper {
  readonly #options: KeeperOptions;
  #history: OpenHistory | null = null;
  /** As `read`, while the history is closed. */
  #archived: number | null = null;
  #mark: ChainMark | null = null;
  /** Time of the last retention. */
  #retentionMs = -Infinity;
  /** The retention follows once the tail is archived. */
  #mustExpire = false;
  /** True once the file was replaced. If the new one is unusable too, the file is not at fault. */
  #isRebuilt = false;
  /** Damage to a log is permanent while it is in use. */
  #isLogDamaged = false;
  /** The last reported failure. */
  #failure: string | null = null;
  /** Reported damage. */
  readonly #damages = new Set<string>();

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /**
   * The last record read. After a failure the last one in the archive, as reading begins again
   * there; null before the first reading.
   */
  get read(): number | null {
    return this.#history?.tail.sequence ?? this.#archived;
  }

  /** The last batch that was asked for. */
  get mark(): ChainMark | null {
    return this.#mark;
  }

  /** True after a failed attempt to read or write the history. */
  get isFailing(): boolean {
    return this.#failure !== null;
  }

  /** The history up to the mark that was followed last; null when it cannot be read. */
  get history(): OpenHistory | null {
    return this.#history;
  }

  /** As slices of `followSlice`, one after the other. */
  follow(mark: ChainMark): boolean {
    for (;;) {
      const isRead = this.followSlice(mark);
      const isArchived = this.isDue ? this.archiveSlice() : true;
      if (isRead === false || isArchived === false) return false;
      if (isRead === true && isArchived === true) return true;
    }
  }

  /**
   * Does a slice of reading the log up to the mark. Never throws: a failure is reported, and the next
   * call tries again.
   * @returns True for success; null when more is to be read.
   */
  followSlice(mark: ChainMark): boolean | null {
    return this.#attempt(() => this.#followSlice(mark));
  }

  /** Moves all records up to the mark into the archive. Never throws. */
  archive(mark: ChainMark): void {
    while (this.follow(mark) && this.archiveSlice() === null);
  }

  /**
   * Does a slice of moving the records that were read into the archive, and then of the retention
   * when it is due. Never throws.
   * @returns As `followSlice`. Also null after the archive was set aside: the log is to be read again.
   */
  archiveSlice(): boolean | null {
    const isArchived = this.#attempt(() => this.#archiveSlice());
    // Reading goes on while there is no room to write, so it does not end a failure.
    if (isArchived === true && this.#history !== null) this.#failure = null;
    return isArchived;
  }

  #archiveSlice(): boolean {
    const history = this.#history;
    if (history === null) return true;
    if (this.#isRetentionDue) {
      // Also when it fails, for example on a full disk: questions go on, and it is due in an hour.
      this.#retentionMs = this.#options.nowMs();
      this.#mustExpire = true;
    }
    if (!history.archiveSlice()) return false;
    if (!this.#mustExpire) return true;
    this.#mustExpire = false;
    this.#applyRetention(history);
    return false;
  }

  /** @returns Null when the work needs another slice, or the file was set aside; false on failure. */
  #attempt(work: () => boolean): boolean | null {
    try {
      try {
        return work() ? true : null;
      } catch (error) {
        if (!this.#isUnreadable(error)) throw error;
        this.#setAside(messageOf(error));
        return null;
      }
    } catch (error) {
      this.fail(error);
      return false;
    }
  }

  /** True when so much was read that it should be archived, and until the retention is done. */
  get isDue(): boolean {
    const history = this.#history;
    if (history === null) return false;
    return history.isFull || history.isExpiring || this.#mustExpire || this.#isRetentionDue;
  }

  get #isRetentionDue(): boolean {
    const { days, nowMs } = this.#options;
    if (days === null || this.#history?.isProven !== true) return false;
    return nowMs() - this.#retentionMs >= RETENTION_EVERY_MS;
  }

  /** Closes the history. Reports the same failure once, however often it happens. */
  fail(error: unknown): void {
    this.close();
    const failure = messageOf(error);
    if (failure !== this.#failure) this.#options.onReport({ kind: "failed", failure });
    this.#failure = failure;
  }

  /** Reports a damaged part of the archive, once. The history goes on without it. */
  damaged(error: unknown): void {
    const part = messageOf(error);
    if (this.#damages.has(part)) return;
    if (this.#damages.size >= DAMAGES_MAX) this.#damages.clear();
    this.#damages.add(part);
    this.#options.onReport({ kind: "damaged", part });
  }

  close(): void {
    const history = this.#history;
    this.#history = null;
    this.#mustExpire = false;
    if (history === null) return;
    this.#archived = history.archive.sequence;
    history.close();
  }

  /** True for a file that SQLite cannot read, for no archive, and for one of another log. */
  #isUnreadable(error: unknown): boolean {
    if (this.#isRebuilt) return false;
    if (error instanceof SqlFault) return error.isDamage;
    if (error instanceof LogCorrupt) return this.#history?.isProven !== true && this.#isLogSound();
    return error instanceof Malformed;
  }

  /** True when the log can be read up to the mark. Cost: O(bytes of the log), once. */
  #isLogSound(): boolean {
    if (this.#isLogDamaged) return false;
    const { disk, folder } = this.#options;
    try {
      const [first] = findSegments(disk, folder);
      if (first === undefined) return false;
      const until = this.#mark?.sequence ?? 0;
      readLog({ ...this.#options, start: startOfFirst(first), until, replay: () => {} });
      return true;
    } catch (error) {
      only(error, LogCorrupt);
      this.#isLogDamaged = true;
      return false;
    }
  }

  #followSlice(mark: ChainMark): boolean {
    // Questions come with earlier marks, also after the history was opened again.
    if (mark.sequence > (this.#mark?.sequence ?? 0)) this.#mark = mark;
    const history = (this.#history ??= this.#open());
    return history.followSlice(this.#mark!);
  }

  #open(): OpenHistory {
    const { disk, folder, storeId } = this.#options;
    const history = new OpenHistory({
      ...this.#options,
      onDamage: (error) => this.damaged(error),
    });
    try {
      const [first] = findSegments(disk, folder);
      if (history.archive.sequence === 0) {
        if (first?.number !== 1) this.#beginWithSnapshot(history);
        else if (first.firstSequence > 1) {
          const mark = { sequence: first.firstSequence - 1, chain: chainOfStore(storeId) };
          history.beginWith(new State(), mark, 0);
        }
      }
    } catch (error) {
      history.close();
      throw error;
    }
    return history;
  }

  /** The log has lost its beginning, so the history begins with the oldest snapshot. */
  #beginWithSnapshot(history: OpenHistory): void {
    const { folder, onReport } = this.#options;
    const { loaded, passedOver } = loadOldest(this.#options);
    if (loaded === null) throw new SnapshotsDamaged(`${folder}/${LOG_FOLDER}`, passedOver);
    const { meta, state } = loaded;
    const start = startOf(meta);
    let timeMs = Date.parse(meta.createdAt);
    const replay = replayAfter(loaded, state);
    readLog({
      ...this.#options,
      replay: (sequence, recordMs, record) => {
        timeMs = Math.max(timeMs, recordMs);
        replay(sequence, recordMs, record);
      },
      start,
      until: start.mark.sequence,
    });
    history.beginWith(state, start.mark, timeMs);
    onReport({ kind: "incomplete", firstSequence: history.archive.row.firstSequence });
  }

  #applyRetention(history: OpenHistory): void {
    const { days, nowMs, onReport } = this.#options;
    const before = history.archive.row.firstSequence;
    history.expire(nowMs() - days! * DAY_MS);
    const { firstSequence } = history.archive.row;
    if (firstSequence > before) onReport({ kind: "expired", firstSequence });
  }

  /** Renames the file, as it may have records lost by the log, and creates an empty one. */
  #setAside(reason: string): void {
    const { disk, folder, onReport } = this.#options;
    this.close();
    this.#archived = 0;
    this.#isRebuilt = true;
    setAside(disk, folder, AUDIT_FILE);
    makeAuditFile(disk, folder);
    onReport({ kind: "rebuilt", reason });
  }
}

/** Creates an empty file: from now on the log keeps the segments missing in the archive. */
export function makeAuditFile(disk: Disk, folder: string): void {
  if (namesIn(disk, folder).includes(AUDIT_FILE)) return;
  disk.createNow(`${folder}/${AUDIT_FILE}`).closeNow();
  disk.syncFolderNow(folder);
}
