/**
 * An open audit trail: adds records in transactions and answers questions. For use by one thread.
 * After an error, except from a question, it must be closed, because memory and file may differ.
 */
import { assert } from "../../engine/assert.ts";
import type {
  AuditAnswers,
  AuditOutcome,
  AuditQuestion,
  AuditTopic,
} from "../../engine/queries/audit-trail.ts";
import type { LogRecord } from "../../engine/records.ts";
import type { State } from "../../engine/state.ts";
import type { SqlFile } from "../disk/sqlite.ts";
import type { ChainMark } from "../log/scan.ts";
import { AuditAreas } from "./areas.ts";
import { writeBaseline } from "./baseline.ts";
import { AuditCatalog } from "./catalog.ts";
import { extentOf, openAuditFile, readTrail, type TrailRow, writeTrail } from "./file.ts";
import { AuditPlaces } from "./places.ts";
import { AuditProjector } from "./projector.ts";
import { AuditAnswering } from "./reading/answers.ts";
import { finish } from "./reading/slices.ts";
import { removeBefore } from "./retention.ts";

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
