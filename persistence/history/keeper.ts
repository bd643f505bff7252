/**
 * Keeps the history: reads the log to the moment of a question, moves what was read into the
 * archive when it has grown enough, rebuilds a missing or damaged archive, and applies the
 * retention. For use by one thread.
 */
import { assert, Broken } from "../../engine/assert.ts";
import {
  AuditGap,
  type AuditAnswers,
  type AuditOutcome,
  type AuditQuestion,
  type AuditTopic,
} from "../../engine/queries/history.ts";
import { RecordType } from "../../engine/records.ts";
import { State } from "../../engine/state.ts";
import type { StorePlace } from "../disk/data-folder.ts";
import { namesIn } from "../disk/disk.ts";
import {
  DiskFault,
  LogCorrupt,
  Malformed,
  messageOf,
  only,
  SnapshotsDamaged,
} from "../disk/faults.ts";
import { SqlFault } from "../disk/sqlite.ts";
import { chainOfStore, LOG_FOLDER } from "../log/frame.ts";
import {
  type ChainMark,
  findSegments,
  LogFollower,
  type LogStart,
  readLog,
} from "../log/log-reader.ts";
import { startOf } from "../snapshot/file.ts";
import { loadOldest, replayAfter } from "../snapshot/load.ts";
import { Answers } from "./answers.ts";
import { Archive, type ArchivedEvent, type Chunk, HISTORY_FILE } from "./archive.ts";
import { encodedIn, decoded, EventHistories, joined, type Slices } from "./events.ts";
import type { EventReplay } from "./replay.ts";
import { type EncodedRecord, Tail } from "./tail.ts";

/** What was read of the log stays in memory up to so many bytes. */
const TAIL_BYTES_MAX = 64 * 1024 * 1024;
/** An image is made after so many transitions, at least ... */
const IMAGE_MOVES_MIN = 16_384;
/** ... and after so many for each seat of the event: an image takes two bytes a seat. */
const IMAGE_MOVES_PER_SEAT = 2;

export interface HistoryOptions extends StorePlace {
  /** `TAIL_BYTES_MAX` by default. */
  readonly tailBytesMax?: number;
  /** `IMAGE_MOVES_MIN` by default. */
  readonly imageMovesMin?: number;
}

/** An open archive, and the records after it. After an error it must be closed. */
export class OpenHistory {
  readonly archive: Archive;
  readonly tail: Tail;
  readonly histories: EventHistories;
  readonly answers: Answers;
  readonly #options: HistoryOptions;
  #follower: LogFollower | null = null;

  /** @throws Malformed, SqlFault, LogCorrupt, DiskFault. */
  constructor(options: HistoryOptions) {
    const { folder, storeId } = options;
    this.#options = options;
    this.archive = new Archive(`${folder}/${HISTORY_FILE}`, storeId);
    this.tail = new Tail(this.archive);
    this.histories = new EventHistories(this.archive, this.tail);
    this.answers = new Answers(this.archive, this.histories);
  }

  /** Reads the log up to a batch that is on disk. Cost: O(bytes since the last call). */
  follow(mark: ChainMark): void {
    const { sequence, mark: own } = this.archive.row;
    if (sequence > mark.sequence) {
      throw new Malformed(`a history up to record ${mark.sequence}`, `${sequence}`);
    }
    if (this.tail.sequence === mark.sequence) return;
    this.#follower ??= new LogFollower({
      ...this.#options,
      start: own === null ? null : { sequence, mark: own },
      replay: () => {},
      onBatch: (records, first, count) => this.add(records, first, count),
    });
    this.#follower.read(mark.sequence);
    const { tailBytesMax = TAIL_BYTES_MAX } = this.#options;
    if (this.tail.bytes >= tailBytesMax) this.flush(mark);
  }

  /** Adds a batch of the log. */
  add(records: Buffer, first: number, count: number): void {
    this.tail.add(records, first, count);
  }

  /** Moves the records of the tail into the archive. @param mark - The batch that ends it. */
  flush(mark: ChainMark): void {
    const { archive, tail, histories } = this;
    assert(mark.sequence === tail.sequence, "a tail ends with a batch");
    const partitions = [...tail.partitions];
    archive.commit({ ...archive.row, sequence: tail.sequence, mark }, () => {
      const { events, prices, versions, replies } = tail.changes;
      for (const event of events.values()) archive.putEvent(event);
      for (const [id, partition] of prices) archive.putPrice(id, partition);
      for (const [id, body] of replies) archive.putReply(id, body);
      for (const version of versions) archive.putVersion(version);
      for (const partition of partitions) this.#archiveEvent(partition);
    });
    tail.clear();
    for (const partition of partitions) histories.forget(partition);
  }

  /** Archives the records of an event, with an image where the ones before are many. */
  #archiveEvent(partition: number): void {
    const { archive, histories, tail } = this;
    const event = archive.eventAt(partition);
    const span = histories.spansOf(event).at(-1)!;
    const { imageMovesMin = IMAGE_MOVES_MIN } = this.#options;
    let moves = span.chunks.reduce((sum, chunk) => sum + chunk.moves, 0);
    let movesMax = imageMovesMin;
    let replay: EventReplay | null = null;
    let chunk = new OpenChunk(partition, null);
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
      chunk.add(record);
      moves += movesIn(record);
    }
    chunk.writeTo(archive);
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

/** A chunk that is being filled. */
class OpenChunk {
  readonly #partition: number;
  readonly #image: Buffer | null;
  readonly #records: EncodedRecord[] = [];
  #moves = 0;

  constructor(partition: number, image: Buffer | null) {
    this.#partition = partition;
    this.#image = image;
  }

  add(record: EncodedRecord): void {
    this.#records.push(record);
    this.#moves += movesIn(record);
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

/** The transitions of a record; of a change in the catalog an estimate. */
function movesIn(encoded: EncodedRecord): number {
  const { record } = decoded(encoded);
  switch (record.type) {
    case RecordType.MOVE:
      return record.seats.length + record.areas.length / 3;
    case RecordType.PRICE:
      return record.runs.reduce((sum, count, i) => (i % 3 === 2 ? sum + count : sum), 0);
    case RecordType.CATALOG:
      return 1;
  }
  return record satisfies never;
}
