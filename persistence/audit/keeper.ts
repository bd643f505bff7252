/**
 * Keeps the audit trail up to date with the log: adds durable records, rebuilds a missing or
 * damaged file, and applies the retention. For use by one thread.
 */
import { assert, Broken } from "../../engine/assert.ts";
import {
  type AuditAnswers,
  AuditGap,
  type AuditOutcome,
  type AuditQuestion,
  type AuditTopic,
} from "../../engine/queries/history.ts";
import type { LogRecord } from "../../engine/records.ts";
import { State } from "../../engine/state.ts";
import type { StorePlace } from "../disk/data-folder.ts";
import { type Disk, namesIn } from "../disk/disk.ts";
import {
  DiskFault,
  LogCorrupt,
  Malformed,
  messageOf,
  only,
  SnapshotsDamaged,
} from "../disk/faults.ts";
import { SqlFault, type SqlFile } from "../disk/sqlite.ts";
import { chainOfStore, LOG_FOLDER } from "../log/frame.ts";
import {
  type ChainMark,
  findSegments,
  LogFollower,
  readLog,
  startOfFirst,
} from "../log/log-reader.ts";
import { startOf } from "../snapshot/file.ts";
import { loadOldest, replayAfter } from "../snapshot/load.ts";
import { AuditAnswering } from "./answers.ts";
import { nextHead, removeBlocksBefore, tableAt, writeMap } from "./block-file.ts";
import { AuditCatalog } from "./catalog.ts";
import {
  AUDIT_FILE,
  extentOf,
  lastBefore,
  openAuditFile,
  readTrail,
  startOfTrail,
  type TrailRow,
  writeTrail,
} from "./file.ts";
import { removeRunsBefore } from "./lookups.ts";
import { AuditPlaces } from "./places.ts";
import { AuditAreas, AuditProjector, writeBaseline } from "./projector.ts";
import { finish } from "./slices.ts";

const DAY_MS = 86_400_000;
/** How often the retention is applied. */
const RETENTION_EVERY_MS = 3_600_000;

/** Something that an operator should know. */
export type AuditReport =
  /** The file could not be used, was renamed, and is rebuilt. */
  | { readonly kind: "rebuilt"; readonly reason: string }
  /** The log had lost its beginning, so the trail begins with a snapshot, not with the store. */
  | { readonly kind: "incomplete"; readonly firstSequence: number }
  /** Transitions before that record are past their retention and were removed. */
  | { readonly kind: "expired"; readonly firstSequence: number }
  /** The update is repeated until it succeeds. The log keeps the records that the trail lacks. */
  | { readonly kind: "failed"; readonly failure: string };

export interface KeeperOptions extends StorePlace {
  /** Days for which transitions are kept; null for ever. */
  readonly days: number | null;
  readonly nowMs: () => number;
  readonly onReport: (report: AuditReport) => void;
  /** As in `OpenTrail`. */
  readonly rowsPerCommit?: number | undefined;
}

export class AuditKeeper {
  /** How often the file was opened; each time it may be another file. */
  opened = 0;
  readonly #options: KeeperOptions;
  #trail: OpenTrail | null = null;
  #follower: LogFollower | null = null;
  #mark: ChainMark | null = null;
  /** When the retention was last applied. */
  #retentionMs = -Infinity;
  /** Whether the follower has proved that trail and log belong together. */
  #isProven = false;
  /** Whether the file was replaced. If the new one is unusable too, the file is not at fault. */
  #isRebuilt = false;
  /** Damage to a log is permanent while it is in use. */
  #isLogDamaged = false;
  /** The failure that was reported last. */
  #failure: string | null = null;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** The last record of the trail; 0 when it is not open. */
  get sequence(): number {
    return this.#trail?.row.sequence ?? 0;
  }

  /** Whether the last attempt to read or write the trail failed. */
  get isFailing(): boolean {
    return this.#failure !== null;
  }

