/**
 * Keeps the history: reads the log up to the moment of a question, moves what was read into the
 * archive when it has grown, rebuilds a missing or damaged archive, and applies the retention. For
 * use by one thread.
 */
import { drain } from "../../engine/inventory/steps.ts";
import { assert, Broken } from "../../engine/assert.ts";
import { RecordType } from "../../engine/records.ts";
import { State } from "../../engine/state.ts";
import type { StorePlace } from "../disk/data-folder.ts";
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
  type OnEncoded,
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
  readAuditFile,
} from "./archive.ts";
import { decoded, encodedIn, EventHistories, joined } from "./events.ts";
import { type EventReplay, imageOf } from "./replay.ts";
import { type EncodedRecord, Tail } from "./tail.ts";

/** Bytes of the log in memory, at most; more are archived. */
export const TAIL_BYTES_MAX = 64 * 1024 * 1024;
/** Transitions between two images, at least ... */
const IMAGE_MOVES_MIN = 16_384;
/** ... and so many for each seat of the event: an image takes a few bytes a seat. */
const IMAGE_MOVES_PER_SEAT = 2;
/** Priced seats, counted as one transition. */
const PRICED_PER_MOVE = 8;
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
}

/** An open archive, and the records after it. After an error it must be closed. */
export class OpenHistory {
  readonly archive: Archive;
  readonly tail: Tail;
  readonly histories: EventHistories;
  readonly answers: Answers;
  readonly #options: HistoryOptions;
  #follower: LogFollower | null = null;
  /** The last batch that was read. */
  #end: ChainMark | null = null;
  /** Changes of chunks so far: a question begun before one must begin again. */
  changes = 0;
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

  /** Reads the log up to a batch that is on disk. Cost: O(bytes since the last call). */
  follow(mark: ChainMark): void {
    if (this.isProven && this.tail.sequence >= mark.sequence) return;
    const { sequence, mark: own } = this.archive.row;
    if (sequence > mark.sequence) {
      throw new Malformed(`a history up to record ${mark.sequence}`, `${sequence}`);
    }
    if (own?.sequence === mark.sequence && Buffer.compare(mark.chain, own.chain) !== 0) {
      throw new Malformed("a history of this log", "one of another log of that length");
    }
    this.readTo(mark.sequence);
    this.isProven = true;
  }

