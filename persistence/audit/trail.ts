/**
 * An open audit trail: takes records, keeps them in whole transactions, answers questions. Used by
 * one thread; any error but a question's leaves it to be closed, for memory and file may differ.
 */
import { assert } from "../../engine/assert.ts";
import type {
  AuditAnswers,
  AuditOutcome,
  AuditQuestion,
} from "../../engine/queries/audit-trail.ts";
import type { AuditTopic, TrailExtent } from "../../engine/queries/audit-trail.ts";
import type { LogRecord } from "../../engine/records.ts";
import type { State } from "../../engine/state.ts";
import type { SqlFile } from "../disk/sqlite.ts";
import type { ChainMark } from "../log/scan.ts";
import { AuditAnswering } from "./answers.ts";
import { AuditAreas } from "./areas.ts";
import { writeBaseline } from "./baseline.ts";
import { AuditCatalog } from "./catalog.ts";
import { openAuditFile, readTrail, type TrailRow, writeTrail } from "./file.ts";
import { AuditPlaces } from "./places.ts";
import { AuditProjector } from "./projector.ts";
import { forgetBefore } from "./retention.ts";

/** Rows of one transaction, about, and records, where they make no rows. */
const ROWS_PER_COMMIT = 50_000;

export class AuditBook {
  /** Up to which record the file goes, and from which on. */
  trail: TrailRow;
  readonly #sql: SqlFile;
  readonly #catalog: AuditCatalog;
  readonly #places: AuditPlaces;
  readonly #projector: AuditProjector;
  readonly #answering: AuditAnswering;
  /** The last record that was taken. */
  #sequence: number;
  #isOpen = false;
  /** Rows written when the open transaction began. */
  #rowsBefore = 0;

  readonly #rowsPerCommit: number;

  /** @throws Malformed, SqlFault. */
  constructor(path: string, storeId: string, rowsPerCommit = ROWS_PER_COMMIT) {
    this.#rowsPerCommit = rowsPerCommit;
    this.#sql = openAuditFile(path, storeId);
    this.trail = readTrail(this.#sql, storeId);
    this.#sequence = this.trail.sequence;
    this.#catalog = new AuditCatalog(this.#sql);
    this.#places = new AuditPlaces(this.#sql);
    this.#projector = new AuditProjector(this.#sql, this.#catalog, this.#places);
    this.#answering = new AuditAnswering(this.#sql);
  }

  /** Transitions that were written since it was opened. */
  get written(): number {
    return this.#places.written;
  }

  /** @param durable - The end of a batch at or behind the record, which is on disk. */
  take(sequence: number, timeMs: number, record: LogRecord, durable: ChainMark): void {
    assert(sequence === this.#sequence + 1, "a trail takes one record after the other");
    this.#begin();
    this.#projector.take({ sequence, timeMs }, record);
    this.#sequence = sequence;
    const rows = this.#places.written - this.#rowsBefore;
    const records = sequence - this.trail.sequence;
    if (Math.max(rows, records) >= this.#rowsPerCommit) this.keep(durable);
  }

  /** Makes what was taken last. */
  keep(durable: ChainMark): void {
    assert(durable.sequence >= this.#sequence, "a trail is never ahead of the log");
    if (this.#sequence === this.trail.sequence) return;
    this.#begin();
    this.#commit({ ...this.trail, sequence: this.#sequence, mark: durable });
  }

  /** Begins an empty trail with a state. @param mark - The end of a batch: its last record. */
  beginWith(state: State, mark: ChainMark, timeMs: number): void {
    assert(this.#sequence === 0, "an empty trail begins once");
    this.#begin();
    const areas = new AuditAreas(this.#sql, this.#places);
    const parts = { catalog: this.#catalog, places: this.#places, areas };
    writeBaseline(parts, state, mark.sequence);
    this.#sequence = mark.sequence;
    const firstSequence = mark.sequence + 1;
    const { sequence } = mark;
    this.#commit({ ...this.trail, sequence, mark, firstSequence, firstTimeMs: timeMs });
  }

  /** Forgets transitions before a time. To be called with nothing taken that is not kept. */
  forget(beforeMs: number): void {
    assert(!this.#isOpen, "what was taken is kept before anything is forgotten");
    this.#begin();
    this.#commit(forgetBefore(this.#sql, this.trail, beforeMs));
  }

  answer(question: AuditQuestion): AuditOutcome<AuditAnswers[AuditTopic]> {
    const { firstSequence, firstTimeMs, sequence: lastSequence } = this.trail;
    const extent: TrailExtent = { firstSequence, firstTimeMs, lastSequence };
    return this.#answering.answer(question, extent);
  }

  close(): void {
    this.#sql.close();
  }

  #begin(): void {
    if (this.#isOpen) return;
    this.#sql.execute("BEGIN IMMEDIATE");
    this.#isOpen = true;
    this.#rowsBefore = this.#places.written;
  }

  #commit(trail: TrailRow): void {
    writeTrail(this.#sql, trail);
    this.#sql.execute("COMMIT");
    this.#isOpen = false;
    this.trail = trail;
  }
}