  /**
   * Brings the trail up to the mark. Never throws: a failure is reported, and the next call tries
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
      this.#fail(error);
      return false;
    }
  }

  /** Reports the same failure once, however often it happens. */
  #fail(error: unknown): void {
    this.#drop();
    const failure = messageOf(error);
    if (failure !== this.#failure) this.#options.onReport({ kind: "failed", failure });
    this.#failure = failure;
  }

  /** Whether the file is damaged, or does not match a log that is itself sound. */
  #isDamage(error: unknown): boolean {
    if (this.#isRebuilt) return false;
    if (error instanceof SqlFault) return error.isDamage;
    if (error instanceof LogCorrupt) return !this.#isProven && this.#isLogSound();
    return error instanceof Malformed || error instanceof Broken;
  }

  /** Whether the log can be read up to the mark. Cost: O(bytes of the log), once. */
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

  /**
   * Brings the trail up to the mark before a question is answered.
   * @param mark - null while the log has no record.
   * @returns Why there is no answer; null when the trail has the records.
   */
  prepare(mark: ChainMark | null): AuditGap | null {
    if (mark === null) return AuditGap.NO_EVENT;
    return this.follow(mark) ? null : AuditGap.UNAVAILABLE;
  }

  /** Answers from all records up to the mark. @param mark - As in `prepare`. */
  answer(question: AuditQuestion, mark: ChainMark | null): AuditOutcome<AuditAnswers[AuditTopic]> {
    const gap = this.prepare(mark);
    if (gap !== null) return { gap, extent: null };
    try {
      return this.#trail!.answer(question);
    } catch (error) {
      // A part of the file may be damaged, which is no reason to discard the rest.
      this.#fail(error);
      return { gap: AuditGap.UNAVAILABLE, extent: null };
    }
  }

  close(): void {
    this.#drop();
  }

  #follow(mark: ChainMark): void {
    this.#mark = mark;
    const trail = (this.#trail ??= this.#open());
    const { sequence, mark: own } = trail.row;
    if (sequence > mark.sequence) {
      throw new Malformed(`a trail up to record ${mark.sequence}`, `${sequence}`);
    }
    if (own?.sequence === mark.sequence && Buffer.compare(mark.chain, own.chain) !== 0) {
      throw new Malformed("a trail of this log", "one of another log of that length");
    }
    if (sequence < mark.sequence) {
      this.#follower ??= new LogFollower({
        ...this.#options,
        start: startOfTrail(trail.row),
        replay: (number, timeMs, record) => trail.add(number, timeMs, record, this.#mark!),
      });
      this.#follower.read(mark.sequence);
      this.#isProven = true;
      trail.commit(mark);
    }
    this.#applyRetention(trail);
  }

  #open(): OpenTrail {
    const { disk, folder, storeId, rowsPerCommit } = this.#options;
    const trail = new OpenTrail(`${folder}/${AUDIT_FILE}`, storeId, rowsPerCommit);
    this.opened += 1;
    try {
      const [first] = findSegments(disk, folder);
      if (trail.row.sequence === 0) {
        if (first?.number !== 1) this.#beginWithSnapshot(trail);
        else if (first.firstSequence > 1) {
          const mark = { sequence: first.firstSequence - 1, chain: chainOfStore(storeId) };
          trail.beginWith(new State(), mark, 0);
        }
      }
    } catch (error) {
      trail.close();
      throw error;
    }
    return trail;
  }

  /** The log has lost its beginning, so the trail begins with the oldest snapshot. */
  #beginWithSnapshot(trail: OpenTrail): void {
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
    trail.beginWith(state, start.mark, timeMs);
    onReport({ kind: "incomplete", firstSequence: trail.row.firstSequence });
  }

  #applyRetention(trail: OpenTrail): void {
    const { days, nowMs, onReport } = this.#options;
    if (days === null || nowMs() - this.#retentionMs < RETENTION_EVERY_MS) return;
    this.#retentionMs = nowMs();
    const before = trail.row.firstSequence;
    trail.removeBefore(nowMs() - days * DAY_MS);
    const { firstSequence } = trail.row;
    if (firstSequence > before) onReport({ kind: "expired", firstSequence });
  }

  /** Renames the file, which may have records that the log has lost, and creates an empty one. */
  #setAside(reason: string): void {
    const { disk, folder, onReport } = this.#options;
    this.#drop();
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

  #drop(): void {
    const [trail, follower] = [this.#trail, this.#follower];
    this.#trail = null;
    this.#follower = null;
    this.#isProven = false;
    try {
      follower?.close();
    } catch (error) {
      // The segments were only read, so nothing is lost.
      only(error, DiskFault);
    }
    trail?.close();
  }
}