  /** Reads the log up to a record that is on disk. */
  readTo(sequence: number): void {
    if (this.tail.sequence >= sequence) return;
    const { mark: own } = this.archive.row;
    const { openSql, tailBytesMax = TAIL_BYTES_MAX } = this.#options;
    this.#follower ??= new LogFollower({
      ...this.#options,
      start: own === null ? null : { sequence: own.sequence, mark: own },
      replay: () => {},
      onEncoded: (records, first, count) => this.tail.add(records, first, count),
    });
    this.#follower.read(sequence, (reached) => {
      this.#end = reached;
      if (openSql === undefined && this.tail.bytes >= tailBytesMax) this.flush();
    });
  }

  /** True when another process or thread has added to the archive. */
  isOutdated(): boolean {
    return this.archive.read().sequence !== this.archive.row.sequence;
  }

  /**
   * Moves the records of the tail into the archive, in one transaction.
   * @param mark - The batch that ends the tail; by default the last one that was read.
   */
  flush(mark = this.#end): void {
    const { archive, tail, histories } = this;
    if (tail.sequence === archive.row.sequence) return;
    assert(mark?.sequence === tail.sequence, "a tail ends with a batch");
    const partitions = [...tail.partitions];
    archive.commit({ ...archive.row, sequence: tail.sequence, mark }, () => {
      this.#writeCatalog();
      for (const partition of partitions) this.#archiveEvent(archive.eventAt(partition)!);
    });
    tail.clear();
    this.changes += 1;
    for (const partition of partitions) histories.forget(partition);
  }

  #writeCatalog(): void {
    const { archive, tail } = this;
    const { events, prices, versions, replies } = tail.changes;
    for (const event of events.values()) archive.putEvent(event);
    for (const [id, partition] of prices) archive.putPrice(id, partition);
    for (const [id, body] of replies) archive.putReply(id, body);
    for (const version of versions) archive.putVersion(version);
  }

  /** Archives the records of an event, with an image after many of them. */
  #archiveEvent(event: ArchivedEvent): void {
    const { archive, histories, tail } = this;
    const { partition } = event;
    const span = histories.spansOf(event).at(-1)!;
    const { imageMovesMin = IMAGE_MOVES_MIN } = this.#options;
    let moves = span.chunks.reduce((sum, chunk) => sum + chunk.moves, 0);
    let movesMax = imageMovesMin;
    let replay: EventReplay | null = null;
    let chunk = this.#lastChunk(partition, span.chunks.at(-1));
    for (const record of tail.recordsOf(partition, 0)) {
      if (moves >= movesMax) {
        replay ??= histories.begin(event, span);
        histories.bringBefore(replay, span, record.sequence);
        const row = replay.event;
        const seats = row === undefined ? Infinity : replay.state.partitionOf(row).layout.seatCount;
        movesMax = Math.max(imageMovesMin, IMAGE_MOVES_PER_SEAT * seats);
        if (moves >= movesMax) {
          chunk.writeTo(archive);
          chunk = new OpenChunk(partition, replay.image());
          moves = 0;
        }
      }
      moves += chunk.add(record);
    }
    chunk.writeTo(archive);
  }

  /** Continues the last chunk of an event while it is short, so that the archive has few. */
  #lastChunk(partition: number, last: ChunkHead | undefined): OpenChunk {
    if (last === undefined || last.moves === 0 || last.moves > SHORT_MOVES_MAX) {
      return new OpenChunk(partition, null);
    }
    const { image, records } = this.archive.chunk(partition, last.first);
    const chunk = new OpenChunk(partition, image);
    for (const record of encodedIn(records)) chunk.add(record);
    const { continuedMsMax = CONTINUED_MS_MAX } = this.#options;
    const isOld = this.tail.oldestMs - chunk.firstMs >= continuedMsMax;
    return isOld ? new OpenChunk(partition, null) : chunk;
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
    archive.commit({ ...archive.row, sequence, mark, ...first }, () => {
      this.#writeCatalog();
      for (const event of state.catalog.events.values()) {
        const image = imageOf(state, event, { sequence, last: state.sequenceOf(event) });
        putImage(archive, event.partition, { sequence, timeMs, image });
      }
    });
    tail.clear();
  }

  /**
   * Removes the chunks before a time. The event keeps an image of that moment.
   */
  removeBefore(beforeMs: number): void {
    const { archive, histories } = this;
    const firstSequence = archive.lastBefore(beforeMs) + 1;
    if (firstSequence <= archive.row.firstSequence) return;
    this.changes += 1;
    archive.commit({ ...archive.row, firstSequence, firstTimeMs: beforeMs }, () => {
      for (const partition of archive.agedBefore(firstSequence)) {
        this.#removeBefore(partition, firstSequence);
        histories.forget(partition);
      }
      archive.removeOldVersions();
    });
  }

  #removeBefore(partition: number, firstSequence: number): void {
    const { archive, histories } = this;
    const event = archive.eventAt(partition);
    if (event === undefined) return;
    if (event.removed !== null && event.removed < firstSequence) {
      archive.removeEvent(partition);
      return;
    }
    const aged = archive.chunksOf(partition).filter(({ last }) => last < firstSequence);
    const { last: sequence } = aged.at(-1)!;
    const span = histories.spansOf(event).findLast(({ after }) => after < sequence)!;
    const replay = drain(histories.at(event, span, sequence));
    const { lastMs } = archive.chunk(partition, aged.at(-1)!.first);
    const image = replay.image();
    archive.removeChunks(partition, sequence + 1);
    putImage(archive, partition, { sequence, timeMs: lastMs, image });
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
    const { mark } = history.archive.row;
    const start = mark === null ? null : { sequence: mark.sequence, mark };
    const onEncoded: OnEncoded = (records, first, count) => history.tail.add(records, first, count);
    readLog({ ...place, start, onEncoded, replay: () => {} });
    return history;
  } catch (error) {
    history.close();
    throw error;
  }
}