function damagedName(count: number): string {
  return `${AUDIT_FILE}.damaged-${count}`;
}

/** Creates an empty file, so that from now on the log keeps the segments that the trail needs. */
export function makeAuditFile(disk: Disk, folder: string): void {
  if (namesIn(disk, folder).includes(AUDIT_FILE)) return;
  disk.createNow(`${folder}/${AUDIT_FILE}`).closeNow();
  disk.syncFolderNow(folder);
}

// An open audit trail: adds records in transactions and answers questions. For use by one thread.
// After an error, except from a question, it must be closed, because memory and file may differ.

/** Approximate rows, or records without rows, of one transaction. */
const ROWS_PER_COMMIT = 100_000;
/** Approximate characters of reply bodies of one transaction. */
const REPLY_CHARS_PER_COMMIT = 16 * 1024 * 1024;

export class OpenTrail {
  /** The extent of the file, as committed. */
  row: TrailRow;
  readonly #sql: SqlFile;
  readonly #catalog: AuditCatalog;
  readonly #places: AuditPlaces;
  readonly #projector: AuditProjector;
  readonly #answering: AuditAnswering;
  readonly #rowsPerCommit: number;
  /** The last record that was added. */
  #sequence: number;
  /** Whether a transaction is open. */
  #isOpen = false;
  /** `written` when the open transaction began. */
  #rowsBefore = 0;
  #replyCharsBefore = 0;