const ANY_TABLE = "SELECT 1 FROM sqlite_schema";

interface PlacedImage {
  /** The last record in the image. */
  readonly sequence: number;
  readonly timeMs: number;
  readonly image: Buffer;
}

/** A chunk without records. */
function putImage(
  archive: Archive,
  partition: number,
  { sequence, timeMs, image }: PlacedImage,
): void {
  const at = { first: sequence, last: sequence, lastMs: timeMs };
  archive.putChunk({ partition, ...at, moves: 0, image, records: Buffer.alloc(0) });
}

/** A chunk under construction. */
class OpenChunk {
  readonly #partition: number;
  readonly #image: Buffer | null;
  readonly #records: EncodedRecord[] = [];
  #moves = 0;

  constructor(partition: number, image: Buffer | null) {
    this.#partition = partition;
    this.#image = image;
  }

  /** Milliseconds since 1970: the time of its first record. */
  get firstMs(): number {
    return decoded(this.#records[0]!).timeMs;
  }

  /** @returns The transitions of the record, as far as is known. */
  add(record: EncodedRecord): number {
    const moves = movesIn(record);
    this.#records.push(record);
    this.#moves += moves;
    return moves;
  }

  writeTo(archive: Archive): void {
    const [first, last] = [this.#records[0], this.#records.at(-1)];
    if (first === undefined || last === undefined) return;
    archive.putChunk({
      partition: this.#partition,
      first: first.sequence,
      last: last.sequence,
      lastMs: decoded(last).timeMs,
      moves: this.#moves,
      image: this.#image,
      records: joined(this.#records),
    });
  }
}

/** The transitions of a record; of a change in the catalog an estimate, at least 1. */
function movesIn(encoded: EncodedRecord): number {
  const { record } = decoded(encoded);
  switch (record.type) {
    case RecordType.MOVE:
      return record.seats.length + record.areas.length / 3;
    case RecordType.PRICE:
      // A replay prices a run of seats much faster than it moves them.
      return record.runs.reduce((sum, count, i) => {
        return i % 3 === 2 ? sum + Math.ceil(count / PRICED_PER_MOVE) : sum;
      }, 1);
    case RecordType.CATALOG:
      return 1;
  }
  return record satisfies never;
}

export interface KeeperOptions extends Omit<HistoryOptions, "disk">, StorePlace {
  /** Days for which transitions are kept; null for ever. */
  readonly days: number | null;
  readonly nowMs: () => number;
  readonly onReport: (report: AuditReport) => void;
}

/** Opens the history again after a failure, and replaces a damaged archive. */
export class HistoryKeeper {
  readonly #options: KeeperOptions;
  #history: OpenHistory | null = null;
  #mark: ChainMark | null = null;
  /** Time of the last retention. */
  #retentionMs = -Infinity;
  /** True once the file was replaced. If the new one is unusable too, the file is not at fault. */
  #isRebuilt = false;
  /** Damage to a log is permanent while it is in use. */
  #isLogDamaged = false;
  /** The last reported failure. */
  #failure: string | null = null;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** The last record that was read; 0 when the history is not open. */
  get read(): number {
    return this.#history?.tail.sequence ?? 0;
  }

  /** True after a failed attempt to read or write the history. */
  get isFailing(): boolean {
    return this.#failure !== null;
  }

  /** The history up to the mark that was followed last; null when it cannot be read. */
  get history(): OpenHistory | null {
    return this.#history;
  }

  /**
   * Reads the log up to the mark. Never throws: a failure is reported, and the next call tries
   * again.
   * @returns Whether it succeeded.
   */
  follow(mark: ChainMark): boolean {
    try {
      try {
        this.#follow(mark);
      } catch (error) {
        if (!this.#isDamage(error)) throw error;
        this.#setAside(messageOf(error));
        this.#follow(mark);
      }
      this.#failure = null;
      return true;
    } catch (error) {
      this.fail(error);
      return false;
    }
  }

  /** Moves all records up to the mark into the archive. Never throws. */
  archive(mark: ChainMark): void {
    try {
      if (this.follow(mark)) this.#history!.flush();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Closes the history. Reports the same failure once, however often it happens. */
  fail(error: unknown): void {
    this.close();
    const failure = messageOf(error);
    if (failure !== this.#failure) this.#options.onReport({ kind: "failed", failure });
    this.#failure = failure;
  }

  close(): void {
    const history = this.#history;
    this.#history = null;
    history?.close();
  }

  /** True for a damaged file, and for one beside a sound log of another store or length. */
  #isDamage(error: unknown): boolean {
    if (this.#isRebuilt) return false;
    if (error instanceof SqlFault) return error.isDamage;
    if (error instanceof LogCorrupt) return this.#history?.isProven !== true && this.#isLogSound();
    return error instanceof Malformed || error instanceof Broken;
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

  #follow(mark: ChainMark): void {
    // Questions come with earlier marks, also after the history was opened again.
    if (mark.sequence > (this.#mark?.sequence ?? 0)) this.#mark = mark;
    const history = (this.#history ??= this.#open());
    history.follow(this.#mark!);
    this.#applyRetention(history);
  }

  #open(): OpenHistory {
    const { disk, folder, storeId } = this.#options;
    const history = new OpenHistory(this.#options);
    try {
      const [first] = findSegments(disk, folder);
      if (history.archive.row.sequence === 0) {
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
    if (days === null || nowMs() - this.#retentionMs < RETENTION_EVERY_MS) return;
    this.#retentionMs = nowMs();
    const before = history.archive.row.firstSequence;
    const beforeMs = nowMs() - days * DAY_MS;
    if (history.tail.oldestMs < beforeMs) history.flush();
    history.removeBefore(beforeMs);
    const { firstSequence } = history.archive.row;
    if (firstSequence > before) onReport({ kind: "expired", firstSequence });
  }

  /** Renames the file, which may have records that the log has lost, and creates an empty one. */
  #setAside(reason: string): void {
    const { disk, folder, onReport } = this.#options;
    this.close();
    this.#isRebuilt = true;
    const names = namesIn(disk, folder);
    let count = 1;
    while (names.includes(damagedName(count))) count += 1;
    // The write-ahead log has the last commits, so it keeps its place beside the file.
    for (const suffix of ["", "-wal"]) {
      if (!names.includes(AUDIT_FILE + suffix)) continue;
      disk.renameNow(
        `${folder}/${AUDIT_FILE}${suffix}`,
        `${folder}/${damagedName(count)}${suffix}`,
      );
    }
    if (names.includes(`${AUDIT_FILE}-shm`)) disk.removeNow(`${folder}/${AUDIT_FILE}-shm`);
    makeAuditFile(disk, folder);
    onReport({ kind: "rebuilt", reason });
  }
}

function damagedName(count: number): string {
  return `${AUDIT_FILE}.damaged-${count}`;
}

/** Creates an empty file, so that from now on the log keeps the segments that the archive lacks. */
export function makeAuditFile(disk: Disk, folder: string): void {
  if (namesIn(disk, folder).includes(AUDIT_FILE)) return;
  disk.createNow(`${folder}/${AUDIT_FILE}`).closeNow();
  disk.syncFolderNow(folder);
}