  /** @throws Malformed, SqlFault. */
  constructor(path: string, storeId: string, rowsPerCommit = ROWS_PER_COMMIT) {
    this.#rowsPerCommit = rowsPerCommit;
    this.#sql = openAuditFile(path, storeId);
    this.row = readTrail(this.#sql, storeId);
    this.#sequence = this.row.sequence;
    this.#catalog = new AuditCatalog(this.#sql);
    this.#places = new AuditPlaces(this.#sql);
    this.#projector = new AuditProjector(this.#sql, this.#catalog, this.#places);
    this.#answering = new AuditAnswering(this.#sql);
  }

  /** How many transitions were written since the trail was opened. */
  get written(): number {
    return this.#places.written;
  }

  /**
   * Adds the next record, and commits from time to time.
   * @param durable - The end of a batch that is on disk, at or after the record.
   */
  add(sequence: number, timeMs: number, record: LogRecord, durable: ChainMark): void {
    assert(sequence === this.#sequence + 1, "a trail gets one record after the other");
    this.#begin();
    this.#projector.project({ sequence, timeMs }, record);
    this.#sequence = sequence;
    const rows = this.#places.written - this.#rowsBefore;
    const records = sequence - this.row.sequence;
    const isLong = this.#projector.replyChars - this.#replyCharsBefore >= REPLY_CHARS_PER_COMMIT;
    if (isLong || Math.max(rows, records) >= this.#rowsPerCommit) this.commit(durable);
  }

  /** Commits the records that were added. @param durable - As in `add`. */
  commit(durable: ChainMark): void {
    assert(durable.sequence >= this.#sequence, "a trail is never ahead of the log");
    if (this.#sequence === this.row.sequence) return;
    this.#begin();
    this.#projector.flush();
    this.#commit({ ...this.row, sequence: this.#sequence, mark: durable });
  }

  /**
   * Begins an empty trail with a state.
   * @param mark - The last record in the state, which ends a batch.
   * @param timeMs - Milliseconds since 1970: its time.
   */
  beginWith(state: State, mark: ChainMark, timeMs: number): void {
    assert(this.#sequence === 0, "an empty trail begins once");
    this.#begin();
    const areas = new AuditAreas(this.#sql, this.#places);
    const parts = { catalog: this.#catalog, places: this.#places, areas };
    writeBaseline(parts, state, mark.sequence);
    this.#sequence = mark.sequence;
    const { sequence } = mark;
    const first = { firstSequence: sequence + 1, firstTimeMs: timeMs };
    this.#commit({ ...this.row, sequence, mark, ...first });
  }

  /** Removes the transitions before a time. To be called when all added records are committed. */
  removeBefore(beforeMs: number): void {
    assert(!this.#isOpen, "added records are committed before others are removed");
    this.#begin();
    this.#commit(removeBefore(this.#sql, this.row, beforeMs));
  }

  answer(question: AuditQuestion): AuditOutcome<AuditAnswers[AuditTopic]> {
    return finish(this.#answering.answer(question, extentOf(this.row)));
  }

  close(): void {
    this.#sql.close();
  }

  #begin(): void {
    if (this.#isOpen) return;
    this.#sql.execute("BEGIN IMMEDIATE");
    this.#isOpen = true;
    this.#rowsBefore = this.#places.written;
    this.#replyCharsBefore = this.#projector.replyChars;
  }

  #commit(row: TrailRow): void {
    writeTrail(this.#sql, row);
    this.#sql.execute("COMMIT");
    this.#isOpen = false;
    this.row = row;
  }
}

// Removes the oldest part of the audit trail. The last transition of each place before it stays in
// a map, so that the places are known from the new beginning on.

/**
 * To be called within a transaction.
 * @param beforeMs - Milliseconds since 1970: earlier transitions are removed.
 * @returns The row with the new beginning of the trail. Cost: O(events + transitions before that
 * beginning of the events that have any since the old one).
 */
function removeBefore(sql: SqlFile, trail: TrailRow, beforeMs: number): TrailRow {
  const first = lastBefore(sql, beforeMs) + 1;
  if (first <= trail.firstSequence) return trail;
  for (const partition of partitionsOf(sql)) {
    if (isGone(sql, partition, first)) {
      for (const table of ["blocks", "runs", "lookups", "maps", "prices", "events"]) {
        sql.run(`DELETE FROM ${table} WHERE partition = ?`, partition);
      }
      sql.run("DELETE FROM switches WHERE owner = 'event' AND ownerId = ?", partition);
    } else {
      removeRows(sql, partition, first);
    }
  }
  sql.run("DELETE FROM times WHERE timeMs < ?", beforeMs);
  return { ...trail, firstSequence: first, firstTimeMs: beforeMs };
}

function partitionsOf(sql: SqlFile): number[] {
  const rows = [...sql.rows("SELECT DISTINCT partition FROM events")];
  return rows.map(({ partition }) => Number(partition));
}

/** Whether the event was deleted before the record. */
function isGone(sql: SqlFile, partition: number, sequence: number): boolean {
  const last = "SELECT sequence, status FROM events WHERE partition = ? ORDER BY sequence DESC";
  const row = sql.row(`${last} LIMIT 1`, partition)!;
  return row["status"] === null && Number(row["sequence"]) < sequence;
}

/** Removes the rows of an event before a record. */
function removeRows(sql: SqlFile, partition: number, first: number): void {
  const oldest = nextHead(sql, partition, 0);
  if (oldest === undefined || oldest.first >= first) return;
  const table = finish(tableAt(sql, partition, first - 1, Infinity));
  sql.run("DELETE FROM maps WHERE partition = ? AND sequence < ?", partition, first);
  writeMap(sql, partition, first - 1, table);
  removeBlocksBefore(sql, partition, first);
  removeRunsBefore(sql, partition, first);
}
